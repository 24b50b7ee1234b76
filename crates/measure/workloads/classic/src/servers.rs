//! Servers of tools: on a free port of the loopback of this machine, and nowhere else.

use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_model::Ready;
use plumb_protocol::{Failure, Held, StartError};
use plumb_workload_kit::loopback;

/// Where a server of ours listens, and nowhere else.
pub(crate) const HOST: &str = "127.0.0.1";
/// How long a server may take to listen.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(5);
/// How often another port is tried: between its choice and its use somebody may have taken it.
const TRIES: usize = 3;

/// How a server is found in the tables of the kernel.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Listens {
    /// The server waits for TCP connections.
    Tcp,
    /// The server waits for UDP datagrams.
    Udp,
}

/// Starts a server with these words, in which `PORT` is replaced, and waits until it listens; it is told to clients as `port`.
///
/// # Errors
/// When it does not.
pub(crate) fn start(
    path: &Path,
    listens: Listens,
    words: &[&str],
) -> Result<(Ready, Box<dyn Held>), StartError> {
    loopback::check()?;
    let mut last = Failure(format!("{} is not listening", path.display()));
    for _ in 0..TRIES {
        let port = free_port(listens)?;
        let text = port.to_string();
        let child = Command::new(path)
            .args(words.iter().map(|word| word.replace("PORT", &text)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Failure::io(format!("starting {}", path.display()), &error))?;
        let mut server = ServerProcess(child);
        match server.listens(listens, port) {
            Ok(()) => {
                let endpoints = [("port".to_owned(), text)].into();
                return Ok((Ready { endpoints, ..Ready::default() }, Box::new(server)));
            }
            Err(error) => last = error,
        }
    }
    Err(last.into())
}

/// A port of the loopback that nobody uses.
fn free_port(listens: Listens) -> Result<u16, Failure> {
    let address = match listens {
        Listens::Tcp => TcpListener::bind((HOST, 0)).and_then(|listener| listener.local_addr()),
        Listens::Udp => UdpSocket::bind((HOST, 0)).and_then(|socket| socket.local_addr()),
    };
    let address = address.map_err(|error| Failure::io("looking for a free port", &error))?;
    Ok(address.port())
}

/// A server. Dropping it ends it.
struct ServerProcess(Child);

impl ServerProcess {
    fn listens(&mut self, listens: Listens, port: u16) -> Result<(), Failure> {
        let since = Instant::now();
        while since.elapsed() < LISTEN_TIMEOUT {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(Failure(format!("the server ended: {status}")));
            }
            if let Some(inode) = listener(listens, port)
                && self.has(&inode)
            {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(Failure("the server is not listening".into()))
    }

    /// Whether this socket is its own: somebody else may have taken the port before it.
    fn has(&self, inode: &str) -> bool {
        let sockets = std::fs::read_dir(format!("/proc/{}/fd", self.0.id()));
        let mut links = sockets.into_iter().flatten().flatten();
        let wanted = format!("socket:[{inode}]");
        links.any(|link| {
            std::fs::read_link(link.path()).is_ok_and(|target| target.as_os_str() == &*wanted)
        })
    }
}

/// The inode of the socket that listens on this port of the loopback, by the kernel's table: a server would take a
/// connection for a test.
fn listener(listens: Listens, port: u16) -> Option<String> {
    let (table, state) = match listens {
        Listens::Tcp => ("/proc/net/tcp", "0A"),
        Listens::Udp => ("/proc/net/udp", "07"),
    };
    let table = std::fs::read_to_string(table).unwrap_or_default();
    let local = format!("{:08X}:{port:04X}", u32::from_ne_bytes([127, 0, 0, 1]));
    table.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1) == Some(&&*local) && fields.get(3) == Some(&state);
        is_it.then(|| fields.get(9).map(|inode| (*inode).to_owned()))?
    })
}

impl Held for ServerProcess {}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
