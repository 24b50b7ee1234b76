//! Ciphers, hash functions and message authentication codes of libcrypto.
#![expect(unsafe_code, reason = "libcrypto has a C interface")]

use std::ffi::{c_int, c_uchar};
use std::ptr;

use plumb_protocol::Failure;

use super::functions::{Functions, Opaque, done, length};

/// `EVP_CTRL_AEAD_SET_IVLEN` of openssl/evp.h.
const SET_NONCE_LENGTH: c_int = 0x9;
/// `EVP_CTRL_AEAD_GET_TAG` of openssl/evp.h.
const GET_TAG: c_int = 0x10;
/// `EVP_CTRL_AEAD_SET_TAG` of openssl/evp.h.
const SET_TAG: c_int = 0x11;

/// Whether a cipher encrypts or decrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Turns plaintext into ciphertext.
    Encrypt,
    /// Turns ciphertext into plaintext.
    Decrypt,
}

/// A cipher with its key, for one direction.
pub(crate) struct CipherContext {
    pub(super) functions: &'static Functions,
    pub(super) context: Opaque,
    pub(super) direction: Direction,
    /// Bytes of a nonce or tweak.
    pub(super) nonce_length: c_int,
    /// Bytes of a key.
    pub(super) key_length: c_int,
}

// SAFETY: OpenSSL's contexts may move between threads; only use by two threads at once is forbidden.
unsafe impl Send for CipherContext {}

type InitFunction =
    unsafe extern "C" fn(Opaque, Opaque, Opaque, *const c_uchar, *const c_uchar) -> c_int;
type UpdateFunction =
    unsafe extern "C" fn(Opaque, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int;

impl CipherContext {
    pub(super) fn init_function(&self) -> InitFunction {
        match self.direction {
            Direction::Encrypt => self.functions.encrypt_init,
            Direction::Decrypt => self.functions.decrypt_init,
        }
    }

    fn update_function(&self) -> UpdateFunction {
        match self.direction {
            Direction::Encrypt => self.functions.encrypt_update,
            Direction::Decrypt => self.functions.decrypt_update,
        }
    }

    /// Begins a message with this nonce or tweak.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn begin(&mut self, nonce: &[u8]) -> Result<(), Failure> {
        let init = self.init_function();
        let none = ptr::null_mut();
        if length(nonce)? != self.nonce_length {
            return Err(Failure(format!("libcrypto: a nonce of {} bytes", nonce.len())));
        }
        // SAFETY: the context has a cipher and a key; the nonce has the cipher's length.
        let begun = unsafe { init(self.context, none, none, ptr::null(), nonce.as_ptr()) };
        done(begun, "a nonce was refused")
    }

    /// Begins a message with this nonce, and with the key and the length of nonces once more, as `openssl speed` does.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn begin_with_key(&mut self, key: &[u8], nonce: &[u8]) -> Result<(), Failure> {
        let init = self.init_function();
        let none: Opaque = ptr::null_mut();
        if length(nonce)? != self.nonce_length || length(key)? != self.key_length {
            let lengths = (key.len(), nonce.len());
            return Err(Failure(format!("libcrypto: a key and a nonce of {lengths:?} bytes")));
        }
        // SAFETY: the context has an authenticated cipher, which takes this control, and no pointer is passed.
        let set = unsafe {
            (self.functions.cipher_control)(self.context, SET_NONCE_LENGTH, self.nonce_length, none)
        };
        done(set, "the length of nonces was refused")?;
        // SAFETY: the context has a cipher; key and nonce have the cipher's lengths.
        let begun = unsafe { init(self.context, none, none, key.as_ptr(), nonce.as_ptr()) };
        done(begun, "a key or a nonce was refused")
    }

    /// Adds associated data, which is authenticated only.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn authenticate(&mut self, data: &[u8]) -> Result<(), Failure> {
        let mut written = 0;
        let update = self.update_function();
        let length = length(data)?;
        // SAFETY: without an output, the data is associated data; the buffer has that length.
        let added = unsafe {
            update(self.context, ptr::null_mut(), &raw mut written, data.as_ptr(), length)
        };
        done(added, "associated data was refused")
    }

    /// Encrypts or decrypts in place.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn update_in_place(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        let mut written = 0;
        let update = self.update_function();
        let length = length(buffer)?;
        let data = buffer.as_mut_ptr();
        // SAFETY: EVP_EncryptInit(3) allows input and output to be the same; stream modes and XTS write as much as they
        // read.
        let updated = unsafe { update(self.context, data, &raw mut written, data, length) };
        done(updated, "a message was refused")
    }

    /// Encrypts or decrypts `from` into `to`, which has the same length.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn update(&mut self, from: &[u8], to: &mut [u8]) -> Result<(), Failure> {
        let mut written = 0;
        let update = self.update_function();
        let length = length(from)?;
        if from.len() != to.len() {
            return Err(Failure("two buffers differ in length".into()));
        }
        // SAFETY: both buffers have that length; stream modes write as much as they read.
        let updated = unsafe {
            update(self.context, to.as_mut_ptr(), &raw mut written, from.as_ptr(), length)
        };
        done(updated, "a message was refused")
    }

    /// Ends a message; when decrypting, checks its tag.
    ///
    /// # Errors
    /// If the tag is not the message's.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        let mut written = 0;
        let mut rest = [0; 32];
        let finish = match self.direction {
            Direction::Encrypt => self.functions.encrypt_final,
            Direction::Decrypt => self.functions.decrypt_final,
        };
        // SAFETY: stream modes write nothing here, others at most a block.
        let finished = unsafe { finish(self.context, rest.as_mut_ptr(), &raw mut written) };
        done(finished, "a message fails authentication")
    }

    /// The tag of the message that ended.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn tag(&mut self) -> Result<[u8; 16], Failure> {
        let mut tag = [0; 16];
        // SAFETY: the buffer has 16 bytes.
        let got = unsafe {
            (self.functions.cipher_control)(self.context, GET_TAG, 16, tag.as_mut_ptr().cast())
        };
        done(got, "a message has no tag")?;
        Ok(tag)
    }

    /// The tag that the message must have.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn expect_tag(&mut self, tag: &[u8; 16]) -> Result<(), Failure> {
        let data = tag.as_ptr().cast_mut().cast();
        // SAFETY: the library only reads the 16 bytes.
        let set = unsafe { (self.functions.cipher_control)(self.context, SET_TAG, 16, data) };
        done(set, "a tag was refused")
    }
}

impl Drop for CipherContext {
    fn drop(&mut self) {
        // SAFETY: nobody else has the context.
        unsafe { (self.functions.cipher_context_free)(self.context) };
    }
}

/// A hash function of the library.
pub(crate) struct HashFunction {
    pub(super) functions: &'static Functions,
    pub(super) digest: Opaque,
}

// SAFETY: a fetched EVP_MD is constant.
unsafe impl Send for HashFunction {}

impl HashFunction {
    /// Hashes a message as `openssl speed` does, in one call.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn hash(&mut self, message: &[u8], out: &mut [u8; 64]) -> Result<(), Failure> {
        let mut written = 0;
        // SAFETY: no digest is longer than 64 bytes (EVP_MAX_MD_SIZE).
        let hashed = unsafe {
            (self.functions.digest)(
                message.as_ptr().cast(),
                message.len(),
                out.as_mut_ptr(),
                &raw mut written,
                self.digest,
                ptr::null_mut(),
            )
        };
        done(hashed, "a message could not be hashed")
    }
}

/// A keyed message authentication code.
pub(crate) struct MacContext {
    pub(super) functions: &'static Functions,
    pub(super) context: Opaque,
}

// SAFETY: as for `CipherContext`.
unsafe impl Send for MacContext {}

impl MacContext {
    /// Authenticates a message with the key that the context has.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn authenticate(
        &mut self,
        message: &[u8],
        out: &mut [u8; 64],
    ) -> Result<(), Failure> {
        let functions = self.functions;
        let failure = "a message could not be authenticated";
        // SAFETY: a null key means the key of the context.
        let begun = unsafe { (functions.mac_init)(self.context, ptr::null(), 0, ptr::null()) };
        done(begun, failure)?;
        // SAFETY: the message has the length next to it.
        let added =
            unsafe { (functions.mac_update)(self.context, message.as_ptr(), message.len()) };
        done(added, failure)?;
        let mut written = 0;
        // SAFETY: the buffer has the length next to it.
        let ended = unsafe {
            (functions.mac_final)(self.context, out.as_mut_ptr(), &raw mut written, out.len())
        };
        done(ended, failure)
    }
}

impl Drop for MacContext {
    fn drop(&mut self) {
        // SAFETY: nobody else has the context.
        unsafe { (self.functions.mac_context_free)(self.context) };
    }
}
