//! plumb's own server of TLS: a few threads that accept a connection, make its handshake, and serve it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use plumb_model::Ready;
use plumb_protocol::{Failure, Held, Start, StartError};
use plumb_workload_ends::cpu_time::{self, Words};
use plumb_workload_ends::token;
use plumb_workload_path::{self as path, End};
use rustls::crypto::ring::Ticketer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};

use crate::certificate::{ServerIdentity, to_hex};
use crate::openssl::{Libssl, TlsConnection, TlsContext};
use crate::settings::TlsSettings;

/// Whoever connects makes the handshake in this time.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Without room for another socket, those that are open have to end first.
const PAUSE: Duration = Duration::from_millis(10);

/// What the server writes after a full handshake, and after a resumed one: how it saw the handshake.
pub(crate) const FULL: u8 = b'F';
pub(crate) const RESUMED: u8 = b'R';
/// The endpoint that names the version of a server by OpenSSL.
pub(crate) const OPENSSL_OF_SERVER: &str = "server.openssl";

/// A connection after its handshake.
pub(crate) type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// The library of a server: makes the handshake of a connection, serves it until it ends, and what clients are told of it.
pub(crate) struct ServerLibrary {
    serve: Box<ServeSocket>,
    words: Words,
}

/// Serves a connection until it ends.
type ServeSocket = dyn Fn(TcpStream) -> io::Result<()> + Send + Sync;

/// A server on its own port. Dropping it ends it.
struct HandshakeServer {
    address: SocketAddr,
    listener: Arc<TcpListener>,
    ended: Arc<AtomicBool>,
}

/// Starts a server at the far end, with so many threads, and tells its clients where it is and what its certificate is.
/// `library` makes what serves them, for a name and an identity.
///
/// # Errors
/// If the settings do not fit together, or there is no free port.
pub(crate) fn start_server(
    start: &Start,
    threads: usize,
    library: impl FnOnce(&str, ServerIdentity) -> Result<ServerLibrary, StartError>,
) -> Result<(Ready, Box<dyn Held>), StartError> {
    let address = path::enter(start, End::Far)?;
    let settings = TlsSettings::of(start)?;
    // The name is the token: the server has no certificate for a client that does not know it.
    let token = token::fresh()?;
    let name = format!("{}.plumb.invalid", to_hex(&token));
    let identity = ServerIdentity::of(&name, settings.key)?;
    let certificate = to_hex(&identity.certificate);
    let library = library(&name, identity)?;
    let server = HandshakeServer::start(address, threads, library.serve)
        .map_err(|error| Failure::io(format!("listening on {address}"), &error))?;
    let (words, teller) = cpu_time::told(start)?;
    let endpoints = token::words(server.address(), token)
        .into_iter()
        .chain([("name".to_owned(), name), ("certificate".to_owned(), certificate)])
        .chain(library.words)
        .chain(words)
        .collect();
    Ok((Ready { endpoints, ..Ready::default() }, Box::new((server, teller))))
}

/// A server by rustls.
///
/// # Errors
/// If the settings do not fit together.
pub(crate) fn rustls_server(
    start: &Start,
    name: &str,
    identity: ServerIdentity,
    resumes: bool,
    serve: impl Fn(&mut TlsStream) -> io::Result<()> + Send + Sync + 'static,
) -> Result<ServerLibrary, StartError> {
    let settings = server_settings(&TlsSettings::of(start)?, name, identity, resumes)?;
    let serve = move |socket: TcpStream| {
        let connection = ServerConnection::new(Arc::clone(&settings)).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        serve(&mut stream)
    };
    Ok(ServerLibrary { serve: Box::new(serve), words: Words::new() })
}

/// A server by the installed OpenSSL that reports how it saw each handshake, and ends the connection.
///
/// # Errors
/// Unsupported if there is no OpenSSL, or it lacks what the parameters ask for.
pub(crate) fn openssl_server(
    start: &Start,
    name: &str,
    identity: &ServerIdentity,
    resumes: bool,
) -> Result<ServerLibrary, StartError> {
    let library = Libssl::load()?;
    let context = TlsContext::server(library, start, identity, (name, resumes))?;
    let serve = move |socket: TcpStream| {
        let mut connection = TlsConnection::accept(&context, socket)?;
        let seen = if connection.was_resumed() { RESUMED } else { FULL };
        connection.write(&[seen])?;
        connection.close();
        end_first(&mut connection.socket)
    };
    let words = vec![(OPENSSL_OF_SERVER.to_owned(), library.version.clone())];
    Ok(ServerLibrary { serve: Box::new(serve), words })
}

/// Settings of a server that has this identity and serves only clients that know its name, which is a secret of this invocation.
///
/// # Errors
/// If the settings do not fit together.
fn server_settings(
    settings: &TlsSettings,
    name: &str,
    identity: ServerIdentity,
    resumes: bool,
) -> Result<Arc<ServerConfig>, StartError> {
    let provider = settings.provider();
    let failed = |error: rustls::Error| Failure(format!("plumb can't use these settings: {error}"));
    let key = provider.key_provider.load_private_key(identity.key).map_err(failed)?;
    let known = CertifiedKey::new(vec![identity.certificate], key);
    let resolver = KnownName { name: name.to_owned(), key: Arc::new(known) };
    let mut made = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[settings.version])
        .map_err(failed)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    if resumes {
        made.ticketer = Ticketer::new().map_err(failed)?;
        made.send_tls13_tickets = 1;
    } else {
        made.send_tls13_tickets = 0;
    }
    Ok(Arc::new(made))
}

/// Gives the certificate only to clients that name the server.
#[derive(Debug)]
struct KnownName {
    name: String,
    key: Arc<CertifiedKey>,
}

impl ResolvesServerCert for KnownName {
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        (client_hello.server_name() == Some(self.name.as_str())).then(|| Arc::clone(&self.key))
    }
}

impl HandshakeServer {
    /// On a free port of this address, with so many threads.
    ///
    /// # Errors
    /// If there is no free port, or no thread.
    fn start(address: IpAddr, threads: usize, serve: Box<ServeSocket>) -> io::Result<Self> {
        let listener = Arc::new(TcpListener::bind((address, 0))?);
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let serve: Arc<ServeSocket> = Arc::from(serve);
        let server = Self { address, listener, ended };
        // One more than clients, so that a stranger who connects and stays silent delays none of them.
        for _ in 0..=threads {
            let listener = Arc::clone(&server.listener);
            let ended = Arc::clone(&server.ended);
            let serve = Arc::clone(&serve);
            thread::Builder::new().spawn(move || accept_all(&listener, &ended, serve.as_ref()))?;
        }
        Ok(server)
    }

    /// Where it listens.
    fn address(&self) -> SocketAddr {
        self.address
    }
}

fn accept_all(listener: &TcpListener, ended: &AtomicBool, serve: &ServeSocket) {
    for connection in listener.incoming() {
        if ended.load(Ordering::Acquire) {
            return;
        }
        let Ok(socket) = connection else {
            thread::sleep(PAUSE);
            continue;
        };
        // A handshake that fails shows at the client, who gets an alert or no answer.
        let _ = accept(socket, serve);
    }
}

fn accept(socket: TcpStream, serve: &ServeSocket) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    serve(socket)
}

/// Reports how the server saw the handshake, and ends the connection.
///
/// # Errors
/// If the client is gone.
pub(crate) fn report_handshake(stream: &mut TlsStream) -> io::Result<()> {
    let seen = match stream.conn.handshake_kind() {
        Some(HandshakeKind::Resumed) => RESUMED,
        _ => FULL,
    };
    stream.write_all(&[seen])?;
    stream.conn.send_close_notify();
    stream.flush()?;
    end_first(&mut stream.sock)
}

/// Closes before the client does: TIME_WAIT at this end does not keep the client from using the port again (RFC 6191).
fn end_first(socket: &mut TcpStream) -> io::Result<()> {
    socket.shutdown(Shutdown::Write)?;
    let mut rest = [0; 64];
    while socket.read(&mut rest)? > 0 {}
    Ok(())
}

impl Held for HandshakeServer {}

impl Drop for HandshakeServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // Wakes the threads that wait for a connection. A thread that serves one ends with it, and is not waited for.
        rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both).ok();
    }
}
