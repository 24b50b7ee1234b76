//! Argon2id of libcrypto, which OpenSSL has since version 3.2 (EVP_KDF-ARGON2(7)).
#![expect(unsafe_code, reason = "libcrypto has a C interface")]

use std::ffi::CStr;
use std::ptr;

use plumb_protocol::Failure;

use super::functions::{
    BYTES_PARAMETER, Functions, NUMBER_PARAMETER, Opaque, OsslParameter, UNMODIFIED, done,
};

/// What a key costs, and what goes into it besides the password.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argon2idSettings<'s> {
    /// Memory in KiB.
    pub(crate) memory_kib: u32,
    /// Passes over the memory.
    pub(crate) passes: u32,
    /// Parts of the memory that could be filled at once; one thread fills all of them.
    pub(crate) lanes: u32,
    /// A secret next to the password; empty for none.
    pub(crate) secret: &'s [u8],
    /// Data that the key depends on; empty for none.
    pub(crate) data: &'s [u8],
}

/// Whether a library with these functions has Argon2id.
pub(super) fn has_argon2id(functions: &'static Functions) -> bool {
    KdfContext::fetch(functions, c"ARGON2ID").is_some()
}

/// Argon2id (RFC 9106).
///
/// # Errors
/// If the library lacks it, or refuses the settings.
pub(super) fn argon2id(
    functions: &'static Functions,
    password: &[u8],
    salt: &[u8],
    settings: Argon2idSettings<'_>,
    out: &mut [u8],
) -> Result<(), Failure> {
    let context = KdfContext::fetch(functions, c"ARGON2ID")
        .ok_or_else(|| Failure("libcrypto has no Argon2id".into()))?;
    let Argon2idSettings { memory_kib, passes, lanes, secret, data } = settings;
    let parameters = [
        bytes(c"pass", password),
        bytes(c"salt", salt),
        bytes(c"secret", secret),
        bytes(c"ad", data),
        number(c"memcost", &memory_kib),
        number(c"iter", &passes),
        number(c"lanes", &lanes),
        LAST,
    ];
    // SAFETY: the buffer has that length; the parameters and what they point to outlive the call.
    let derived = unsafe {
        (functions.kdf_derive)(context.context, out.as_mut_ptr(), out.len(), parameters.as_ptr())
    };
    done(derived, "Argon2id refused its settings")
}

/// A key derivation function and its state; dropping it frees both.
struct KdfContext {
    functions: &'static Functions,
    function: Opaque,
    context: Opaque,
}

impl KdfContext {
    /// None if the library lacks the function.
    fn fetch(functions: &'static Functions, name: &CStr) -> Option<Self> {
        // SAFETY: the name ends with a zero byte; null means the default library context and properties.
        let function =
            unsafe { (functions.kdf_fetch)(ptr::null_mut(), name.as_ptr(), ptr::null()) };
        if function.is_null() {
            return None;
        }
        // SAFETY: the function is alive.
        let context = unsafe { (functions.kdf_context)(function) };
        Some(Self { functions, function, context }).filter(|found| !found.context.is_null())
    }
}

impl Drop for KdfContext {
    fn drop(&mut self) {
        // SAFETY: both are alive or null, which these functions accept.
        unsafe {
            (self.functions.kdf_context_free)(self.context);
            (self.functions.kdf_free)(self.function);
        }
    }
}

/// The end of a list of parameters.
const LAST: OsslParameter =
    OsslParameter { key: ptr::null(), kind: 0, data: ptr::null_mut(), size: 0, return_size: 0 };

fn bytes(key: &'static CStr, value: &[u8]) -> OsslParameter {
    OsslParameter {
        key: key.as_ptr(),
        kind: BYTES_PARAMETER,
        data: value.as_ptr().cast_mut().cast(),
        size: value.len(),
        return_size: UNMODIFIED,
    }
}

fn number(key: &'static CStr, value: &u32) -> OsslParameter {
    OsslParameter {
        key: key.as_ptr(),
        kind: NUMBER_PARAMETER,
        data: ptr::from_ref(value).cast_mut().cast(),
        size: size_of::<u32>(),
        return_size: UNMODIFIED,
    }
}
