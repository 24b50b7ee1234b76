//! A key of an authenticated cipher, computed with by each provider.

use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::{AeadInOut, Nonce as AeadNonce, Tag as AeadTag};
use aes_gcm::{KeyInit, aead::consts::U12, aead::consts::U16};
use plumb_protocol::{Failure, StartError};
use ring::aead::{AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey};
use ring::aead::{Nonce, Tag, UnboundKey};

use crate::libcrypto::{CipherContext, Direction, Libcrypto};
use crate::provider::Provider;

/// Bytes of a nonce.
pub(super) const NONCE_BYTES: usize = 12;
/// Bytes of a tag.
pub(super) const TAG_BYTES: usize = 16;

/// An authenticated cipher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AeadCipher {
    /// AES-128 in Galois/counter mode.
    Aes128Gcm,
    /// AES-256 in Galois/counter mode.
    Aes256Gcm,
    /// The stream cipher ChaCha20 with Poly1305 (RFC 8439).
    ChaCha20Poly1305,
}

impl AeadCipher {
    /// The cipher that the parameter `cipher` names.
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "aes-128-gcm" => Some(Self::Aes128Gcm),
            "aes-256-gcm" => Some(Self::Aes256Gcm),
            "chacha20-poly1305" => Some(Self::ChaCha20Poly1305),
            _ => None,
        }
    }

    /// Bytes of a key.
    pub(super) fn key_bytes(self) -> usize {
        match self {
            Self::Aes128Gcm => 16,
            Self::Aes256Gcm | Self::ChaCha20Poly1305 => 32,
        }
    }
}

/// A key that seals and opens messages.
pub(super) trait AeadKey: Send + 'static {
    /// Encrypts a message in place and keeps its tag.
    fn seal(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        associated: &[u8],
        message: &mut [u8],
    ) -> Result<(), Failure>;

    /// The tag of the message that was sealed last.
    fn tag(&mut self) -> Result<[u8; TAG_BYTES], Failure>;

    /// Authenticates the second half of `halves` and decrypts it into the first.
    fn open(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        associated: &[u8],
        tag: &[u8; TAG_BYTES],
        halves: &mut [u8],
    ) -> Result<(), Failure>;
}

/// A key of ring.
pub(super) struct RingKey {
    key: LessSafeKey,
    tag: [u8; TAG_BYTES],
}

impl RingKey {
    pub(super) fn new(cipher: AeadCipher, key: &[u8]) -> Result<Self, StartError> {
        let algorithm: &'static Algorithm = match cipher {
            AeadCipher::Aes128Gcm => &AES_128_GCM,
            AeadCipher::Aes256Gcm => &AES_256_GCM,
            AeadCipher::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        };
        let key = UnboundKey::new(algorithm, key)
            .map_err(|_| Failure(format!("ring refuses a key of {} bytes", key.len())))?;
        Ok(Self { key: LessSafeKey::new(key), tag: [0; TAG_BYTES] })
    }
}

impl AeadKey for RingKey {
    fn seal(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        associated: &[u8],
        message: &mut [u8],
    ) -> Result<(), Failure> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(associated), message)
            .map_err(|_| not_sealed())?;
        self.tag.copy_from_slice(tag.as_ref());
        Ok(())
    }

    fn tag(&mut self) -> Result<[u8; TAG_BYTES], Failure> {
        Ok(self.tag)
    }

    fn open(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        associated: &[u8],
        tag: &[u8; TAG_BYTES],
        halves: &mut [u8],
    ) -> Result<(), Failure> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let middle = halves.len() / 2;
        // ring writes the plaintext to the start of the buffer, whichever part of it is the ciphertext.
        self.key
            .open_in_place_separate_tag(
                nonce,
                Aad::from(associated),
                Tag::from(*tag),
                halves,
                middle..,
            )
            .map_err(|_| not_authentic())?;
        Ok(())
    }
}

/// A key of a RustCrypto cipher.
pub(super) struct RustCryptoKey<C> {
    cipher: C,
    tag: [u8; TAG_BYTES],
}

impl<C: KeyInit> RustCryptoKey<C> {
    pub(super) fn new(key: &[u8]) -> Result<Self, StartError> {
        let cipher = C::new_from_slice(key)
            .map_err(|_| Failure(format!("RustCrypto refuses a key of {} bytes", key.len())))?;
        Ok(Self { cipher, tag: [0; TAG_BYTES] })
    }
}

impl<C> AeadKey for RustCryptoKey<C>
where
    C: AeadInOut<NonceSize = U12, TagSize = U16> + Send + 'static,
{
    fn seal(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        associated: &[u8],
        message: &mut [u8],
    ) -> Result<(), Failure> {
        let nonce = AeadNonce::<C>::from(nonce);
        let tag = self
            .cipher
            .encrypt_inout_detached(&nonce, associated, message.into())
            .map_err(|_| not_sealed())?;
        self.tag.copy_from_slice(&tag);
        Ok(())
    }

    fn tag(&mut self) -> Result<[u8; TAG_BYTES], Failure> {
        Ok(self.tag)
    }

    fn open(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        associated: &[u8],
        tag: &[u8; TAG_BYTES],
        halves: &mut [u8],
    ) -> Result<(), Failure> {
        let nonce = AeadNonce::<C>::from(nonce);
        let tag = AeadTag::<C>::from(*tag);
        let (opened, sealed) = halves.split_at_mut(halves.len() / 2);
        let buffer = InOutBuf::new(sealed, opened).map_err(|_| not_authentic())?;
        self.cipher
            .decrypt_inout_detached(&nonce, associated, buffer, &tag)
            .map_err(|_| not_authentic())
    }
}

/// A key of libcrypto, with a state for each direction.
pub(super) struct SystemKey {
    sealing: CipherContext,
    opening: CipherContext,
    /// The key, if it is set with each message.
    repeated: Option<Vec<u8>>,
}

impl SystemKey {
    /// A key of a cipher, which is set once, or with each message that is sealed.
    pub(super) fn new(
        library: &'static Libcrypto,
        cipher: AeadCipher,
        key: &[u8],
        is_repeated: bool,
    ) -> Result<Self, StartError> {
        let name = match cipher {
            AeadCipher::Aes128Gcm => c"AES-128-GCM",
            AeadCipher::Aes256Gcm => c"AES-256-GCM",
            AeadCipher::ChaCha20Poly1305 => c"ChaCha20-Poly1305",
        };
        let context = |direction| {
            library.cipher(name, direction, key)?.ok_or_else(|| {
                Provider::System(library).lacks(&name.to_string_lossy(), "`provider=ring`")
            })
        };
        Ok(Self {
            sealing: context(Direction::Encrypt)?,
            opening: context(Direction::Decrypt)?,
            repeated: is_repeated.then(|| key.to_vec()),
        })
    }
}

impl AeadKey for SystemKey {
    fn seal(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        associated: &[u8],
        message: &mut [u8],
    ) -> Result<(), Failure> {
        match &self.repeated {
            Some(key) => self.sealing.begin_with_key(key, &nonce)?,
            None => self.sealing.begin(&nonce)?,
        }
        if !associated.is_empty() {
            self.sealing.authenticate(associated)?;
        }
        self.sealing.update_in_place(message)?;
        self.sealing.finish()
    }

    fn tag(&mut self) -> Result<[u8; TAG_BYTES], Failure> {
        self.sealing.tag()
    }

    fn open(
        &mut self,
        nonce: [u8; NONCE_BYTES],
        associated: &[u8],
        tag: &[u8; TAG_BYTES],
        halves: &mut [u8],
    ) -> Result<(), Failure> {
        let (opened, sealed) = halves.split_at_mut(halves.len() / 2);
        self.opening.begin(&nonce)?;
        self.opening.expect_tag(tag)?;
        if !associated.is_empty() {
            self.opening.authenticate(associated)?;
        }
        self.opening.update(sealed, opened)?;
        self.opening.finish()
    }
}

fn not_sealed() -> Failure {
    Failure("crypto.aead: a message could not be sealed".into())
}

fn not_authentic() -> Failure {
    Failure("crypto.aead: a message fails authentication".into())
}
