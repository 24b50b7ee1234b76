//! Clients of TLS: where they connect, and the library that makes their handshakes.

use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use plumb_protocol::{Start, StartError, now_ns};
use plumb_workload_ends::host::{HOST, address_of};
use plumb_workload_ends::token::{self, at_far_end};
use rustix::net::sockopt::set_socket_linger;
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, HandshakeKind, ProtocolVersion};

use crate::certificate::from_hex;
use crate::openssl::{Libssl, TlsConnection, TlsContext, TlsSession};
use crate::server::{FULL, RESUMED};
use crate::settings::{TlsSettings, Trust};

/// A server that does not connect or answer for so long is gone.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a server of somebody else may take to send a ticket after a handshake.
const TICKET_TIMEOUT: Duration = Duration::from_millis(300);
/// Servers whose sessions a client remembers; there is only one.
const SESSIONS: usize = 4;

/// Where handshakes are made, and with which settings.
pub(crate) struct HandshakeTarget {
    /// Where it listens.
    pub(crate) address: SocketAddr,
    name: ServerName<'static>,
    settings: TlsSettings,
    start: Start,
    /// Whether the server is plumb's.
    pub(crate) is_own: bool,
    /// Whether every handshake resumes the session of the last one.
    pub(crate) resumes: bool,
}

impl HandshakeTarget {
    /// What the parameters name: plumb's own server, or another.
    ///
    /// # Errors
    /// If a parameter is out of range, or the server reported too little.
    pub(crate) fn of(start: &Start) -> Result<Self, StartError> {
        let settings = TlsSettings::of(start)?;
        let resumes = start.text("mode") == "resumed";
        let host = start.text(HOST);
        let is_own = host.is_empty();
        let (address, name) = if is_own {
            let (address, _) = token::told(start)?;
            (at_far_end(start, address), word(start, "name")?.to_owned())
        } else if start.text("server") == "openssl" {
            return Err(StartError::unsupported(
                "`server` chooses the library of plumb's own server, and `host` names another one",
                "leave out `server` or `host`",
            ));
        } else {
            let port = u16::try_from(start.integer("port"))
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| StartError::Failed("`port` must be 1 to 65535".to_owned()))?;
            let name = match start.text("name") {
                "" => host,
                name => name,
            };
            (SocketAddr::new(address_of(host, start)?, port), name.to_owned())
        };
        let name = ServerName::try_from(name.clone())
            .map_err(|error| StartError::Failed(format!("`{name}`: {error}")))?;
        Ok(Self { address, name, settings, start: start.clone(), is_own, resumes })
    }

    fn trust(&self) -> Result<Trust, StartError> {
        if self.is_own {
            let certificate = from_hex(word(&self.start, "certificate")?)
                .ok_or_else(|| StartError::Failed("the server sent no certificate".to_owned()))?;
            return Ok(Trust::Certificate(CertificateDer::from(certificate)));
        }
        match self.start.text("verify") {
            "off" => Ok(Trust::Anyone),
            _ => Ok(Trust::Authorities),
        }
    }
}

fn word<'s>(start: &'s Start, name: &str) -> Result<&'s str, StartError> {
    let word = start.endpoints.get(name).map(String::as_str);
    word.ok_or_else(|| StartError::Failed("the server reported no name".to_owned()))
}

/// A thread's client, with a memory of its own for sessions.
pub(crate) struct Client {
    target: Arc<HandshakeTarget>,
    library: ClientLibrary,
}

/// What makes the handshakes of a client.
enum ClientLibrary {
    Rustls(Arc<ClientConfig>),
    Openssl { context: Arc<TlsContext>, version: &'static str, session: Option<TlsSession> },
}

/// One handshake, as both ends saw it.
pub(crate) struct HandshakeResult {
    /// Time to open the connection.
    pub(crate) connect_ns: u64,
    /// Time of the handshake.
    pub(crate) handshake_ns: u64,
    /// When the handshake ended.
    pub(crate) ended_ns: u64,
    /// Whether it resumed a session.
    pub(crate) was_resumed: bool,
}

impl Client {
    /// A client by the library that the parameters name.
    ///
    /// # Errors
    /// Unsupported if the library is missing, or lacks what the parameters ask for.
    pub(crate) fn new(target: Arc<HandshakeTarget>) -> Result<Self, StartError> {
        let trust = target.trust()?;
        let library = match target.start.text("client") {
            "openssl" => {
                let library = Libssl::load()?;
                let context = Arc::new(TlsContext::client(library, &target.start, &trust)?);
                ClientLibrary::Openssl { context, version: &library.version, session: None }
            }
            _ => {
                let mut settings = target.settings.client(trust)?;
                if target.resumes {
                    settings.resumption = Resumption::in_memory_sessions(SESSIONS);
                }
                ClientLibrary::Rustls(Arc::new(settings))
            }
        };
        Ok(Self { target, library })
    }

    /// The client of another thread, with a memory of its own for sessions. A first handshake fills it; untimed.
    pub(crate) fn sibling(&self) -> Self {
        let library = match &self.library {
            ClientLibrary::Rustls(settings) => {
                let mut settings = ClientConfig::clone(settings);
                if self.target.resumes {
                    settings.resumption = Resumption::in_memory_sessions(SESSIONS);
                }
                ClientLibrary::Rustls(Arc::new(settings))
            }
            ClientLibrary::Openssl { context, version, .. } => {
                ClientLibrary::Openssl { context: Arc::clone(context), version, session: None }
            }
        };
        let mut sibling = Self { target: Arc::clone(&self.target), library };
        if sibling.target.resumes {
            // If it fails, so does the first handshake that is timed.
            let _ = sibling.handshake();
        }
        sibling
    }

    /// Where it connects.
    pub(crate) fn target(&self) -> &HandshakeTarget {
        &self.target
    }

    /// The version of the library, if it is the system's.
    pub(crate) fn version(&self) -> Option<&str> {
        match &self.library {
            ClientLibrary::Rustls(_) => None,
            ClientLibrary::Openssl { version, .. } => Some(version),
        }
    }

    /// Opens a connection, makes a handshake, and waits until the server has closed or sent a ticket.
    ///
    /// # Errors
    /// When the server does not answer in time, or either end refuses.
    pub(crate) fn handshake(&mut self) -> io::Result<(HandshakeResult, MadeConnection)> {
        let begun = now_ns();
        let socket = TcpStream::connect_timeout(&self.target.address, ANSWER_TIMEOUT)?;
        let connect_ns = now_ns() - begun;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        let target = &self.target;
        let TimedHandshake { handshake_ns, ended_ns, was_resumed, made } = match &mut self.library {
            ClientLibrary::Rustls(settings) => by_rustls(target, settings, socket)?,
            ClientLibrary::Openssl { context, session, .. } => {
                by_openssl(target, context, session, socket)?
            }
        };
        Ok((HandshakeResult { connect_ns, handshake_ns, ended_ns, was_resumed }, made))
    }
}

/// A connection after its handshake.
pub(crate) enum MadeConnection {
    /// A connection that rustls made.
    Rustls(Box<ClientConnection>),
    /// A connection that OpenSSL made.
    Openssl(TlsConnection),
}

impl MadeConnection {
    /// What was agreed on, and how long the server's chain of certificates is.
    pub(crate) fn notes(&self) -> Vec<String> {
        match self {
            Self::Rustls(connection) => notes_of_rustls(connection),
            Self::Openssl(connection) => vec![connection.agreed()],
        }
    }
}

fn notes_of_rustls(connection: &ClientConnection) -> Vec<String> {
    let mut notes = Vec::new();
    let suite = connection.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
    let group = connection.negotiated_key_exchange_group().map(|group| group.name());
    if let Some((suite, group)) = suite.zip(group.and_then(|name| name.as_str())) {
        notes.push(format!("{suite}, key exchange {group}"));
    }
    if let Some(chain) = connection.peer_certificates() {
        let bytes: usize = chain.iter().map(|certificate| certificate.len()).sum();
        let count = chain.len();
        let certificates = if count == 1 { "certificate" } else { "certificates" };
        notes.push(format!("the server sends {count} {certificates}, {bytes} bytes"));
    }
    notes
}

/// A handshake as the client saw it, with its connection.
struct TimedHandshake {
    handshake_ns: u64,
    ended_ns: u64,
    was_resumed: bool,
    made: MadeConnection,
}

fn by_rustls(
    target: &HandshakeTarget,
    settings: &Arc<ClientConfig>,
    mut socket: TcpStream,
) -> io::Result<TimedHandshake> {
    let name = target.name.clone();
    // A new connection makes its key share for the ClientHello, which is a part of the handshake.
    let hello = now_ns();
    let made = ClientConnection::new(Arc::clone(settings), name);
    let mut connection = made.map_err(io::Error::other)?;
    while connection.is_handshaking() {
        connection.complete_io(&mut socket)?;
    }
    let ended_ns = now_ns();
    let was_resumed = connection.handshake_kind() == Some(HandshakeKind::Resumed);
    if target.is_own {
        // Tickets come on the way.
        let mut seen = Vec::with_capacity(2);
        rustls::Stream::new(&mut connection, &mut socket).read_to_end(&mut seen)?;
        compare(was_resumed, &seen)?;
    } else {
        if target.resumes {
            wait_for_ticket(&mut connection, &mut socket)?;
        }
        // A reset keeps no port in use (TIME_WAIT).
        set_socket_linger(&socket, Some(Duration::ZERO))?;
    }
    Ok(TimedHandshake {
        handshake_ns: ended_ns - hello,
        ended_ns,
        was_resumed,
        made: MadeConnection::Rustls(Box::new(connection)),
    })
}

fn by_openssl(
    target: &HandshakeTarget,
    context: &TlsContext,
    session: &mut Option<TlsSession>,
    socket: TcpStream,
) -> io::Result<TimedHandshake> {
    let hello = now_ns();
    let name = target.name.to_str();
    let mut connection = TlsConnection::connect(context, socket, &name, session.as_ref())?;
    let ended_ns = now_ns();
    let was_resumed = connection.was_resumed();
    if target.is_own {
        let mut seen = Vec::with_capacity(2);
        read_to_end(&mut connection, &mut seen)?;
        compare(was_resumed, &seen)?;
        if target.resumes {
            *session = connection.session();
        }
    } else {
        if target.resumes {
            *session = resumable_session(&mut connection)?;
        }
        set_socket_linger(&connection.socket, Some(Duration::ZERO))?;
    }
    Ok(TimedHandshake {
        handshake_ns: ended_ns - hello,
        ended_ns,
        was_resumed,
        made: MadeConnection::Openssl(connection),
    })
}

/// Whether the server, which reports it, saw the handshake as this end did.
fn compare(was_resumed: bool, seen: &[u8]) -> io::Result<()> {
    let expected = if was_resumed { RESUMED } else { FULL };
    if seen == [expected] {
        return Ok(());
    }
    Err(io::Error::other("client and server disagree about a handshake: resumed or full"))
}

/// Reads until the server has closed.
fn read_to_end(connection: &mut TlsConnection, into: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 64];
    loop {
        match connection.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => into.extend(&buffer[..read]),
            // A ticket.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The session once its ticket has come; none within the time-out is no error.
fn resumable_session(connection: &mut TlsConnection) -> io::Result<Option<TlsSession>> {
    connection.socket.set_read_timeout(Some(TICKET_TIMEOUT))?;
    let mut buffer = [0; 64];
    loop {
        if let Some(session) = connection.session().filter(TlsSession::is_resumable) {
            return Ok(Some(session));
        }
        match connection.read(&mut buffer) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_timeout(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// Reads until a ticket has come; none within the time-out is no error.
fn wait_for_ticket(connection: &mut ClientConnection, socket: &mut TcpStream) -> io::Result<()> {
    if connection.protocol_version() != Some(ProtocolVersion::TLSv1_3) {
        return Ok(());
    }
    socket.set_read_timeout(Some(TICKET_TIMEOUT))?;
    while connection.tls13_tickets_received() == 0 {
        match connection.read_tls(socket) {
            Ok(0) => return Ok(()),
            Ok(_) => {
                connection.process_new_packets().map_err(io::Error::other)?;
            }
            Err(error) if is_timeout(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether nothing came in the time of a socket.
pub(crate) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
