//! A connection to a server of HTTP: bare, or inside TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use plumb_protocol::{Failure, StartError};
use plumb_workload_ends::authorities;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

/// How a server proves that it has its name.
#[derive(Debug)]
pub(crate) struct Tls {
    settings: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Tls {
    /// For a server of this name or address, with TLS 1.3 or 1.2. Every handshake is a full one: nothing of an earlier
    /// connection is resumed.
    ///
    /// # Errors
    /// Unsupported if no authority is trusted here.
    pub(crate) fn to(host: &str) -> Result<Self, StartError> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|error| StartError::Failed(format!("`{host}`: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let settings = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Failure(format!("plumb cannot use TLS: {error}")))?;
        let mut settings =
            settings.with_root_certificates(authorities::trusted()?).with_no_client_auth();
        settings.resumption = Resumption::disabled();
        settings.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { settings: Arc::new(settings), name })
    }
}

/// A connection that has been opened.
pub(crate) enum WebStream {
    /// As it is.
    Bare(TcpStream),
    /// Inside TLS, after the handshake.
    Secure(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl WebStream {
    /// On this connection; with TLS the handshake is made here.
    ///
    /// # Errors
    /// When the server does not prove its name, or is gone.
    pub(crate) fn open(socket: TcpStream, tls: Option<&Tls>) -> io::Result<Self> {
        let Some(tls) = tls else { return Ok(Self::Bare(socket)) };
        let connection = ClientConnection::new(Arc::clone(&tls.settings), tls.name.clone());
        let mut stream = StreamOwned::new(connection.map_err(io::Error::other)?, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Self::Secure(Box::new(stream)))
    }

    /// What is spoken: version and cipher suite; None without TLS.
    pub(crate) fn spoken(&self) -> Option<String> {
        let Self::Secure(stream) = self else { return None };
        let version = stream.conn.protocol_version()?.as_str()?.replace('_', ".");
        let suite = stream.conn.negotiated_cipher_suite()?.suite();
        Some(format!("{} with {}", version.replacen("TLSv", "TLS ", 1), suite.as_str()?))
    }
}

impl Read for WebStream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Bare(stream) => stream.read(into),
            Self::Secure(stream) => stream.read(into),
        }
    }
}

impl Write for WebStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Bare(stream) => stream.write(bytes),
            Self::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Bare(stream) => stream.flush(),
            Self::Secure(stream) => stream.flush(),
        }
    }
}
