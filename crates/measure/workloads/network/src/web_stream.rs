//! A connection to a server of HTTP: bare, or inside TLS.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use plumb_protocol::{Failure, StartError};
use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// The variable that names a file of trusted authorities, as OpenSSL and curl read it.
const AUTHORITIES: &str = "SSL_CERT_FILE";
/// Where distributions keep theirs: Debian and Arch, Fedora, openSUSE, Alpine.
const FILES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

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
        let mut settings = settings.with_root_certificates(authorities()?).with_no_client_auth();
        settings.resumption = Resumption::disabled();
        settings.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self { settings: Arc::new(settings), name })
    }
}

/// The authorities that this machine trusts.
fn authorities() -> Result<RootCertStore, StartError> {
    let named = std::env::var_os(AUTHORITIES).map(PathBuf::from);
    let usual = FILES.iter().map(PathBuf::from).find(|file| file.exists());
    let file = named.or(usual).unwrap_or_default();
    let found = of_file(&file).map_err(|why| (file, why));
    found.map_err(|(file, why)| {
        StartError::unsupported(
            format!(
                "no certificate authority is trusted here, so plumb can't verify servers: {}: {why}",
                file.display()
            ),
            format!("apt install ca-certificates, or set {AUTHORITIES}=FILE"),
        )
    })
}

fn of_file(file: &Path) -> Result<RootCertStore, String> {
    let mut store = RootCertStore::empty();
    let all = CertificateDer::pem_file_iter(file).map_err(|error| error.to_string())?;
    store.add_parsable_certificates(all.flatten());
    if store.is_empty() { Err("it contains no certificate".to_owned()) } else { Ok(store) }
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

#[cfg(test)]
mod tests {
    use super::of_file;

    #[test]
    fn a_file_without_certificates_is_none_of_authorities() {
        let folder = std::env::temp_dir().join(format!("plumb-authorities-{}", std::process::id()));
        std::fs::write(&folder, "hello").unwrap();
        assert_eq!(of_file(&folder).unwrap_err(), "it contains no certificate");
        std::fs::remove_file(&folder).unwrap();
        assert!(of_file(&folder).is_err());
    }
}
