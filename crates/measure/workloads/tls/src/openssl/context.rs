//! What connections of OpenSSL have in common: version, group, cipher, identity or trust.
#![expect(unsafe_code, reason = "libssl has a C interface")]

use std::borrow::Cow;
use std::ffi::{CStr, CString, c_char, c_int, c_long, c_void};
use std::ptr;
use std::sync::OnceLock;

use plumb_protocol::{Failure, Start, StartError};
use rustls::pki_types::PrivateKeyDer;

use super::functions::OpensslObject;
use super::library::Libssl;
use crate::certificate::ServerIdentity;
use crate::settings::Trust;

/// Numbers of openssl/ssl.h and openssl/tls1.h.
const SSL_CTRL_SET_SESS_CACHE_MODE: c_int = 44;
const SSL_CTRL_SET_TLSEXT_SERVERNAME_CB: c_int = 53;
const SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG: c_int = 54;
const SSL_CTRL_CLEAR_MODE: c_int = 78;
const SSL_CTRL_SET_GROUPS_LIST: c_int = 92;
const SSL_CTRL_SET_MIN_PROTO_VERSION: c_int = 123;
const SSL_CTRL_SET_MAX_PROTO_VERSION: c_int = 124;
const SSL_MODE_AUTO_RETRY: c_long = 4;
const SSL_SESS_CACHE_OFF: c_long = 0;
const SSL_OP_NO_TICKET: u64 = 1 << 14;
const SSL_VERIFY_NONE: c_int = 0;
const SSL_VERIFY_PEER: c_int = 1;
const TLS1_2_VERSION: c_long = 0x0303;
const TLS1_3_VERSION: c_long = 0x0304;
const TLSEXT_NAMETYPE_HOST_NAME: c_int = 0;
const SSL_TLSEXT_ERR_OK: c_int = 0;
const SSL_TLSEXT_ERR_ALERT_FATAL: c_int = 2;

/// Settings of connections; dropping it frees them.
pub(crate) struct TlsContext {
    pub(super) library: &'static Libssl,
    pub(super) context: OpensslObject,
    /// Whether a client checks the name of the server.
    pub(super) verifies: bool,
    /// The name that a server answers to; its address is known to the library.
    _name: Option<CString>,
}

// SAFETY: threads may share an SSL_CTX once it is set up (openssl-threads(7)), and nothing changes it after that.
unsafe impl Send for TlsContext {}
// SAFETY: as above.
unsafe impl Sync for TlsContext {}

impl TlsContext {
    /// For clients that trust these servers.
    ///
    /// # Errors
    /// Unsupported if this OpenSSL lacks what the parameters ask for.
    pub(crate) fn client(
        library: &'static Libssl,
        start: &Start,
        trust: &Trust,
    ) -> Result<Self, StartError> {
        // SAFETY: takes nothing.
        let mut made = Self::new(library, unsafe { (library.functions.client_method)() })?;
        made.set_up(start)?;
        made.verifies = !matches!(trust, Trust::Anyone);
        let mode = if made.verifies { SSL_VERIFY_PEER } else { SSL_VERIFY_NONE };
        let functions = &library.functions;
        // SAFETY: the context is alive; null is no callback.
        unsafe { (functions.set_verification)(made.context, mode, ptr::null_mut()) };
        match trust {
            Trust::Anyone => {}
            Trust::Authorities => {
                // SAFETY: the context is alive.
                let found = unsafe { (functions.default_authorities)(made.context) };
                made.check(found, "reading the authorities of this machine")?;
            }
            Trust::Certificate(certificate) => made.trust(certificate)?,
        }
        Ok(made)
    }

    /// For a server of this identity and name, which sends tickets if it resumes sessions.
    ///
    /// # Errors
    /// Unsupported if this OpenSSL lacks what the parameters ask for.
    pub(crate) fn server(
        library: &'static Libssl,
        start: &Start,
        identity: &ServerIdentity,
        (name, resumes): (&str, bool),
    ) -> Result<Self, StartError> {
        // SAFETY: takes nothing.
        let mut made = Self::new(library, unsafe { (library.functions.server_method)() })?;
        made.set_up(start)?;
        made.identify(identity)?;
        let functions = &library.functions;
        // SAFETY: the context is alive in this and the next calls.
        unsafe { (functions.set_tickets)(made.context, usize::from(resumes)) };
        if !resumes {
            // SAFETY: as above.
            unsafe { (functions.context_options)(made.context, SSL_OP_NO_TICKET) };
        }
        made.control(SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, ptr::null_mut());
        let name = text(name)?;
        let address = name.as_ptr().cast_mut().cast();
        made.control(SSL_CTRL_SET_TLSEXT_SERVERNAME_ARG, 0, address);
        // SAFETY: the function has the type that the manual asks for.
        unsafe {
            (functions.context_callback)(
                made.context,
                SSL_CTRL_SET_TLSEXT_SERVERNAME_CB,
                Some(only_known_name),
            );
        }
        SERVER_NAME.get_or_init(|| library.functions.server_name);
        made._name = Some(name);
        Ok(made)
    }

    fn new(library: &'static Libssl, method: OpensslObject) -> Result<Self, Failure> {
        library.forget_errors();
        // SAFETY: the method is one of the library's.
        let context = unsafe { (library.functions.context)(method) };
        if context.is_null() {
            return Err(Failure(library.last_error().to_string()));
        }
        Ok(Self { library, context, verifies: false, _name: None })
    }

    /// The one version, the one group and the one cipher that the parameters name.
    fn set_up(&self, start: &Start) -> Result<(), StartError> {
        let is_old = start.text("version") == "1.2";
        let version = if is_old { TLS1_2_VERSION } else { TLS1_3_VERSION };
        for limit in [SSL_CTRL_SET_MIN_PROTO_VERSION, SSL_CTRL_SET_MAX_PROTO_VERSION] {
            let set = self.control(limit, version, ptr::null_mut());
            self.check(c_int::try_from(set).unwrap_or(0), "setting the version")?;
        }
        // Version 1.2 takes the curve of an ECDSA certificate from this list, too. The first is preferred.
        let group = match (start.text("group"), is_old) {
            ("p-256", _) => c"P-256",
            ("p-384", false) => c"P-384",
            ("p-384", true) => c"P-384:P-256",
            ("x25519-ml-kem-768", _) => c"X25519MLKEM768",
            (_, false) => c"X25519",
            (_, true) => c"X25519:P-256",
        };
        if self.control(SSL_CTRL_SET_GROUPS_LIST, 0, group.as_ptr().cast_mut().cast()) != 1 {
            let version = &self.library.version;
            return Err(StartError::unsupported(
                format!("OpenSSL {version} has no group {}", group.to_string_lossy()),
                "set another `group`; OpenSSL has X25519MLKEM768 since version 3.5",
            ));
        }
        let (suite, ciphers) = match start.text("cipher") {
            "aes-128-gcm" => (
                c"TLS_AES_128_GCM_SHA256",
                c"ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256",
            ),
            "chacha20-poly1305" => (
                c"TLS_CHACHA20_POLY1305_SHA256",
                c"ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305",
            ),
            _ => (
                c"TLS_AES_256_GCM_SHA384",
                c"ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384",
            ),
        };
        let functions = &self.library.functions;
        // SAFETY: the context is alive, and the names end with a zero byte.
        let set = unsafe { (functions.set_suites)(self.context, suite.as_ptr()) };
        self.check(set, "setting the cipher")?;
        // SAFETY: as above.
        let set = unsafe { (functions.set_ciphers)(self.context, ciphers.as_ptr()) };
        self.check(set, "setting the cipher")?;
        // A read returns after each record, so that a client can wait for a ticket alone.
        self.control(SSL_CTRL_CLEAR_MODE, SSL_MODE_AUTO_RETRY, ptr::null_mut());
        Ok(())
    }

    fn control(&self, command: c_int, number: c_long, address: *mut c_void) -> c_long {
        // SAFETY: the context is alive; each command takes what its macro in openssl/ssl.h passes.
        unsafe { (self.library.functions.context_control)(self.context, command, number, address) }
    }

    /// Trusts one certificate.
    fn trust(&self, der: &[u8]) -> Result<(), Failure> {
        let functions = &self.library.functions;
        let mut from = der.as_ptr();
        // SAFETY: the buffer has that length; null asks for a new certificate.
        let certificate =
            unsafe { (functions.read_certificate)(ptr::null_mut(), &raw mut from, long(der)?) };
        self.check(c_int::from(!certificate.is_null()), "reading the server's certificate")?;
        // SAFETY: context and certificate are alive; the store takes its own reference.
        let added = unsafe {
            (functions.store_add)((functions.certificate_store)(self.context), certificate)
        };
        // SAFETY: the certificate is alive.
        unsafe { (functions.certificate_free)(certificate) };
        self.check(added, "trusting the server's certificate")
    }

    /// Uses a certificate and its key.
    fn identify(&self, identity: &ServerIdentity) -> Result<(), Failure> {
        let functions = &self.library.functions;
        let certificate: &[u8] = &identity.certificate;
        let length = c_int::try_from(certificate.len())
            .map_err(|_| Failure("a certificate of more than 2 GiB".into()))?;
        // SAFETY: the context is alive, and the buffer has that length.
        let used =
            unsafe { (functions.use_certificate)(self.context, length, certificate.as_ptr()) };
        self.check(used, "using the certificate")?;
        let der = match &identity.key {
            PrivateKeyDer::Pkcs8(key) => version_1(key.secret_pkcs8_der()),
            _ => return Err(Failure("the key of the server is not PKCS#8".into())),
        };
        let mut from = der.as_ptr();
        // SAFETY: the buffer has that length; null asks for a new key.
        let key = unsafe { (functions.read_key)(ptr::null_mut(), &raw mut from, long(&der)?) };
        self.check(c_int::from(!key.is_null()), "reading the key")?;
        // SAFETY: context and key are alive; the context takes its own reference.
        let used = unsafe { (functions.use_key)(self.context, key) };
        // SAFETY: the key is alive.
        unsafe { (functions.key_free)(key) };
        self.check(used, "using the key")
    }

    fn check(&self, result: c_int, doing: &str) -> Result<(), Failure> {
        if result == 1 {
            return Ok(());
        }
        Err(Failure(format!("{doing}: {}", self.library.last_error())))
    }
}

impl Drop for TlsContext {
    fn drop(&mut self) {
        // SAFETY: the context is alive, and every connection holds a reference of its own.
        unsafe { (self.library.functions.context_free)(self.context) };
    }
}

/// `SSL_get_servername`, for the callback, which gets no library.
static SERVER_NAME: OnceLock<unsafe extern "C" fn(OpensslObject, c_int) -> *const c_char> =
    OnceLock::new();

/// Ends the handshake of a client that does not know the name of the server, which is a secret of this invocation.
unsafe extern "C" fn only_known_name(
    connection: OpensslObject,
    _alert: *mut c_int,
    name: *mut c_void,
) -> c_int {
    let Some(server_name) = SERVER_NAME.get() else { return SSL_TLSEXT_ERR_ALERT_FATAL };
    // SAFETY: the connection is alive during the call.
    let given = unsafe { server_name(connection, TLSEXT_NAMETYPE_HOST_NAME) };
    if given.is_null() {
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    }
    // SAFETY: both texts end with a zero byte and outlive the call; the name is that of the context.
    let is_known = unsafe { CStr::from_ptr(given) == CStr::from_ptr(name.cast()) };
    if is_known { SSL_TLSEXT_ERR_OK } else { SSL_TLSEXT_ERR_ALERT_FATAL }
}

/// A key without the public one behind it, which ring adds to Ed25519 keys (PKCS#8 version 2, RFC 5958): OpenSSL 3.0 reads
/// version 1 alone.
fn version_1(der: &[u8]) -> Cow<'_, [u8]> {
    const SEQUENCE_2: &[u8] = &[0x30, 0x51, 0x02, 0x01, 0x01];
    const SEQUENCE_1: &[u8] = &[0x30, 0x2e, 0x02, 0x01, 0x00];
    /// Bytes of the identifier and the key that both versions have.
    const COMMON: usize = 43;
    match der.strip_prefix(SEQUENCE_2).and_then(|rest| rest.get(..COMMON)) {
        Some(common) => Cow::Owned([SEQUENCE_1, common].concat()),
        None => Cow::Borrowed(der),
    }
}

pub(super) fn text(name: &str) -> Result<CString, Failure> {
    CString::new(name).map_err(|_| Failure(format!("`{name}` has a zero byte")))
}

fn long(der: &[u8]) -> Result<c_long, Failure> {
    c_long::try_from(der.len()).map_err(|_| Failure("a buffer of more than 2 GiB".into()))
}
