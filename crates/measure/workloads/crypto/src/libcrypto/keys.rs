//! Keys of libcrypto: signatures, agreements, encapsulations.
#![expect(unsafe_code, reason = "libcrypto has a C interface")]

use std::ptr;

use plumb_protocol::Failure;

use super::functions::{Functions, Opaque, done};
use super::primitives::HashFunction;

/// A private key with its public key.
pub(crate) struct KeyPair {
    pub(super) functions: &'static Functions,
    pub(super) key: Opaque,
}

// SAFETY: as for `CipherContext`.
unsafe impl Send for KeyPair {}

impl KeyPair {
    pub(super) fn of(functions: &'static Functions, key: Opaque) -> Option<Self> {
        (!key.is_null()).then_some(Self { functions, key })
    }

    /// Signs a message, hashed with `hash` if the algorithm needs it; the length of the signature.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn sign(
        &self,
        context: &SignContext,
        hash: Option<&HashFunction>,
        message: &[u8],
        signature: &mut [u8],
    ) -> Result<usize, Failure> {
        let functions = self.functions;
        let digest = hash.map_or(ptr::null_mut(), |hash| hash.digest);
        let mut length = signature.len();
        let none: Opaque = ptr::null_mut();
        let failure = "a message could not be signed";
        // SAFETY: all objects are alive; null means no copy of the context and no engine.
        let begun =
            unsafe { (functions.sign_init)(context.context, none.cast(), digest, none, self.key) };
        done(begun, failure)?;
        // SAFETY: the library writes at most `length` bytes and stores how many.
        let signed = unsafe {
            (functions.sign)(
                context.context,
                signature.as_mut_ptr(),
                &raw mut length,
                message.as_ptr(),
                message.len(),
            )
        };
        done(signed, failure)?;
        Ok(length)
    }

    /// Checks a signature.
    ///
    /// # Errors
    /// If it is not the message's.
    pub(crate) fn verify(
        &self,
        context: &SignContext,
        hash: Option<&HashFunction>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), Failure> {
        let functions = self.functions;
        let digest = hash.map_or(ptr::null_mut(), |hash| hash.digest);
        let none: Opaque = ptr::null_mut();
        // SAFETY: as in `sign`.
        let begun = unsafe {
            (functions.verify_init)(context.context, none.cast(), digest, none, self.key)
        };
        done(begun, "a signature could not be verified")?;
        // SAFETY: the buffers have the lengths next to them.
        let good = unsafe {
            (functions.verify)(
                context.context,
                signature.as_ptr(),
                signature.len(),
                message.as_ptr(),
                message.len(),
            )
        };
        // A negative result is an error, too.
        done(good, "a signature is not the message's")
    }

    /// The secret that this key shares with the public key of `peer`; its length.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn derive(&self, peer: &Self, secret: &mut [u8]) -> Result<usize, Failure> {
        let context = self.context()?;
        let functions = self.functions;
        let failure = "two keys could not agree";
        // SAFETY: the context is alive.
        done(unsafe { (functions.derive_init)(context.context) }, failure)?;
        // SAFETY: context and key are alive.
        done(unsafe { (functions.derive_peer)(context.context, peer.key) }, failure)?;
        let mut length = secret.len();
        // SAFETY: the library writes at most `length` bytes and stores how many.
        let derived =
            unsafe { (functions.derive)(context.context, secret.as_mut_ptr(), &raw mut length) };
        done(derived, failure)?;
        Ok(length)
    }

    /// Encapsulates a fresh secret for this public key; the length of the encapsulation.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn encapsulate(
        &self,
        wrapped: &mut [u8],
        secret: &mut [u8],
    ) -> Result<usize, Failure> {
        let context = self.context()?;
        let functions = self.functions;
        let failure = "a secret could not be encapsulated";
        // SAFETY: the context is alive; null means no parameters.
        let begun = unsafe { (functions.encapsulate_init)(context.context, ptr::null()) };
        done(begun, failure)?;
        let mut wrapped_length = wrapped.len();
        let mut length = secret.len();
        // SAFETY: the library writes at most the given lengths and stores how many.
        let made = unsafe {
            (functions.encapsulate)(
                context.context,
                wrapped.as_mut_ptr(),
                &raw mut wrapped_length,
                secret.as_mut_ptr(),
                &raw mut length,
            )
        };
        done(made, failure)?;
        Ok(wrapped_length)
    }

    /// The secret of an encapsulation; its length.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn decapsulate(&self, wrapped: &[u8], secret: &mut [u8]) -> Result<usize, Failure> {
        let context = self.context()?;
        let functions = self.functions;
        let failure = "a secret could not be decapsulated";
        // SAFETY: the context is alive; null means no parameters.
        let begun = unsafe { (functions.decapsulate_init)(context.context, ptr::null()) };
        done(begun, failure)?;
        let mut length = secret.len();
        // SAFETY: as in `encapsulate`.
        let opened = unsafe {
            (functions.decapsulate)(
                context.context,
                secret.as_mut_ptr(),
                &raw mut length,
                wrapped.as_ptr(),
                wrapped.len(),
            )
        };
        done(opened, failure)?;
        Ok(length)
    }

    fn context(&self) -> Result<KeyContext, Failure> {
        // SAFETY: the key is alive; null means no engine.
        let context = unsafe { (self.functions.key_context)(self.key, ptr::null_mut()) };
        KeyContext::of(self.functions, context)
            .ok_or_else(|| Failure("libcrypto has no memory for a key".into()))
    }
}

impl Drop for KeyPair {
    fn drop(&mut self) {
        // SAFETY: nobody else has the key.
        unsafe { (self.functions.key_free)(self.key) };
    }
}

/// The state of an operation with a key.
pub(super) struct KeyContext {
    pub(super) functions: &'static Functions,
    pub(super) context: Opaque,
}

// SAFETY: as for `CipherContext`.
unsafe impl Send for KeyContext {}

impl KeyContext {
    pub(super) fn of(functions: &'static Functions, context: Opaque) -> Option<Self> {
        (!context.is_null()).then_some(Self { functions, context })
    }
}

impl Drop for KeyContext {
    fn drop(&mut self) {
        // SAFETY: nobody else has the context.
        unsafe { (self.functions.key_context_free)(self.context) };
    }
}

/// Makes key pairs of one algorithm.
pub(crate) struct KeyGenerator {
    pub(super) context: KeyContext,
}

impl KeyGenerator {
    /// A new key pair.
    ///
    /// # Errors
    /// If the library refuses.
    pub(crate) fn generate(&mut self) -> Result<KeyPair, Failure> {
        let functions = self.context.functions;
        let mut key = ptr::null_mut();
        // SAFETY: the context is ready to generate; a null pointer asks for a new key.
        let made = unsafe { (functions.generate)(self.context.context, &raw mut key) };
        done(made, "a key could not be generated")?;
        KeyPair::of(functions, key).ok_or_else(|| Failure("libcrypto made no key".into()))
    }
}

/// The state in which messages are signed and signatures checked.
pub(crate) struct SignContext {
    pub(super) functions: &'static Functions,
    pub(super) context: Opaque,
}

// SAFETY: as for `CipherContext`.
unsafe impl Send for SignContext {}

impl SignContext {
    /// A new state.
    ///
    /// # Errors
    /// If there is no memory.
    pub(super) fn new(functions: &'static Functions) -> Result<Self, Failure> {
        // SAFETY: takes nothing.
        let context = unsafe { (functions.digest_context)() };
        if context.is_null() {
            return Err(Failure("libcrypto has no memory for a signature".into()));
        }
        Ok(Self { functions, context })
    }
}

impl Drop for SignContext {
    fn drop(&mut self) {
        // SAFETY: nobody else has the context.
        unsafe { (self.functions.digest_context_free)(self.context) };
    }
}
