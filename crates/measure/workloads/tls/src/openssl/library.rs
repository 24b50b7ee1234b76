//! The library libssl, and why it refuses.
#![expect(unsafe_code, reason = "libssl has a C interface")]

use std::ffi::{CStr, c_char, c_int};
use std::fmt;

use libloading::Library;
use plumb_protocol::StartError;

use super::functions::SslFunctions;

/// Names under which systems install libssl of OpenSSL 3 and 4, the newest first.
const SONAMES: [&str; 2] = ["libssl.so.4", "libssl.so.3"];

/// The version as a number with dots, of OpenSSL_version(3).
const OPENSSL_VERSION_STRING: c_int = 6;

/// The longest text of an error.
const ERROR_TEXT: usize = 256;

/// A libssl that was loaded.
pub(crate) struct Libssl {
    pub(super) functions: SslFunctions,
    /// Version as OpenSSL reports it: `3.0.19`.
    pub(crate) version: String,
}

impl Libssl {
    /// Loads the system's library.
    ///
    /// # Errors
    /// Unsupported if there is none, or it lacks a function that plumb needs.
    pub(crate) fn load() -> Result<&'static Self, StartError> {
        if cfg!(target_feature = "crt-static") {
            return Err(StartError::unsupported(
                "a statically linked plumb cannot load libssl",
                "use a dynamically linked plumb, or leave out `client` and `server`",
            ));
        }
        // SAFETY: these names are OpenSSL's.
        let loaded = SONAMES.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
        let library = loaded.ok_or_else(|| {
            StartError::unsupported(
                "this system has no libssl of OpenSSL 3.0 or later",
                "apt install libssl3, or leave out `client` and `server`",
            )
        })?;
        let functions = SslFunctions::of(&library).map_err(|symbol| {
            StartError::unsupported(
                format!("the system's libssl has no function {symbol}"),
                "install OpenSSL 3.0 or later, or leave out `client` and `server`",
            )
        })?;
        // SAFETY: the function takes any number and returns a static text that ends with a zero byte.
        let text = unsafe { CStr::from_ptr((functions.version)(OPENSSL_VERSION_STRING)) };
        let version = text.to_string_lossy().into_owned();
        // Exit handlers of the library run when the process ends, so it must never be unloaded.
        std::mem::forget(library);
        Ok(Box::leak(Box::new(Self { functions, version })))
    }

    /// What this thread's last failure was, in OpenSSL's words.
    pub(super) fn last_error(&self) -> OpensslError {
        let mut last = 0;
        loop {
            // SAFETY: takes nothing.
            let next = unsafe { (self.functions.next_error)() };
            if next == 0 {
                break;
            }
            last = next;
        }
        if last == 0 {
            return OpensslError("OpenSSL gave no reason".to_owned());
        }
        let mut text = [0_u8; ERROR_TEXT];
        // SAFETY: the buffer has that length, and the function ends what it writes with a zero byte.
        unsafe {
            (self.functions.error_text)(last, text.as_mut_ptr().cast::<c_char>(), text.len());
        }
        let text = CStr::from_bytes_until_nul(&text).unwrap_or_default().to_string_lossy();
        // `error:0A000410:SSL routines::ssl/tls alert handshake failure`: the last part is for people.
        OpensslError(text.rsplit("::").next().unwrap_or_default().to_owned())
    }

    /// Forgets earlier failures of this thread.
    pub(super) fn forget_errors(&self) {
        // SAFETY: takes nothing.
        unsafe { (self.functions.clear_errors)() };
    }
}

/// Why OpenSSL refused, in its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpensslError(pub(crate) String);

impl fmt::Display for OpensslError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "OpenSSL: {}", self.0)
    }
}

impl std::error::Error for OpensslError {}
