//! A client that forwards connections: `ssh -N -L` of the installed OpenSSH.

use std::fs::File;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plumb_protocol::Failure;

use super::client::{SshClient, last_line};

/// It forwards within this time, or not at all.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
/// Time between two checks whether it does.
const STEP: Duration = Duration::from_millis(2);

/// A running client that forwards connections to the far end; dropping it ends it.
#[derive(Debug)]
pub struct SshForward {
    ssh: Child,
}

impl SshForward {
    /// Starts one with this argument of `-L`, and waits until `is_there` is true.
    ///
    /// # Errors
    /// With the last words of client and server when it ends, or does not forward in time.
    pub fn start(
        client: &SshClient,
        forward: &str,
        is_there: impl Fn() -> bool,
    ) -> Result<Self, Failure> {
        let log = client.folder.join("ssh.log");
        let file = File::create(&log).map_err(|error| Failure::io("creating ssh's log", &error))?;
        let mut command = client.command(&["-N", "-o", "ExitOnForwardFailure=yes", "-L", forward]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let ssh = command.spawn().map_err(|error| Failure::io("starting ssh", &error))?;
        let mut started = Self { ssh };
        let begun = Instant::now();
        loop {
            let has_ended = !matches!(started.ssh.try_wait(), Ok(None));
            if has_ended || begun.elapsed() > READY_TIMEOUT {
                return Err(Failure(format!(
                    "the ssh tunnel did not start; client: {}; server: {}",
                    last_line(&log),
                    last_line(&client.folder.join("sshd.log"))
                )));
            }
            if is_there() {
                return Ok(started);
            }
            sleep(STEP);
        }
    }

    /// The client's process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.ssh.id()
    }
}

impl Drop for SshForward {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        self.ssh.kill().ok();
        self.ssh.wait().ok();
    }
}
