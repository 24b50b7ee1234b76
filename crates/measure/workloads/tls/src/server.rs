//! plumb's own server of TLS: a few threads that accept a connection, make its handshake, and serve it.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use plumb_model::Ready;
use plumb_protocol::{Failure, Held, Start, StartError};
use plumb_workload_ends::{cpu_time, token};
use plumb_workload_path::{self as path, End};
use rustls::crypto::ring::Ticketer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{HandshakeKind, ServerConfig, ServerConnection, StreamOwned};

use crate::certificate::{ServerIdentity, to_hex};
use crate::settings::TlsSettings;

/// Whoever connects makes the handshake in this time.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Without room for another socket, those that are open have to end first.
const PAUSE: Duration = Duration::from_millis(10);

/// What the server writes after a full handshake, and after a resumed one: how it saw the handshake.
pub(crate) const FULL: u8 = b'F';
pub(crate) const RESUMED: u8 = b'R';

/// A connection after its handshake.
pub(crate) type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// Serves a connection until it ends.
type ServeTls = dyn Fn(&mut TlsStream) -> io::Result<()> + Send + Sync;

/// A server on its own port. Dropping it ends it.
struct HandshakeServer {
    address: SocketAddr,
    listener: Arc<TcpListener>,
    ended: Arc<AtomicBool>,
}

/// Starts a server at the far end, with so many threads, and tells its clients where it is and what its certificate is.
///
/// # Errors
/// If the settings do not fit together, or there is no free port.
pub(crate) fn start_server(
    start: &Start,
    threads: usize,
    resumes: bool,
    serve: impl Fn(&mut TlsStream) -> io::Result<()> + Send + Sync + 'static,
) -> Result<(Ready, Box<dyn Held>), StartError> {
    let address = path::enter(start, End::Far)?;
    let settings = TlsSettings::of(start)?;
    // The name is the token: the server has no certificate for a client that does not know it.
    let token = token::fresh()?;
    let name = format!("{}.plumb.invalid", to_hex(&token));
    let identity = ServerIdentity::of(&name, settings.key)?;
    let certificate = to_hex(&identity.certificate);
    let made = server_settings(&settings, &name, identity, resumes)?;
    let server = HandshakeServer::start(address, threads, &made, serve)
        .map_err(|error| Failure::io(format!("listening on {address}"), &error))?;
    let (words, teller) = cpu_time::told(start)?;
    let endpoints = token::words(server.address(), token)
        .into_iter()
        .chain([("name".to_owned(), name), ("certificate".to_owned(), certificate)])
        .chain(words)
        .collect();
    Ok((Ready { endpoints, ..Ready::default() }, Box::new((server, teller))))
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
    fn start(
        address: IpAddr,
        threads: usize,
        settings: &Arc<ServerConfig>,
        serve: impl Fn(&mut TlsStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let listener = Arc::new(TcpListener::bind((address, 0))?);
        let address = listener.local_addr()?;
        let ended = Arc::new(AtomicBool::new(false));
        let serve: Arc<ServeTls> = Arc::new(serve);
        let server = Self { address, listener, ended };
        // One more than clients, so that a stranger who connects and stays silent delays none of them.
        for _ in 0..=threads {
            let listener = Arc::clone(&server.listener);
            let ended = Arc::clone(&server.ended);
            let settings = Arc::clone(settings);
            let serve = Arc::clone(&serve);
            thread::Builder::new()
                .spawn(move || accept_all(&listener, &ended, &settings, serve.as_ref()))?;
        }
        Ok(server)
    }

    /// Where it listens.
    fn address(&self) -> SocketAddr {
        self.address
    }
}

fn accept_all(
    listener: &TcpListener,
    ended: &AtomicBool,
    settings: &Arc<ServerConfig>,
    serve: &ServeTls,
) {
    for connection in listener.incoming() {
        if ended.load(Ordering::Acquire) {
            return;
        }
        let Ok(socket) = connection else {
            thread::sleep(PAUSE);
            continue;
        };
        // A handshake that fails shows at the client, who gets an alert or no answer.
        let _ = accept(socket, settings, serve);
    }
}

fn accept(socket: TcpStream, settings: &Arc<ServerConfig>, serve: &ServeTls) -> io::Result<()> {
    socket.set_nodelay(true)?;
    socket.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
    let connection = ServerConnection::new(Arc::clone(settings)).map_err(io::Error::other)?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock)?;
    }
    serve(&mut stream)
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
    // The server closes first: TIME_WAIT on its side does not keep the client from using the port again (RFC 6191).
    stream.sock.shutdown(Shutdown::Write)?;
    let mut rest = [0; 64];
    while stream.sock.read(&mut rest)? > 0 {}
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
