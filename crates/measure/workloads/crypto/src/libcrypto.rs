//! The system's libcrypto (OpenSSL 3 or later), loaded when a workload asks for it.
//!
//! Names and arguments follow OpenSSL's manual pages (EVP_EncryptInit(3), EVP_DigestInit(3), EVP_MAC(3),
//! EVP_DigestSignInit(3), EVP_PKEY_derive(3)). A library stays loaded until the process ends: OpenSSL registers exit
//! handlers, which must not be unmapped before they run.
#![expect(unsafe_code, reason = "libcrypto has a C interface")]

mod argon2id;
mod functions;
mod keys;
mod primitives;

use std::ffi::{CStr, c_int, c_long};
use std::ptr;

use libloading::Library;
use plumb_protocol::{Failure, StartError};

use functions::{Functions, OsslParameter, TEXT_PARAMETER, UNMODIFIED, done, length};
use keys::KeyContext;

pub(crate) use argon2id::Argon2idSettings;
pub(crate) use keys::{KeyGenerator, KeyPair, SignContext};
pub(crate) use primitives::{CipherContext, Direction, HashFunction, MacContext};

/// Names under which systems install OpenSSL 3 and 4, the newest first.
const SONAMES: [&str; 2] = ["libcrypto.so.4", "libcrypto.so.3"];

/// What OPENSSL_ia32cap(3) must be so that no AES, carry-less multiplication, or vector AES instruction is used: bits
/// 57 and 33 of the first word, bits 41 and 42 of the second.
pub(crate) const NO_ACCELERATION: &str = "~0x200000200000000:~0x60000000000";

/// The version as a number with dots, of OpenSSL_version(3).
const OPENSSL_VERSION_STRING: c_int = 6;

/// `OPENSSL_INFO_CPU_SETTINGS` of openssl/crypto.h.
const OPENSSL_INFO_CPU_SETTINGS: c_int = 1008;

/// A libcrypto that was loaded.
pub(super) struct Libcrypto {
    functions: Functions,
    /// Version as OpenSSL reports it: `3.0.19`.
    version: String,
}

impl Libcrypto {
    /// Loads the library at `path`, or the system's if the path is empty.
    ///
    /// # Errors
    /// Unsupported if there is none, or it lacks a function that plumb needs.
    pub(super) fn load(path: &str, accelerated: bool) -> Result<&'static Self, StartError> {
        if cfg!(target_feature = "crt-static") {
            return Err(StartError::unsupported(
                "a statically linked plumb cannot load libcrypto",
                "set `provider=ring` or `provider=rustcrypto`, or use a plumb from `cargo build --release`",
            ));
        }
        if !accelerated {
            if !cfg!(target_arch = "x86_64") {
                return Err(StartError::unsupported(
                    "OpenSSL's instructions can be switched off only on x86-64",
                    "set `acceleration=on`",
                ));
            }
            // SAFETY: workloads start on the only thread of their process, before any helper thread exists.
            unsafe { std::env::set_var("OPENSSL_ia32cap", NO_ACCELERATION) };
        }
        let library = open(path)?;
        let functions = Functions::of(&library).map_err(|symbol| {
            let name = if path.is_empty() { "the system's libcrypto" } else { path };
            StartError::unsupported(
                format!("{name} has no function {symbol}: plumb needs OpenSSL 3.0 or later"),
                "set `library` to the libcrypto.so.3 of another build, or `provider=ring`",
            )
        })?;
        // SAFETY: the function takes any number and returns a static text.
        let version_text = unsafe { (functions.version)(OPENSSL_VERSION_STRING) };
        // SAFETY: as above; it ends with a zero byte.
        let version = unsafe { CStr::from_ptr(version_text) }.to_string_lossy().into_owned();
        // SAFETY: as for the version.
        let cpu_text = unsafe { (functions.info)(OPENSSL_INFO_CPU_SETTINGS) };
        // SAFETY: as above, unless it is null.
        let cpu = (!cpu_text.is_null()).then(|| unsafe { CStr::from_ptr(cpu_text) });
        // `OPENSSL_ia32cap=0x…:0x… env:~0x…`: the library read the mask when it was loaded.
        if !accelerated && !cpu.is_some_and(|cpu| cpu.to_string_lossy().contains("env:")) {
            return Err(StartError::unsupported(
                "this libcrypto does not switch off instructions by OPENSSL_ia32cap",
                "set `acceleration=on`, or `library` to another build",
            ));
        }
        // Exit handlers of the library run when the process ends, so it must never be unloaded.
        std::mem::forget(library);
        Ok(Box::leak(Box::new(Self { functions, version })))
    }

    /// The version as OpenSSL reports it: `3.0.19`.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// A cipher with a key, or None if the library does not have the cipher.
    ///
    /// # Errors
    /// If it does not accept the key.
    pub(super) fn cipher(
        &'static self,
        name: &CStr,
        direction: Direction,
        key: &[u8],
    ) -> Result<Option<CipherContext>, Failure> {
        let functions = &self.functions;
        // SAFETY: the name ends with a zero byte; null means the default library context and properties.
        let cipher =
            unsafe { (functions.cipher_fetch)(ptr::null_mut(), name.as_ptr(), ptr::null()) };
        if cipher.is_null() {
            return Ok(None);
        }
        // SAFETY: the cipher is alive.
        let key_length = unsafe { (functions.cipher_key_length)(cipher) };
        // The library reads as many bytes as the cipher needs, whatever the slice has.
        if length(key)? != key_length {
            let given = key.len();
            return Err(Failure(format!("libcrypto: a key of {given} bytes, not {key_length}")));
        }
        // SAFETY: the cipher is alive.
        let nonce_length = unsafe { (functions.cipher_nonce_length)(cipher) };
        // SAFETY: takes nothing.
        let context = unsafe { (functions.cipher_context)() };
        if context.is_null() {
            return Err(Failure("libcrypto has no memory for a cipher".into()));
        }
        let made = CipherContext { functions, context, direction, nonce_length, key_length };
        let init = made.init_function();
        // SAFETY: cipher and context are alive; the key has the cipher's length.
        let accepted = unsafe { init(context, cipher, ptr::null_mut(), key.as_ptr(), ptr::null()) };
        done(accepted, "a cipher did not accept its key")?;
        Ok(Some(made))
    }

    /// A hash function, or None if the library does not have it.
    pub(super) fn hash(&'static self, name: &CStr) -> Option<HashFunction> {
        let functions = &self.functions;
        // SAFETY: as in `cipher`.
        let digest =
            unsafe { (functions.digest_fetch)(ptr::null_mut(), name.as_ptr(), ptr::null()) };
        (!digest.is_null()).then_some(HashFunction { functions, digest })
    }

    /// HMAC with a hash function and a key, or None if the library does not have the hash function.
    ///
    /// # Errors
    /// If the library does not accept the key.
    pub(super) fn hmac(
        &'static self,
        hash: &CStr,
        key: &[u8],
    ) -> Result<Option<MacContext>, Failure> {
        if self.hash(hash).is_none() {
            return Ok(None);
        }
        let functions = &self.functions;
        // SAFETY: as in `cipher`.
        let mac = unsafe { (functions.mac_fetch)(ptr::null_mut(), c"HMAC".as_ptr(), ptr::null()) };
        if mac.is_null() {
            return Ok(None);
        }
        // SAFETY: the algorithm is alive; the library does not check it for null.
        let context = unsafe { (functions.mac_context)(mac) };
        if context.is_null() {
            return Ok(None);
        }
        let made = MacContext { functions, context };
        let parameters = [
            OsslParameter {
                key: c"digest".as_ptr(),
                kind: TEXT_PARAMETER,
                data: hash.as_ptr().cast_mut().cast(),
                size: hash.count_bytes(),
                return_size: UNMODIFIED,
            },
            OsslParameter {
                key: ptr::null(),
                kind: 0,
                data: ptr::null_mut(),
                size: 0,
                return_size: 0,
            },
        ];
        // SAFETY: key and parameters outlive the call, which copies them; a null key ends the parameters.
        let accepted =
            unsafe { (functions.mac_init)(context, key.as_ptr(), key.len(), parameters.as_ptr()) };
        done(accepted, "HMAC did not accept its key")?;
        Ok(Some(made))
    }

    /// Fills `out` with random bytes of the library's generator.
    ///
    /// # Errors
    /// If it has too little entropy.
    pub(super) fn fill_random(&self, out: &mut [u8]) -> Result<(), Failure> {
        let length = length(out)?;
        // SAFETY: the buffer has that length.
        done(unsafe { (self.functions.random)(out.as_mut_ptr(), length) }, "RAND_bytes failed")
    }

    /// PBKDF2 with HMAC of a hash function (RFC 8018).
    ///
    /// # Errors
    /// If the library refuses.
    pub(super) fn pbkdf2(
        &self,
        hash: &HashFunction,
        password: &[u8],
        salt: &[u8],
        rounds: u32,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        let rounds = c_int::try_from(rounds).map_err(|_| Failure("too many rounds".into()))?;
        let [password_length, salt_length] = [length(password)?, length(salt)?];
        let out_length = length(out)?;
        // SAFETY: each buffer has the length next to it.
        let derived = unsafe {
            (self.functions.pbkdf2)(
                password.as_ptr().cast(),
                password_length,
                salt.as_ptr(),
                salt_length,
                rounds,
                hash.digest,
                out_length,
                out.as_mut_ptr(),
            )
        };
        done(derived, "PBKDF2 failed")
    }

    /// scrypt (RFC 7914) with parallelisation 1.
    ///
    /// # Errors
    /// If the library refuses.
    pub(super) fn scrypt(
        &self,
        password: &[u8],
        salt: &[u8],
        n: u64,
        r: u64,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        // The library's limit is 32 MiB unless the caller gives one.
        let limit = 128 * r * (n + 64);
        // SAFETY: each buffer has the length next to it.
        let derived = unsafe {
            (self.functions.scrypt)(
                password.as_ptr().cast(),
                password.len(),
                salt.as_ptr(),
                salt.len(),
                n,
                r,
                1,
                limit,
                out.as_mut_ptr(),
                out.len(),
            )
        };
        done(derived, "scrypt failed")
    }

    /// Whether the library has Argon2id.
    pub(super) fn has_argon2id(&'static self) -> bool {
        argon2id::has_argon2id(&self.functions)
    }

    /// Argon2id (RFC 9106).
    ///
    /// # Errors
    /// If the library lacks it, or refuses the settings.
    pub(super) fn argon2id(
        &'static self,
        password: &[u8],
        salt: &[u8],
        settings: Argon2idSettings<'_>,
        out: &mut [u8],
    ) -> Result<(), Failure> {
        argon2id::argon2id(&self.functions, password, salt, settings, out)
    }

    /// A private key in PKCS#8.
    ///
    /// # Errors
    /// If it can't be read.
    pub(super) fn read_key(&'static self, der: &[u8]) -> Result<KeyPair, Failure> {
        let functions = &self.functions;
        let mut from = der.as_ptr();
        let length = c_long::try_from(der.len()).map_err(|_| Failure("a long key".into()))?;
        // SAFETY: the buffer has that length; null asks for a new key.
        let key = unsafe { (functions.read_key)(ptr::null_mut(), &raw mut from, length) };
        KeyPair::of(functions, key).ok_or_else(|| Failure("libcrypto can't read a key".into()))
    }

    /// A state in which messages are signed and signatures checked.
    ///
    /// # Errors
    /// If there is no memory.
    pub(super) fn sign_context(&'static self) -> Result<SignContext, Failure> {
        SignContext::new(&self.functions)
    }

    /// A generator of key pairs: an algorithm, and a group if it has several. None if the library lacks it.
    pub(super) fn generator(
        &'static self,
        algorithm: &CStr,
        group: Option<&CStr>,
    ) -> Option<KeyGenerator> {
        let functions = &self.functions;
        // SAFETY: the name ends with a zero byte; null means the defaults.
        let context = unsafe {
            (functions.key_context_by_name)(ptr::null_mut(), algorithm.as_ptr(), ptr::null())
        };
        let context = KeyContext::of(functions, context)?;
        // SAFETY: the context is alive.
        let mut ready = unsafe { (functions.generate_init)(context.context) };
        if let Some(group) = group {
            // SAFETY: the context is alive, and the name ends with a zero byte.
            ready = ready.min(unsafe { (functions.set_group)(context.context, group.as_ptr()) });
        }
        (ready == 1).then_some(KeyGenerator { context })
    }
}

fn open(path: &str) -> Result<Library, StartError> {
    if !path.is_empty() {
        // SAFETY: the user names a library to be loaded; its initialisers run.
        return unsafe { Library::new(path) }.map_err(|error| {
            StartError::unsupported(
                format!("`library={path}` can't be loaded: {error}"),
                "name the libcrypto.so.3 of an OpenSSL 3.0 or later",
            )
        });
    }
    // SAFETY: these names are OpenSSL's.
    let loaded = SONAMES.iter().find_map(|name| unsafe { Library::new(*name) }.ok());
    loaded.ok_or_else(|| {
        StartError::unsupported(
            "this system has no libcrypto of OpenSSL 3.0 or later",
            "apt install libssl3, or set `library=PATH`",
        )
    })
}
