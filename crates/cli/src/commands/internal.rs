//! The hidden commands: plumb started again as keeper, worker or far end of ssh.

use std::io::{stdin, stdout};
use std::os::fd::AsFd;

use crate::error::{CommandError, Exit, Result};
use crate::locate;

/// `plumb keeper`: the socket is its stdin.
pub fn keeper() -> Result<Exit> {
    let socket = stdin().as_fd().try_clone_to_owned().map_err(bug)?;
    let (root, journals) = (locate::root(), locate::journals());
    plumb_keeper::serve_keeper(socket, root, journals).map_err(bug)?;
    Ok(Exit::Fine)
}

/// `plumb worker ID`: serves the workload on stdin and stdout.
pub fn worker(id: &str) -> Result<Exit> {
    let Some(workload) = plumb_workloads::find(id) else {
        return Err(CommandError::usage(format!("no built-in workload is called `{id}`")));
    };
    plumb_keeper::end_with_keeper().map_err(bug)?;
    plumb_protocol::serve(workload, stdin(), stdout().lock())
        .map_err(|error| CommandError::failed(error.to_string()))?;
    Ok(Exit::Fine)
}

/// `plumb orphaned`: what a worker becomes when its keeper is gone; ends all that it started.
pub fn orphaned() -> Exit {
    plumb_keeper::stand_in(&[]);
    Exit::Fine
}

/// `plumb ssh-sink`: swallows and counts what comes on stdin.
pub fn ssh_sink() -> Result<Exit> {
    plumb_workloads::ssh_sink().map_err(|error| CommandError::failed(error.to_string()))?;
    Ok(Exit::Fine)
}

fn bug(error: std::io::Error) -> CommandError {
    CommandError::bug(format!("the keeper: {error}"))
}
