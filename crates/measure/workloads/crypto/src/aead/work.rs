//! Messages that one key seals or opens repeatedly, and the proof that it did.

use std::hint::black_box;

use plumb_protocol::{Failure, SplitMix64};
use plumb_workload_kit::threads::Member;

use super::key::{AeadCipher, AeadKey, NONCE_BYTES, TAG_BYTES};

/// Witnesses that one batch keeps; later samples of a longer batch have none.
const MAX_WITNESSES: usize = 4096;

/// A key, its next nonce, and two messages that are sealed in place repeatedly.
///
/// A message that was sealed a million times in place can't be opened again unless a million tags
/// were kept. So the last message of each sample is another one, the *witness*: its few tags are kept,
/// and at the end it is opened back to the text it began with.
pub(super) struct MessageSealer<K> {
    key: K,
    associated: Vec<u8>,
    next_nonce: u64,
    message: Vec<u8>,
    witness: Vec<u8>,
    text: Vec<u8>,
    /// Nonce and tag of each time that the witness was sealed, in this order.
    seals: Vec<(u64, [u8; TAG_BYTES])>,
    /// Room for a message as it was opened and as it was sealed.
    halves: Vec<u8>,
}

impl<K: AeadKey> MessageSealer<K> {
    /// Random messages of `bytes` bytes with `associated` bytes of associated data.
    pub(super) fn new(key: K, bytes: usize, associated: usize, random: &mut SplitMix64) -> Self {
        let text = random_bytes(bytes, random);
        Self {
            key,
            associated: random_bytes(associated, random),
            next_nonce: 0,
            message: text.clone(),
            witness: text.clone(),
            halves: vec![0; 2 * bytes],
            text,
            seals: Vec::with_capacity(MAX_WITNESSES),
        }
    }
}

impl<K: AeadKey> Member for MessageSealer<K> {
    /// Seals `iterations` messages, the last of them as a witness.
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let witnessed = self.seals.len() < MAX_WITNESSES;
        for _ in 0..iterations - u64::from(witnessed) {
            self.key.seal(nonce(self.next_nonce), &self.associated, &mut self.message)?;
            self.next_nonce += 1;
        }
        if witnessed {
            self.key.seal(nonce(self.next_nonce), &self.associated, &mut self.witness)?;
            self.seals.push((self.next_nonce, self.key.tag()?));
            self.next_nonce += 1;
        }
        black_box(&mut self.message);
        Ok(())
    }

    /// Opens the witness as often as it was sealed and compares it with its first text.
    fn verify(&mut self) -> Result<(), Failure> {
        let middle = self.witness.len();
        // Backwards: what was sealed last comes off first.
        while let Some((number, tag)) = self.seals.pop() {
            self.halves[middle..].copy_from_slice(&self.witness);
            self.key.open(nonce(number), &self.associated, &tag, &mut self.halves)?;
            self.witness.copy_from_slice(&self.halves[..middle]);
        }
        if self.witness != self.text {
            let failure = "crypto.aead: an opened message differs from the sealed one";
            return Err(Failure(failure.into()));
        }
        Ok(())
    }
}

/// A sealed message that is opened repeatedly into another buffer.
pub(super) struct MessageOpener<K> {
    key: K,
    associated: Vec<u8>,
    text: Vec<u8>,
    tag: [u8; TAG_BYTES],
    /// The message as it was opened, then as it was sealed.
    halves: Vec<u8>,
}

impl<K: AeadKey> MessageOpener<K> {
    /// Seals a random message of `bytes` bytes.
    ///
    /// # Errors
    /// If the key can't seal it.
    pub(super) fn new(
        mut key: K,
        bytes: usize,
        associated: usize,
        random: &mut SplitMix64,
    ) -> Result<Self, Failure> {
        let text = random_bytes(bytes, random);
        let associated = random_bytes(associated, random);
        let mut halves = vec![0; bytes];
        halves.extend_from_slice(&text);
        key.seal(nonce(0), &associated, &mut halves[bytes..])?;
        let tag = key.tag()?;
        Ok(Self { key, associated, text, tag, halves })
    }
}

impl<K: AeadKey> Member for MessageOpener<K> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.key.open(nonce(0), &self.associated, &self.tag, &mut self.halves)?;
        }
        black_box(&mut self.halves);
        Ok(())
    }

    /// Compares the opened message with its text, and removes it, so that the next batch must open it again.
    fn verify(&mut self) -> Result<(), Failure> {
        let opened = &mut self.halves[..self.text.len()];
        if *opened != self.text {
            return Err(Failure("crypto.aead: an opened message differs from its text".into()));
        }
        opened.fill(0);
        Ok(())
    }
}

/// Seals and opens a published example: a wrong cipher that opens what it sealed would pass every other check.
///
/// # Errors
/// If the result is not the published one.
pub(super) fn check_known_answer<K: AeadKey>(
    known: &KnownAnswer,
    key: &mut K,
) -> Result<(), Failure> {
    let length = known.text.len();
    let mut halves = vec![0; length];
    halves.extend_from_slice(known.text);
    key.seal(known.nonce, known.associated, &mut halves[length..])?;
    if halves[length..] != *known.sealed || key.tag()? != known.tag {
        let cipher = known.cipher;
        let failure = format!("crypto.aead: {cipher:?} does not give the published test vector");
        return Err(Failure(failure));
    }
    key.open(known.nonce, known.associated, &known.tag, &mut halves)?;
    if halves[..length] != *known.text {
        return Err(Failure("crypto.aead: the published example can't be opened".into()));
    }
    Ok(())
}

fn random_bytes(count: usize, random: &mut SplitMix64) -> Vec<u8> {
    let mut bytes = vec![0; count];
    random.fill(&mut bytes);
    bytes
}

/// The number of the message as its nonce, so that none comes twice under one key.
fn nonce(number: u64) -> [u8; NONCE_BYTES] {
    let mut bytes = [0; NONCE_BYTES];
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// A published example.
pub(super) struct KnownAnswer {
    pub(super) cipher: AeadCipher,
    pub(super) key: &'static [u8],
    nonce: [u8; NONCE_BYTES],
    associated: &'static [u8],
    text: &'static [u8],
    sealed: &'static [u8],
    tag: [u8; TAG_BYTES],
}

/// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 2 and 14 (the ones that NIST
/// took over); RFC 8439 section 2.8.2, shortened nowhere.
pub(super) static KNOWN: [KnownAnswer; 3] = [
    KnownAnswer {
        cipher: AeadCipher::Aes128Gcm,
        key: &[0; 16],
        nonce: [0; 12],
        associated: &[],
        text: &[0; 16],
        sealed: b"\x03\x88\xda\xce\x60\xb6\xa3\x92\xf3\x28\xc2\xb9\x71\xb2\xfe\x78",
        tag: *b"\xab\x6e\x47\xd4\x2c\xec\x13\xbd\xf5\x3a\x67\xb2\x12\x57\xbd\xdf",
    },
    KnownAnswer {
        cipher: AeadCipher::Aes256Gcm,
        key: &[0; 32],
        nonce: [0; 12],
        associated: &[],
        text: &[0; 16],
        sealed: b"\xce\xa7\x40\x3d\x4d\x60\x6b\x6e\x07\x4e\xc5\xd3\xba\xf3\x9d\x18",
        tag: *b"\xd0\xd1\xc8\xa7\x99\x99\x6b\xf0\x26\x5b\x98\xb5\xd4\x8a\xb9\x19",
    },
    KnownAnswer {
        cipher: AeadCipher::ChaCha20Poly1305,
        key: b"\x80\x81\x82\x83\x84\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\
               \x90\x91\x92\x93\x94\x95\x96\x97\x98\x99\x9a\x9b\x9c\x9d\x9e\x9f",
        nonce: *b"\x07\x00\x00\x00\x40\x41\x42\x43\x44\x45\x46\x47",
        associated: b"\x50\x51\x52\x53\xc0\xc1\xc2\xc3\xc4\xc5\xc6\xc7",
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
    use plumb_protocol::SplitMix64;
    use plumb_workload_kit::threads::Member;

    use super::super::key::{AeadCipher, AeadKey, RingKey, RustCryptoKey, SystemKey};
    use super::{KNOWN, MessageOpener, MessageSealer, check_known_answer};
    use crate::libcrypto::Libcrypto;

    fn ring(cipher: AeadCipher) -> RingKey {
        RingKey::new(cipher, &vec![7; cipher.key_bytes()]).unwrap()
    }

    fn sealer(cipher: AeadCipher, bytes: usize) -> MessageSealer<RingKey> {
        MessageSealer::new(ring(cipher), bytes, 13, &mut SplitMix64::new(7))
    }

    #[test]
    fn every_provider_gives_the_published_answer() {
        let library = Libcrypto::load("", true).unwrap();
        for known in &KNOWN {
            let mut key = RingKey::new(known.cipher, known.key).unwrap();
            check_known_answer(known, &mut key).unwrap();
            for is_repeated in [false, true] {
                let key = SystemKey::new(library, known.cipher, known.key, is_repeated);
                check_known_answer(known, &mut key.unwrap()).unwrap();
            }
        }
        let [aes_128, aes_256, chacha] = &KNOWN;
        let mut key = RustCryptoKey::<aes_gcm::Aes128Gcm>::new(aes_128.key).unwrap();
        check_known_answer(aes_128, &mut key).unwrap();
        let mut key = RustCryptoKey::<aes_gcm::Aes256Gcm>::new(aes_256.key).unwrap();
        check_known_answer(aes_256, &mut key).unwrap();
        let key = RustCryptoKey::<chacha20poly1305::ChaCha20Poly1305>::new(chacha.key);
        check_known_answer(chacha, &mut key.unwrap()).unwrap();
    }

    #[test]
    fn a_witness_opens_to_its_text_batch_after_batch() {
        for known in &KNOWN {
            let mut sealer = sealer(known.cipher, 100);
            for _ in 0..3 {
                sealer.run(1).unwrap();
                sealer.run(40).unwrap();
                assert_ne!(sealer.witness, sealer.text);
                sealer.verify().unwrap();
            }
            assert_eq!(sealer.next_nonce, 123, "one nonce per message");
        }
    }

    #[test]
    fn a_damaged_message_is_found() {
        let mut damaged = sealer(AeadCipher::Aes128Gcm, 1000);
        damaged.run(2).unwrap();
        damaged.witness[999] ^= 1;
        assert_eq!(damaged.verify().unwrap_err().0, "crypto.aead: a message fails authentication");
        let mut changed = sealer(AeadCipher::Aes128Gcm, 1000);
        changed.run(2).unwrap();
        changed.text[0] ^= 1;
        assert!(changed.verify().unwrap_err().0.contains("differs from"));
    }

    #[test]
    fn an_opened_message_is_compared_and_its_tag_counts() {
        let mut random = SplitMix64::new(7);
        let mut opener =
            MessageOpener::new(ring(AeadCipher::Aes256Gcm), 100, 13, &mut random).unwrap();
        opener.run(3).unwrap();
        opener.verify().unwrap();
        assert!(opener.verify().is_err(), "a batch that opens nothing is found");
        opener.tag[0] ^= 1;
        assert!(opener.run(1).unwrap_err().0.contains("authentication"));
    }

    #[test]
    fn a_batch_longer_than_its_witnesses_is_still_checked() {
        let mut sealer = sealer(AeadCipher::Aes128Gcm, 16);
        for _ in 0..super::MAX_WITNESSES + 10 {
            sealer.run(1).unwrap();
        }
        assert_eq!(sealer.seals.len(), super::MAX_WITNESSES);
        assert_eq!(sealer.seals.capacity(), super::MAX_WITNESSES);
        sealer.verify().unwrap();
    }

    #[test]
    fn associated_data_is_authenticated() {
        let library = Libcrypto::load("", true).unwrap();
        let mut key = SystemKey::new(library, AeadCipher::Aes128Gcm, &[7; 16], false).unwrap();
        let mut halves = [0; 32];
        key.seal([0; 12], b"header", &mut halves[16..]).unwrap();
        let tag = key.tag().unwrap();
        key.open([0; 12], b"header", &tag, &mut halves).unwrap();
        assert!(key.open([0; 12], b"Header", &tag, &mut halves).is_err());
    }
}
