//! Where an NBD server is: `nbd://HOST[:PORT][/NAME]`, `nbd+unix:///[NAME]?socket=PATH`, or one of our own.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use plumb_protocol::StartError;

use crate::server::NbdServer;

/// A server must answer within this time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The port that is registered for NBD.
const PORT: u16 = 10809;

/// A server and the name of its disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// On a machine.
    Tcp {
        /// Host and port.
        host: String,
        /// The name of the disk that the server exports.
        name: String,
    },
    /// On this machine.
    Unix {
        /// The path of the Unix socket.
        path: PathBuf,
        /// The name of the disk that the server exports.
        name: String,
    },
}

impl Address {
    /// That of a server of our own.
    pub fn of_server(server: &NbdServer) -> Self {
        Self::Unix { path: server.socket().to_owned(), name: String::new() }
    }

    /// Reads an address of NBD's URI specification, without TLS.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, StartError> {
        let wrong = || {
            StartError::Failed(format!(
                "`address` is `{text}`; it must be own, nbd://HOST:PORT/NAME or nbd+unix:///NAME?socket=PATH"
            ))
        };
        if let Some(rest) = text.strip_prefix("nbd+unix:///") {
            let (name, path) = rest.split_once("?socket=").ok_or_else(wrong)?;
            return Ok(Self::Unix { path: path.into(), name: name.into() });
        }
        let rest = text.strip_prefix("nbd://").ok_or_else(wrong)?;
        let (host, name) = rest.split_once('/').unwrap_or((rest, ""));
        let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let host = if has_port { host.to_owned() } else { format!("{host}:{PORT}") };
        if host.starts_with(':') { Err(wrong()) } else { Ok(Self::Tcp { host, name: name.into() }) }
    }

    /// The name of the disk.
    pub fn name(&self) -> &str {
        match self {
            Self::Tcp { name, .. } | Self::Unix { name, .. } => name,
        }
    }

    /// Connects.
    ///
    /// # Errors
    /// Unsupported when nobody listens there; failed when nobody answers in time.
    pub fn connect(&self) -> Result<NbdStream, StartError> {
        let connected = match self {
            Self::Tcp { host, .. } => tcp(host),
            Self::Unix { path, .. } => unix(path),
        };
        connected.map_err(|error| self.refused(&error))
    }

    fn place(&self) -> String {
        match self {
            Self::Tcp { host, .. } => host.clone(),
            Self::Unix { path, .. } => path.display().to_string(),
        }
    }

    /// Why who answers there is of no use.
    pub fn disagreed(&self, error: &io::Error) -> StartError {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => self.refused(error),
            _ => StartError::unsupported(
                format!("the server at {} can't be used: {error}", self.place()),
                "use an NBD server without TLS that exports a disk of this name",
            ),
        }
    }

    /// Why it could not be reached.
    pub fn refused(&self, error: &io::Error) -> StartError {
        let at = self.place();
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => StartError::Failed(format!(
                "the NBD server at {at} did not answer for {} s",
                ANSWER_TIMEOUT.as_secs()
            )),
            _ => StartError::unsupported(
                format!("no NBD server at {at}: {error}"),
                "start one there (nbdkit memory 1G), or leave `address` out",
            ),
        }
    }
}

fn tcp(host: &str) -> io::Result<NbdStream> {
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, ANSWER_TIMEOUT) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
                return Ok(NbdStream::Tcp(stream));
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn unix(path: &Path) -> io::Result<NbdStream> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    Ok(NbdStream::Unix(stream))
}

/// A connection to a server.
#[derive(Debug)]
pub enum NbdStream {
    /// To a machine.
    Tcp(TcpStream),
    /// On this machine.
    Unix(UnixStream),
}

impl NbdStream {
    /// A second handle.
    ///
    /// # Errors
    /// When there are no more descriptors.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone()?),
            Self::Unix(stream) => Self::Unix(stream.try_clone()?),
        })
    }

    /// Waits for answers as long as they take: a slow link is slow on purpose.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn wait_for_ever(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(None),
            Self::Unix(stream) => stream.set_read_timeout(None),
        }
    }

    /// Ends both directions of the connection.
    pub fn shutdown(&self) {
        match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both).ok(),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both).ok(),
        };
    }
}

impl Read for NbdStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for NbdStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses_are_read() {
        let tcp = |text: &str| match Address::parse(text) {
            Ok(Address::Tcp { host, name }) => format!("{host} {name}"),
            other => format!("{other:?}"),
        };
        assert_eq!(tcp("nbd://localhost"), "localhost:10809 ");
        assert_eq!(tcp("nbd://[::1]:7000/disk"), "[::1]:7000 disk");
        let unix = Address::parse("nbd+unix:///d?socket=/run/x").unwrap();
        assert_eq!(unix, Address::Unix { path: "/run/x".into(), name: "d".into() });
        for text in
            ["localhost:7000", "nbd://", "nbd://:7000/x", "nbds://localhost", "nbd+unix:///x"]
        {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
