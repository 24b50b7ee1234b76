//! Requests through a port that ssh forwards: sshd at the far end, `ssh -L` at the near one.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use plumb_protocol::{Failure, Start, StartError};
use plumb_workload_ends::cpu_time::Words;
use plumb_workload_kit::processes::descendants;
use plumb_workload_kit::ssh::{
    Listening, OtherPrograms, Serves, SshClient, SshForward, SshTools, Sshd, UserAccount,
};

/// Endpoints of the server.
const SERVER: &str = "tunnel.server";
const PROCESS: &str = "tunnel.sshd";
const FOLDER: &str = "tunnel.folder";

/// Another program may take the free port before ssh does.
const ATTEMPTS: usize = 3;

/// Starts the far end of a tunnel, an sshd that only forwards, at this address: the endpoints that its client needs, and
/// the server, which ends when it is dropped.
///
/// # Errors
/// Unsupported if OpenSSH is missing.
pub(crate) fn serve(start: &Start, address: IpAddr) -> Result<(Words, Sshd), StartError> {
    let tools = SshTools::find(OtherPrograms::default())?;
    let user = UserAccount::current()?;
    let listening = Listening { address, ..Listening::default() };
    let serves = (Serves::Forwarding, &listening);
    let sshd = Sshd::start(Path::new(&start.scratch), &tools, &user, serves)?;
    let words = vec![
        (SERVER.to_owned(), sshd.address().to_string()),
        (PROCESS.to_owned(), sshd.pid().to_string()),
        (FOLDER.to_owned(), sshd.folder().display().to_string()),
    ];
    Ok((words, sshd))
}

/// The near end of a tunnel; dropping it ends it.
#[derive(Debug)]
pub(crate) struct RequestTunnel {
    forward: SshForward,
    /// The port at this end.
    pub(crate) address: SocketAddr,
    /// The processes of sshd that serve it.
    pub(crate) far: Vec<u32>,
    /// The version of ssh.
    pub(crate) version: String,
}

impl RequestTunnel {
    /// Opens one to a server at the far end. The caller is at the near end.
    ///
    /// # Errors
    /// Unsupported if OpenSSH is missing.
    pub(crate) fn open(start: &Start, server: SocketAddr) -> Result<Self, StartError> {
        let tools = SshTools::find(OtherPrograms::default())?;
        let (version, _) = tools.client_versions()?;
        let folder = PathBuf::from(endpoint(start, FOLDER)?);
        let listens = endpoint(start, SERVER)?
            .parse()
            .map_err(|_| Failure("sshd reported no address".to_owned()))?;
        let client = SshClient::of_folder(tools.ssh, listens, folder)?;
        let sshd: u32 = endpoint(start, PROCESS)?
            .parse()
            .map_err(|_| Failure("sshd reported no process".to_owned()))?;
        let mut tried = 0;
        loop {
            tried += 1;
            let address = free_port()?;
            let is_there = || TcpStream::connect(address).is_ok();
            match SshForward::start(&client, &format!("{address}:{server}"), is_there) {
                Ok(forward) => {
                    return Ok(Self { forward, address, far: descendants(sshd), version });
                }
                Err(_) if tried < ATTEMPTS => {}
                Err(failure) => return Err(failure.into()),
            }
        }
    }

    /// The process of ssh at this end.
    pub(crate) fn near(&self) -> u32 {
        self.forward.pid()
    }
}

fn endpoint<'s>(start: &'s Start, name: &str) -> Result<&'s str, StartError> {
    start
        .endpoints
        .get(name)
        .map(String::as_str)
        .ok_or_else(|| StartError::Failed(format!("the server of the tunnel reported no `{name}`")))
}

fn free_port() -> Result<SocketAddr, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map_err(|error| Failure::io("looking for a free port", &error))
}
