//! Servers of tools: on a free port of the loopback of this machine, and nowhere else.

use std::net::{TcpListener, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use plumb_model::Ready;
use plumb_protocol::{Failure, Held, StartError};
use plumb_workload_kit::listening::{ListenerTransport, listens};
use plumb_workload_kit::loopback;

/// Where a server of ours listens, and nowhere else.
pub(crate) const HOST: &str = "127.0.0.1";
/// How long a server may take to listen.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(5);
/// How often another port is tried: between its choice and its use somebody may have taken it.
const TRIES: usize = 3;

/// Starts a server with these words, in which `PORT` is replaced, and waits until it listens; it is told to clients as `port`.
///
/// # Errors
/// When it does not.
pub(crate) fn start(
    path: &Path,
    transport: ListenerTransport,
    words: &[&str],
) -> Result<(Ready, Box<dyn Held>), StartError> {
    loopback::check()?;
    let mut last = Failure(format!("{} is not listening", path.display()));
    for _ in 0..TRIES {
        let port = free_port(transport)?;
        let text = port.to_string();
        let child = Command::new(path)
            .args(words.iter().map(|word| word.replace("PORT", &text)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Failure::io(format!("starting {}", path.display()), &error))?;
        let mut server = ServerProcess(child);
        match server.wait_until_it_listens(transport, port) {
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
fn free_port(transport: ListenerTransport) -> Result<u16, Failure> {
    let address = match transport {
        ListenerTransport::Tcp => {
            TcpListener::bind((HOST, 0)).and_then(|listener| listener.local_addr())
        }
        ListenerTransport::Udp => UdpSocket::bind((HOST, 0)).and_then(|socket| socket.local_addr()),
    };
    let address = address.map_err(|error| Failure::io("looking for a free port", &error))?;
    Ok(address.port())
}

/// A server. Dropping it ends it.
struct ServerProcess(Child);

impl ServerProcess {
    fn wait_until_it_listens(
        &mut self,
        transport: ListenerTransport,
        port: u16,
    ) -> Result<(), Failure> {
        let since = Instant::now();
        while since.elapsed() < LISTEN_TIMEOUT {
            if let Ok(Some(status)) = self.0.try_wait() {
                return Err(Failure(format!("the server ended: {status}")));
            }
            if listens(self.0.id(), transport, port) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Err(Failure("the server is not listening".into()))
    }
}

impl Held for ServerProcess {}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
