//! The hidden commands: plumb started again as keeper, worker, far end of ssh, or way to a peer.

use std::io::{stdin, stdout};
use std::os::fd::AsFd;
use std::path::PathBuf;

use clap::Args;
use plumb_peer::PeerKey;
use plumb_protocol::Workload;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::locate;

/// Run the process that starts and stops everything for plumb
#[derive(Debug, Args)]
pub struct KeeperArgs {}

impl Subcommand for KeeperArgs {
    fn run(&self, _context: &Context<'_>) -> Result<Exit> {
        keeper()
    }
}

/// `plumb keeper`: the socket is its stdin.
fn keeper() -> Result<Exit> {
    let socket = stdin().as_fd().try_clone_to_owned().map_err(bug)?;
    plumb_keeper::serve_keeper(socket, locate::root(), locate::journals()).map_err(bug)?;
    Ok(Exit::Fine)
}

/// Serve a built-in workload over the line protocol
#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// The identifier of the workload
    id: String,
}

impl Subcommand for WorkerArgs {
    fn run(&self, _context: &Context<'_>) -> Result<Exit> {
        worker(&self.id)
    }
}

/// `plumb worker ID`: serves the workload on stdin and stdout.
fn worker(id: &str) -> Result<Exit> {
    let Some(workload) = plumb_workloads::find(id) else {
        return Err(CommandError::usage(format!("no built-in workload is called `{id}`")));
    };
    serve(workload)
}

/// Serves on stdin and stdout.
fn serve(workload: &dyn Workload) -> Result<Exit> {
    // Before the worker does anything: from here on it can't outlive its keeper.
    plumb_keeper::end_with_keeper().map_err(bug)?;
    plumb_protocol::serve(workload, stdin(), stdout().lock())
        .map_err(|error| CommandError::failed(error.to_string()))?;
    Ok(Exit::Fine)
}

/// Build the medium of a target directory and keep it
#[derive(Debug, Args)]
pub struct MediumArgs {}

impl Subcommand for MediumArgs {
    fn run(&self, _context: &Context<'_>) -> Result<Exit> {
        serve(plumb_media::WORKER)
    }
}

/// Stop the processes of a worker whose keeper is gone
#[derive(Debug, Args)]
pub struct OrphanedArgs {}

impl Subcommand for OrphanedArgs {
    fn run(&self, _context: &Context<'_>) -> Result<Exit> {
        Ok(orphaned())
    }
}

/// `plumb orphaned`: what a worker becomes when its keeper is gone; ends all that it started.
fn orphaned() -> Exit {
    plumb_keeper::stand_in(&[]);
    Exit::Fine
}

/// Describe this machine in one line of JSON
#[derive(Debug, Args)]
pub struct DescribeTargetArgs {
    /// The target directory
    dir: PathBuf,
}

impl Subcommand for DescribeTargetArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let target = plumb_machine::target(&locate::root(), locate::host(None)?, &self.dir);
        let line = serde_json::to_string(&target).map_err(std::io::Error::from).map_err(bug)?;
        context.ui.out(&line);
        Ok(Exit::Fine)
    }
}

/// Connect to a peer and relay the program that it starts
#[derive(Debug, Args)]
pub struct ReachArgs {
    /// The address as HOST:PORT
    place: String,
    /// The session of the run
    #[arg(long, default_value = "")]
    session: String,
    /// The command to start there; without one, open a session
    words: Vec<String>,
}

impl Subcommand for ReachArgs {
    fn run(&self, _context: &Context<'_>) -> Result<Exit> {
        let key =
            PeerKey::place().and_then(|file| PeerKey::read(&file)).map_err(CommandError::failed)?;
        let stdin = stdin().as_fd().try_clone_to_owned().map_err(bug)?;
        let pipes =
            plumb_peer::PeerPipes { stdin, stdout: &mut stdout(), stderr: &mut std::io::stderr() };
        let ended = plumb_peer::reach(&self.place, &key, (&self.session, &self.words), pipes);
        Ok(if ended.map_err(CommandError::failed)? == 0 { Exit::Fine } else { Exit::Failed })
    }
}

/// Discard and count the data from ssh
#[derive(Debug, Args)]
pub struct SshSinkArgs {}

impl Subcommand for SshSinkArgs {
    fn run(&self, _context: &Context<'_>) -> Result<Exit> {
        ssh_sink()
    }
}

/// `plumb ssh-sink`: swallows and counts what comes on stdin.
fn ssh_sink() -> Result<Exit> {
    plumb_workloads::ssh_sink().map_err(|error| CommandError::failed(error.to_string()))?;
    Ok(Exit::Fine)
}

fn bug(error: std::io::Error) -> CommandError {
    CommandError::bug(format!("the keeper: {error}"))
}
