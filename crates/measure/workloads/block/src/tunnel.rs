//! An ssh tunnel: `ssh -L SOCKET:SOCKET` of the installed OpenSSH, with the link between its two ends.
//!
//! A client of NBD connects to the socket of ssh; ssh talks to sshd through a relay, which is the link; sshd connects to
//! the server.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use plumb_protocol::{Failure, Start, StartError};
use plumb_workload_kit::processes::{cpu_ns, descendants};
use plumb_workload_kit::ssh::{
    KNOWN_HOSTS, Listening, Serves, SshClient, SshTools, Sshd, UserAccount, last_line,
};

use crate::relay::{NbdRelay, RelayedBytes};
use crate::settings::{Access, fresh_path};

/// It is there within this time, or not at all.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
/// How often it is looked at.
const STEP: Duration = Duration::from_millis(2);

/// A tunnel that is there; dropping it takes it away.
#[derive(Debug)]
pub struct Tunnel {
    socket: PathBuf,
    ssh: Child,
    relay: NbdRelay,
    sshd: Sshd,
    /// The processes of both ends.
    ends: Vec<u32>,
}

impl Tunnel {
    /// To the server at this socket; at first there is no link.
    ///
    /// # Errors
    /// Unsupported if OpenSSH is missing.
    pub fn start(
        start: &Start,
        server: &Path,
        access: Access,
        is_compressed: bool,
    ) -> Result<Self, StartError> {
        let tools = SshTools::find()?;
        let account = UserAccount::current()?;
        let serves = (Serves::Forwarding, &Listening::default());
        let sshd = Sshd::start(Path::new(&start.scratch), &tools, &account, serves)?;
        let relay = NbdRelay::start(sshd.address().port(), access.link, access.seed)
            .map_err(|error| Failure::io("finding a free port", &error))?;
        let client = SshClient {
            ssh: tools.ssh,
            server: (Ipv4Addr::LOCALHOST, relay.port()).into(),
            folder: sshd.folder().to_owned(),
            known_hosts: sshd.folder().join(KNOWN_HOSTS),
            user: account.name,
            is_compressed,
        };
        let socket = fresh_path(start, "nbd-ssh");
        let forward = format!("{}:{}", escaped(&socket), escaped(server));
        let log = client.folder.join("ssh.log");
        let file = File::create(&log).map_err(|error| Failure::io("creating ssh's log", &error))?;
        let mut command = client.command(&["-N", "-o", "ExitOnForwardFailure=yes", "-L", &forward]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        let ssh = command.spawn().map_err(|error| Failure::io("starting ssh", &error))?;
        let mut tunnel = Self { socket, ssh, relay, sshd, ends: Vec::new() };
        tunnel.wait_until_there(&log)?;
        tunnel.ends = descendants(tunnel.sshd.pid());
        tunnel.ends.push(tunnel.ssh.id());
        Ok(tunnel)
    }

    fn wait_until_there(&mut self, log: &Path) -> Result<(), Failure> {
        let begun = Instant::now();
        while UnixStream::connect(&self.socket).is_err() {
            let ended = !matches!(self.ssh.try_wait(), Ok(None));
            if ended || begun.elapsed() > READY_TIMEOUT {
                return Err(Failure(format!(
                    "the ssh tunnel did not start; client: {}; server: {}",
                    last_line(log),
                    last_line(&self.sshd.folder().join("sshd.log"))
                )));
            }
            sleep(STEP);
        }
        Ok(())
    }

    /// Where clients connect.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Puts the link there, or takes it away.
    pub fn link(&self, there: bool) {
        self.relay.link(there);
    }

    /// What the link carried so far, up and down.
    pub fn carried(&self) -> [RelayedBytes; 2] {
        self.relay.carried()
    }

    /// The processes of both ends.
    pub fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// CPU time of both ends so far, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.ends.iter().map(|pid| cpu_ns(*pid)).sum()
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        // Both fail only when it has ended already.
        self.ssh.kill().ok();
        self.ssh.wait().ok();
        fs::remove_file(&self.socket).ok();
    }
}

/// A path as `ssh -L` takes it, where `:` stands between two of them and `%` before what is filled in.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace('\\', r"\\").replace(':', r"\:").replace('%', "%%")
}
