//! One key that seals message after message, and the proof that it did.

use plumb_protocol::{Failure, SplitMix64};
use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, Algorithm, CHACHA20_POLY1305, LessSafeKey, Nonce, Tag,
    UnboundKey,
};

/// Witnesses that one batch keeps; later samples of a longer batch have none.
const MAX_WITNESSES: usize = 4096;

/// The cipher of this name.
pub(super) fn cipher(name: &str) -> Option<&'static Algorithm> {
    match name {
        "aes-128-gcm" => Some(&AES_128_GCM),
        "aes-256-gcm" => Some(&AES_256_GCM),
        "chacha20-poly1305" => Some(&CHACHA20_POLY1305),
        _ => None,
    }
}

/// A key, its next nonce, and two messages that are sealed in place repeatedly.
///
/// Nobody can open a message that was sealed a million times in place, unless a million tags were
/// kept. So the last message of each sample is another one, the *witness*: its few tags are kept,
/// and at the end it is opened back to the text it began with.
pub(super) struct Sealer {
    key: LessSafeKey,
    next_nonce: u64,
    message: Vec<u8>,
    witness: Vec<u8>,
    text: Vec<u8>,
    /// Nonce and tag of each time that the witness was sealed, in this order.
    seals: Vec<(u64, Tag)>,
}

impl Sealer {
    /// A random key and random messages of `bytes` bytes.
    pub(super) fn new(
        cipher: &'static Algorithm,
        bytes: usize,
        seed: u64,
    ) -> Result<Self, Failure> {
        let mut random = SplitMix64::new(seed);
        let mut key = vec![0; cipher.key_len()];
        random.fill(&mut key);
        let mut text = vec![0; bytes];
        random.fill(&mut text);
        Ok(Self {
            key: new_key(cipher, &key)?,
            next_nonce: 0,
            message: text.clone(),
            witness: text.clone(),
            text,
            seals: Vec::with_capacity(MAX_WITNESSES),
        })
    }

    /// Seals `iterations` messages, the last of them as a witness.
    pub(super) fn seal(&mut self, iterations: u64) -> Result<(), Failure> {
        let witnessed = self.seals.len() < MAX_WITNESSES;
        for _ in 0..iterations - u64::from(witnessed) {
            let tag = seal_in_place(&self.key, self.next_nonce, &mut self.message)?;
            // Nobody reads this tag: without the black box its computation could be left out.
            let _seen = std::hint::black_box(tag);
            self.next_nonce += 1;
        }
        if witnessed {
            let tag = seal_in_place(&self.key, self.next_nonce, &mut self.witness)?;
            self.seals.push((self.next_nonce, tag));
            self.next_nonce += 1;
        }
        std::hint::black_box(&mut self.message);
        Ok(())
    }

    /// Opens the witness as often as it was sealed and compares it with its first text.
    pub(super) fn check(&mut self) -> Result<(), Failure> {
        // Backwards: what was sealed last comes off first.
        while let Some((number, tag)) = self.seals.pop() {
            self.key
                .open_in_place_separate_tag(
                    nonce(number),
                    Aad::empty(),
                    tag,
                    &mut self.witness,
                    0..,
                )
                .map_err(|_| {
                    Failure(format!("crypto.aead: message {number} fails authentication"))
                })?;
        }
        if self.witness == self.text {
            return Ok(());
        }
        Err(Failure("crypto.aead: an opened message differs from the sealed one".into()))
    }
}

/// Seals a published example and compares the result with the published one: a wrong cipher that
/// opens what it sealed would pass every other check.
pub(super) fn check_known_answer(cipher: &'static Algorithm) -> Result<(), Failure> {
    let known = KNOWN
        .iter()
        .find(|known| known.cipher == cipher)
        .ok_or_else(|| Failure(format!("no test vector for {cipher:?}")))?;
    let key = new_key(cipher, known.key)?;
    let mut text = known.text.to_vec();
    let nonce = Nonce::assume_unique_for_key(known.nonce);
    let tag = key
        .seal_in_place_separate_tag(nonce, Aad::from(known.aad), &mut text)
        .map_err(|_| Failure("crypto.aead: the test vector could not be sealed".into()))?;
    if text == known.sealed && tag.as_ref() == known.tag {
        return Ok(());
    }
    Err(Failure(format!("crypto.aead: {cipher:?} does not reproduce the published test vector")))
}

fn new_key(cipher: &'static Algorithm, key: &[u8]) -> Result<LessSafeKey, Failure> {
    let key = UnboundKey::new(cipher, key)
        .map_err(|_| Failure(format!("{cipher:?} does not accept a key of {} bytes", key.len())))?;
    Ok(LessSafeKey::new(key))
}

fn seal_in_place(key: &LessSafeKey, number: u64, message: &mut [u8]) -> Result<Tag, Failure> {
    key.seal_in_place_separate_tag(nonce(number), Aad::empty(), message)
        .map_err(|_| Failure(format!("crypto.aead: message {number} could not be sealed")))
}

/// The number of the message as its nonce, so that none comes twice under one key.
fn nonce(number: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// A published example.
struct KnownAnswer {
    cipher: &'static Algorithm,
    key: &'static [u8],
    nonce: [u8; 12],
    aad: &'static [u8],
    text: &'static [u8],
    sealed: &'static [u8],
    tag: [u8; 16],
}

/// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 2 and 14 (the ones that NIST
/// took over); RFC 8439 section 2.8.2, shortened nowhere.
static KNOWN: [KnownAnswer; 3] = [
    KnownAnswer {
        cipher: &AES_128_GCM,
        key: &[0; 16],
        nonce: [0; 12],
        aad: &[],
        text: &[0; 16],
        sealed: b"\x03\x88\xda\xce\x60\xb6\xa3\x92\xf3\x28\xc2\xb9\x71\xb2\xfe\x78",
        tag: *b"\xab\x6e\x47\xd4\x2c\xec\x13\xbd\xf5\x3a\x67\xb2\x12\x57\xbd\xdf",
    },
    KnownAnswer {
        cipher: &AES_256_GCM,
        key: &[0; 32],
        nonce: [0; 12],
        aad: &[],
        text: &[0; 16],
        sealed: b"\xce\xa7\x40\x3d\x4d\x60\x6b\x6e\x07\x4e\xc5\xd3\xba\xf3\x9d\x18",
        tag: *b"\xd0\xd1\xc8\xa7\x99\x99\x6b\xf0\x26\x5b\x98\xb5\xd4\x8a\xb9\x19",
    },
    KnownAnswer {
        cipher: &CHACHA20_POLY1305,
        key: b"\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\
               \x90\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9a\x9b\x9c\x9d\x9e\x9f",
        nonce: *b"\x07\x00\x00\x00\x40\x41\x42\x43\x44\x45\x46\x47",
        aad: b"\x50\x51\x52\x53\xc0\xc1\xc2\xc3\xc4\xc5\xc6\xc7",
        text: b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for \
                the future, sunscreen would be it.",
        sealed: b"\xd3\x1a\x8d\x34\x64\x8e\x60\xdb\x7b\x86\xaf\xbc\x53\xef\x7e\xc2\
                  \xa4\xad\xed\x51\x29\x6e\x08\xfe\xa9\xe2\xb5\xa7\x36\xee\x62\xd6\
                  \x3d\xbe\xa4\x5e\x8c\xa9\x67\x12\x82\xfa\xfb\x69\xda\x92\x72\x8b\
                  \x1a\x71\xde\x0a\x9e\x06\x0b\x29\x05\xd6\xa5\xb6\x7e\xcd\x3b\x36\
                  \x92\xdd\xbd\x7f\x2d\x77\x8b\x8c\x98\x03\xae\xe3\x28\x09\x1b\x58\
                  \xfa\xb3\x24\xe4\xfa\xd6\x75\x94\x55\x85\x80\x8b\x48\x31\xd7\xbc\
                  \x3f\xf4\xde\xf0\x8e\x4b\x7a\x9d\xe5\x76\xd2\x65\x86\xce\xc6\x4b\
                  \x61\x16",
        tag: *b"\x1a\xe1\x0b\x59\x4f\x09\xe2\x6a\x7e\x90\x2e\xcb\xd0\x60\x06\x91",
    },
];

#[cfg(test)]
mod tests {
    use super::{KNOWN, Sealer, check_known_answer};

    #[test]
    fn every_cipher_gives_the_published_answer() {
        for known in &KNOWN {
            check_known_answer(known.cipher).unwrap();
        }
    }

    #[test]
    fn a_witness_opens_to_its_text_batch_after_batch() {
        for known in &KNOWN {
            let mut sealer = Sealer::new(known.cipher, 100, 7).unwrap();
            for _ in 0..3 {
                sealer.seal(1).unwrap();
                sealer.seal(40).unwrap();
                assert_ne!(sealer.witness, sealer.text);
                sealer.check().unwrap();
            }
            assert_eq!(sealer.next_nonce, 123, "one nonce a message");
        }
    }

    #[test]
    fn a_damaged_message_is_found() {
        let mut sealer = Sealer::new(KNOWN[0].cipher, 1000, 7).unwrap();
        sealer.seal(2).unwrap();
        sealer.witness[999] ^= 1;
        let failure = sealer.check().unwrap_err();
        assert_eq!(failure.0, "crypto.aead: message 1 fails authentication");
        let mut sealer = Sealer::new(KNOWN[0].cipher, 1000, 7).unwrap();
        sealer.seal(2).unwrap();
        sealer.text[0] ^= 1;
        assert!(sealer.check().unwrap_err().0.contains("differs from"));
    }

    #[test]
    fn a_batch_longer_than_its_witnesses_is_still_checked() {
        let mut sealer = Sealer::new(KNOWN[0].cipher, 16, 7).unwrap();
        for _ in 0..super::MAX_WITNESSES + 10 {
            sealer.seal(1).unwrap();
        }
        assert_eq!(sealer.seals.len(), super::MAX_WITNESSES);
        assert_eq!(sealer.seals.capacity(), super::MAX_WITNESSES);
        sealer.check().unwrap();
    }
}
