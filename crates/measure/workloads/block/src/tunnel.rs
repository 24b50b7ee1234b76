//! An ssh tunnel: `ssh -L SOCKET:SOCKET` of the installed OpenSSH, with the link between its two ends.
//!
//! A client of NBD connects to the socket of ssh; ssh talks to sshd through a relay, which is the link; sshd connects to
//! the server.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use plumb_protocol::{Failure, Start, StartError};
use plumb_workload_kit::processes::{cpu_ns, descendants};
use plumb_workload_kit::ssh::{
    Listening, OtherPrograms, Serves, SshClient, SshForward, SshTools, Sshd, UserAccount,
};

use crate::relay::{NbdRelay, RelayedBytes};
use crate::settings::{Access, fresh_path};

/// A tunnel that is there; dropping it takes it away.
#[derive(Debug)]
pub struct Tunnel {
    socket: PathBuf,
    _ssh: SshForward,
    relay: NbdRelay,
    _sshd: Sshd,
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
        let tools = SshTools::find(OtherPrograms::default())?;
        let account = UserAccount::current()?;
        let serves = (Serves::Forwarding, &Listening::default());
        let sshd = Sshd::start(Path::new(&start.scratch), &tools, &account, serves)?;
        let relay = NbdRelay::start(sshd.address().port(), access.link, access.seed)
            .map_err(|error| Failure::io("finding a free port", &error))?;
        let listens = (Ipv4Addr::LOCALHOST, relay.port()).into();
        let client = SshClient {
            is_compressed,
            ..SshClient::of_folder(tools.ssh, listens, sshd.folder().to_owned())?
        };
        let socket = fresh_path(start, "nbd-ssh");
        let forward = format!("{}:{}", escaped(&socket), escaped(server));
        let is_there = || UnixStream::connect(&socket).is_ok();
        let ssh = SshForward::start(&client, &forward, is_there)?;
        let mut ends = descendants(sshd.pid());
        ends.push(ssh.pid());
        Ok(Self { socket, _ssh: ssh, relay, _sshd: sshd, ends })
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
        fs::remove_file(&self.socket).ok();
    }
}

/// A path as `ssh -L` takes it, where `:` stands between two of them and `%` before what is filled in.
fn escaped(path: &Path) -> String {
    path.display().to_string().replace('\\', r"\\").replace(':', r"\:").replace('%', "%%")
}
