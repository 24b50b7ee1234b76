//! The way to a peer: its lines come out of stdout, and what is written to stdin goes there.

use std::io::{self, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::ops::ControlFlow;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConnection, Error};

use plumb_protocol::FAR_LINE;

use crate::carry::{CarryEnd, PipeSource, carry};
use crate::channel::{Channel, FrameKind};
use crate::identity;
use crate::key::PeerKey;
use crate::program::{ProgramRequest, build};

/// A peer is reached, and proves the key, in this time.
const ANSWER: Duration = Duration::from_secs(10);
/// What is asked for by name in the handshake: nothing, but something has to stand there.
const NAME: &str = "peer.invalid";

/// What is connected with a program at a peer.
pub struct PeerPipes<'p> {
    /// What it reads.
    pub stdin: OwnedFd,
    /// Where it writes.
    pub stdout: &'p mut dyn Write,
    /// Where it writes of itself, and the peer why it refuses.
    pub stderr: &'p mut dyn Write,
}

/// Connects these pipes with what a peer at `HOST:PORT` starts: a program of these words in a session, or, without words, what
/// stands for a run and says in three lines which session it is, the connection as ssh tells it in SSH_CONNECTION (with the address
/// at which the peer was reached, whatever it calls itself), and what machine it is. The answer is the program's status.
///
/// # Errors
/// A sentence: why the peer is not reached, or that it is gone.
pub fn reach(
    place: &str,
    key: &PeerKey,
    (session, words): (&str, &[String]),
    pipes: PeerPipes<'_>,
) -> Result<u8, String> {
    let (mut channel, reached) = open(place, key)?;
    let stands = words.is_empty();
    let build = if stands { build()? } else { String::new() };
    let request = ProgramRequest { build, session: session.to_owned(), words: words.to_vec() };
    let json = serde_json::to_vec(&request).map_err(|error| error.to_string())?;
    channel.send(FrameKind::Request, &json).map_err(|error| gone(place, &error))?;
    let PeerPipes { stdin, stdout, stderr } = pipes;
    let mut told = String::new();
    let over =
        carry(&mut channel, &mut [PipeSource::of(FrameKind::Input, stdin)], true, |kind, bytes| {
            match kind {
                FrameKind::Output if stands => {
                    told.push_str(&String::from_utf8_lossy(bytes));
                    if let Some((session, machine)) =
                        told.strip_suffix('\n').and_then(|text| text.split_once('\n'))
                    {
                        let lines = [session, &reached, machine]
                            .map(|line| format!("{FAR_LINE}{line}\n"))
                            .concat();
                        stdout.write_all(lines.as_bytes()).and_then(|()| stdout.flush())?;
                        told.clear();
                    }
                }
                FrameKind::Output => stdout.write_all(bytes).and_then(|()| stdout.flush())?,
                FrameKind::Log => stderr.write_all(bytes)?,
                FrameKind::End => {
                    return Ok(ControlFlow::Break(bytes.first().copied().unwrap_or(1)));
                }
                FrameKind::Request | FrameKind::Input => {
                    return Err(io::Error::other("it sent a request"));
                }
            }
            Ok(ControlFlow::Continue(()))
        });
    match over.map_err(|error| gone(place, &error))? {
        CarryEnd::Taken(status) => Ok(status),
        CarryEnd::SourcesEnded | CarryEnd::Closed => Err(format!("the peer at {place} has ended")),
    }
}

/// What became of a connection that broke.
fn gone(place: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("the peer at {place} closed the connection"),
        _ => format!("lost the connection to the peer at {place}: {error}"),
    }
}

/// No library or address of this machine can speak TLS so.
fn no_tls(error: Error) -> String {
    format!("plumb cannot use TLS: {error}")
}

/// A channel to it, and between which addresses.
fn open(place: &str, key: &PeerKey) -> Result<(Channel, String), String> {
    let unreached = |error: io::Error| format!("can't connect to {place}: {error}");
    let addresses = place.to_socket_addrs().map_err(unreached)?;
    let mut socket = Err(io::Error::other("the name has no address"));
    // A name may have an IPv6 address that nothing listens on: the first that answers is taken.
    for address in addresses {
        socket = TcpStream::connect_timeout(&address, ANSWER);
        if socket.is_ok() {
            break;
        }
    }
    let socket = socket.map_err(unreached)?;
    let name = ServerName::try_from(NAME).map_err(|error| error.to_string())?;
    let settings = identity::client(key).map_err(no_tls)?;
    let tls = ClientConnection::new(settings, name).map_err(no_tls)?;
    let ends = socket.local_addr().and_then(|near| Ok([near, socket.peer_addr()?]));
    let [near, far] = ends.map_err(unreached)?;
    let reached = format!("{} {} {} {}", near.ip(), near.port(), far.ip(), far.port());
    let channel = Channel::open(tls.into(), socket, ANSWER);
    Ok((channel.map_err(|error| unproven(place, &error))?, reached))
}

/// Why the other end is no peer with this key.
fn unproven(place: &str, error: &io::Error) -> String {
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    match of_tls {
        Some(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure)) => {
            format!("the peer at {place} uses a different key")
        }
        _ if error.kind() == io::ErrorKind::TimedOut => {
            format!("the server at {place} did not answer within {} s", ANSWER.as_secs())
        }
        Some(_) => format!("the server at {place} is not a plumb peer: {error}"),
        None => format!("the peer at {place} closed the connection: {error}"),
    }
}
