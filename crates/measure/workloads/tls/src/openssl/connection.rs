//! A connection of OpenSSL over a socket of ours.
#![expect(unsafe_code, reason = "libssl has a C interface")]

use std::ffi::{CStr, c_char, c_int, c_long};
use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

use super::context::{TlsContext, text};
use super::functions::OpensslObject;
use super::library::Libssl;

/// Numbers of openssl/ssl.h and openssl/tls1.h.
const SSL_ERROR_WANT_READ: c_int = 2;
const SSL_ERROR_SYSCALL: c_int = 5;
const SSL_ERROR_ZERO_RETURN: c_int = 6;
/// `SSL_SENT_SHUTDOWN` and `SSL_RECEIVED_SHUTDOWN` together.
const SHUT_DOWN: c_int = 3;
const SSL_CTRL_SET_TLSEXT_HOSTNAME: c_int = 55;
const TLSEXT_NAMETYPE_HOST_NAME: c_long = 0;

/// A session that a client can resume; dropping it frees it.
pub(crate) struct TlsSession {
    library: &'static Libssl,
    session: OpensslObject,
}

// SAFETY: a session belongs to whoever has it; the library counts its own references with atomics.
unsafe impl Send for TlsSession {}
// SAFETY: through a shared reference, a session is only read, and given to a connection, which counts its reference.
unsafe impl Sync for TlsSession {}

impl TlsSession {
    /// Whether a server can resume it: in TLS 1.3, once its ticket has come.
    pub(crate) fn is_resumable(&self) -> bool {
        // SAFETY: the session is alive.
        unsafe { (self.library.functions.is_resumable)(self.session) == 1 }
    }
}

impl Drop for TlsSession {
    fn drop(&mut self) {
        // SAFETY: the session is alive, and this is its reference.
        unsafe { (self.library.functions.session_free)(self.session) };
    }
}

/// A connection after its handshake; dropping it closes it.
pub(crate) struct TlsConnection {
    library: &'static Libssl,
    connection: OpensslObject,
    /// What it is made over.
    pub(crate) socket: TcpStream,
}

impl TlsConnection {
    /// Makes a handshake as a client, and resumes a session if there is one.
    ///
    /// # Errors
    /// When the server does not answer in the time of the socket, or either end refuses.
    pub(crate) fn connect(
        context: &TlsContext,
        socket: TcpStream,
        name: &str,
        session: Option<&TlsSession>,
    ) -> io::Result<Self> {
        let made = Self::new(context, socket)?;
        let functions = &made.library.functions;
        let name = text(name).map_err(|failure| io::Error::other(failure.0))?;
        // SAFETY: the connection is alive, and the library copies the name.
        unsafe {
            (functions.control)(
                made.connection,
                SSL_CTRL_SET_TLSEXT_HOSTNAME,
                TLSEXT_NAMETYPE_HOST_NAME,
                name.as_ptr().cast_mut().cast(),
            );
        }
        if context.verifies {
            // SAFETY: as above.
            unsafe { (functions.set_name)(made.connection, name.as_ptr()) };
        }
        if let Some(session) = session {
            // SAFETY: connection and session are alive.
            unsafe { (functions.set_session)(made.connection, session.session) };
        }
        // SAFETY: the connection is alive and has a socket.
        let connected = unsafe { (functions.connect)(made.connection) };
        made.check(connected)?;
        Ok(made)
    }

    /// Makes a handshake as a server.
    ///
    /// # Errors
    /// When the client is silent for the time of the socket, or either end refuses.
    pub(crate) fn accept(context: &TlsContext, socket: TcpStream) -> io::Result<Self> {
        let made = Self::new(context, socket)?;
        // SAFETY: the connection is alive and has a socket.
        let accepted = unsafe { (made.library.functions.accept)(made.connection) };
        made.check(accepted)?;
        Ok(made)
    }

    fn new(context: &TlsContext, socket: TcpStream) -> io::Result<Self> {
        let library = context.library;
        library.forget_errors();
        // SAFETY: the context is alive.
        let connection = unsafe { (library.functions.connection)(context.context) };
        if connection.is_null() {
            return Err(io::Error::other(library.last_error()));
        }
        let made = Self { library, connection, socket };
        // SAFETY: connection and descriptor are alive; the library does not close the latter.
        let set =
            unsafe { (library.functions.set_descriptor)(connection, made.socket.as_raw_fd()) };
        made.check(set)?;
        Ok(made)
    }

    /// Whether the handshake resumed a session.
    pub(crate) fn was_resumed(&self) -> bool {
        // SAFETY: the connection is alive.
        unsafe { (self.library.functions.was_reused)(self.connection) == 1 }
    }

    /// The session, to be resumed by another connection.
    pub(crate) fn session(&self) -> Option<TlsSession> {
        // SAFETY: the connection is alive; the reference is ours.
        let session = unsafe { (self.library.functions.session)(self.connection) };
        (!session.is_null()).then_some(TlsSession { library: self.library, session })
    }

    /// What both ends agreed on: `TLSv1.3, TLS_AES_256_GCM_SHA384`.
    pub(crate) fn agreed(&self) -> String {
        let functions = &self.library.functions;
        // SAFETY: the connection is alive, and both texts are static.
        let (protocol, cipher) = unsafe {
            let cipher = (functions.cipher)(self.connection);
            ((functions.protocol)(self.connection), (functions.cipher_name)(cipher))
        };
        let shown = |text: *const c_char| {
            // SAFETY: as above; a text ends with a zero byte.
            let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) });
            text.unwrap_or_default().to_string_lossy().into_owned()
        };
        format!("{}, {}", shown(protocol), shown(cipher))
    }

    /// Reads what has come, or a record without data, such as a ticket: then an error of the kind `Interrupted`. 0 is the
    /// end.
    ///
    /// # Errors
    /// When nothing comes in the time of the socket, or the connection breaks.
    pub(crate) fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = c_int::try_from(into.len()).unwrap_or(c_int::MAX);
        // SAFETY: the connection is alive, and the buffer has that length.
        let read = unsafe {
            (self.library.functions.read)(self.connection, into.as_mut_ptr().cast(), length)
        };
        if read > 0 {
            return Ok(usize::try_from(read).unwrap_or(0));
        }
        match self.check(read) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
            other => other.map(|()| 0),
        }
    }

    /// Writes all of it.
    ///
    /// # Errors
    /// When the connection breaks.
    pub(crate) fn write(&mut self, data: &[u8]) -> io::Result<()> {
        let length = c_int::try_from(data.len()).unwrap_or(c_int::MAX);
        // SAFETY: the connection is alive, and the buffer has that length.
        let written = unsafe {
            (self.library.functions.write)(self.connection, data.as_ptr().cast(), length)
        };
        self.check(written.min(1))
    }

    /// Tells the other end that no more comes.
    pub(crate) fn close(&mut self) {
        // SAFETY: the connection is alive. A failure means that the other end is gone.
        unsafe { (self.library.functions.shutdown)(self.connection) };
    }

    /// An error unless the result is 1. The end of the connection is one of the kind `UnexpectedEof`.
    fn check(&self, result: c_int) -> io::Result<()> {
        if result == 1 {
            return Ok(());
        }
        let of_system = io::Error::last_os_error();
        // SAFETY: the connection is alive, and the result is that of its last call in this thread.
        let kind = unsafe { (self.library.functions.error_kind)(self.connection, result) };
        Err(match kind {
            SSL_ERROR_ZERO_RETURN => io::ErrorKind::UnexpectedEof.into(),
            // The socket blocks: either its time is over, or a record came that was no data.
            SSL_ERROR_WANT_READ if of_system.kind() == io::ErrorKind::WouldBlock => of_system,
            SSL_ERROR_WANT_READ => io::ErrorKind::Interrupted.into(),
            SSL_ERROR_SYSCALL if of_system.raw_os_error().is_some_and(|code| code != 0) => {
                of_system
            }
            SSL_ERROR_SYSCALL => io::ErrorKind::UnexpectedEof.into(),
            _ => io::Error::other(self.library.last_error()),
        })
    }
}

impl Drop for TlsConnection {
    fn drop(&mut self) {
        let functions = &self.library.functions;
        // SAFETY: the connection is alive, and nobody else has it. Unless it was shut down, OpenSSL makes its session one
        // that can't be resumed.
        unsafe {
            (functions.set_shutdown)(self.connection, SHUT_DOWN);
            (functions.connection_free)(self.connection);
        }
    }
}
