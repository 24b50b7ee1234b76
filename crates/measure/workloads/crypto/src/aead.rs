//! `crypto.aead`: authenticated encryption of messages of one size, bytes sealed or opened per second.

use aes_gcm::{Aes128Gcm, Aes256Gcm};
use chacha20poly1305::ChaCha20Poly1305;
use plumb_model::{AuditClass, CurveKind, Description, Ready};
use plumb_protocol::{Failure, SplitMix64, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::Member;

use crate::batches::started;
use crate::provider::{Provider, acceleration, parameters};
use crate::speed::{self, SpeedTest};

mod key;
mod work;

use key::{AeadCipher, AeadKey, RingKey, RustCryptoKey, SystemKey};
use work::{KNOWN, MessageOpener, MessageSealer, check_known_answer};

/// Smallest and largest message, in bytes.
const SIZES: std::ops::RangeInclusive<u64> = 16..=1 << 20;

/// Bytes of associated data that `openssl speed -aead` has.
const SPEED_ASSOCIATED: usize = 13;

/// The workload `crypto.aead`: its parameters and metrics, and how it starts.
pub(super) struct Aead;

impl Workload for Aead {
    fn describe(&self) -> Description {
        let mut all = vec![
            declare::choice(
                "cipher",
                &["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"],
                "authenticated cipher",
            ),
            declare::curve(
                CurveKind::Line,
                declare::bytes(
                    "bytes",
                    16 << 10,
                    "plaintext size of a message, from 16 B to 1 MiB",
                ),
            ),
            declare::choice("direction", &["seal", "open"], "encrypt or decrypt"),
            declare::between(
                0,
                1 << 16,
                declare::bytes("aad", 0, "associated data per message, authenticated only"),
            ),
            declare::choice(
                "rekey",
                &["no", "yes"],
                "yes: set key and nonce length again with each message, as openssl speed does (provider=system, seal)",
            ),
            declare::threads("threads, each with a separate key"),
            placement(),
        ];
        all.extend(parameters(&["ring", "rustcrypto", "system"]));
        all.push(acceleration());
        declare::scaling(Description {
            parameters: all,
            ceiling: Some("provider".into()),
            metrics: vec![
                declare::rate(
                    "throughput",
                    "B/s",
                    "bytes of plaintext per second, without tags, all threads together",
                ),
                declare::rate("operations", "ops/s", "messages per second, all threads together"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("crypto.aead", "encrypts messages with authenticated encryption")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("aead.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let bytes = start.integer("bytes");
        if !SIZES.contains(&bytes) {
            return Err(StartError::unsupported(
                format!("bytes={bytes} is outside the allowed range"),
                format!("set `bytes` between {} and {}", SIZES.start(), SIZES.end()),
            ));
        }
        let work = AeadWork::of(start)?;
        let is_stream = work.cipher == AeadCipher::ChaCha20Poly1305;
        if is_stream && start.text("acceleration") == "off" {
            return Err(StartError::unsupported(
                "ChaCha20-Poly1305 does not use the instructions that `acceleration=off` switches off",
                "set `cipher=aes-128-gcm`",
            ));
        }
        let amounts = [("throughput", bytes), ("operations", 1)];
        if speed::is_needed(start) {
            return speed::started(start, &amounts, speed_test(start)?);
        }
        let provider = Provider::of(start)?;
        if work.rekeys && (work.opens || !matches!(provider, Provider::System(_))) {
            return Err(StartError::unsupported(
                "only sealing by libcrypto can set the key with each message",
                "set `rekey=no`, or `provider=system` and `direction=seal`",
            ));
        }
        let mut ready = Ready::default();
        let crate_name = match work.cipher {
            AeadCipher::ChaCha20Poly1305 => "chacha20poly1305",
            AeadCipher::Aes128Gcm | AeadCipher::Aes256Gcm => "aes-gcm",
        };
        provider.describe(&[crate_name], &start.facts, &mut ready);
        started(start, provider, ready, &amounts, move |provider, thread| {
            work.member(provider, thread)
        })
    }
}

/// The test of `openssl speed`, which sets the key with each message of AES-GCM.
///
/// # Errors
/// Unsupported if it has no such test.
pub(super) fn speed_test(start: &Start) -> Result<SpeedTest, StartError> {
    let work = AeadWork::of(start)?;
    if work.opens {
        return Err(speed::lacks("test that opens messages"));
    }
    let mut options = vec!["-evp", start.text("cipher")];
    match work.associated {
        0 => {}
        SPEED_ASSOCIATED => options.push("-aead"),
        _ => {
            return Err(speed::lacks(
                "test with associated data of this size, only with 0 or 13 bytes",
            ));
        }
    }
    Ok(SpeedTest::of_messages(start, &options))
}

/// The work of each thread.
#[derive(Clone, Copy)]
struct AeadWork {
    cipher: AeadCipher,
    opens: bool,
    bytes: usize,
    associated: usize,
    /// Whether the key is set with each message.
    rekeys: bool,
    seed: u64,
}

impl AeadWork {
    fn of(start: &Start) -> Result<Self, StartError> {
        let name = start.text("cipher");
        let cipher = AeadCipher::named(name)
            .ok_or_else(|| StartError::Failed(format!("unknown cipher `{name}`")))?;
        Ok(Self {
            cipher,
            opens: start.text("direction") == "open",
            bytes: start.size("bytes"),
            associated: start.size("aad"),
            rekeys: start.text("rekey") == "yes",
            seed: start.seed,
        })
    }

    fn member(&self, provider: Provider, thread: usize) -> Result<Box<dyn Member>, StartError> {
        match (provider, self.cipher) {
            (Provider::Ring, cipher) => self.with(thread, |key| RingKey::new(cipher, key)),
            (Provider::RustCrypto, AeadCipher::Aes128Gcm) => {
                self.with(thread, RustCryptoKey::<Aes128Gcm>::new)
            }
            (Provider::RustCrypto, AeadCipher::Aes256Gcm) => {
                self.with(thread, RustCryptoKey::<Aes256Gcm>::new)
            }
            (Provider::RustCrypto, AeadCipher::ChaCha20Poly1305) => {
                self.with(thread, RustCryptoKey::<ChaCha20Poly1305>::new)
            }
            (Provider::System(library), cipher) => {
                self.with(thread, |key| SystemKey::new(library, cipher, key, self.rekeys))
            }
        }
    }

    /// Checks keys of one kind with the published example, and makes one for the work.
    fn with<K: AeadKey>(
        &self,
        thread: usize,
        make: impl Fn(&[u8]) -> Result<K, StartError>,
    ) -> Result<Box<dyn Member>, StartError> {
        let known = KNOWN
            .iter()
            .find(|known| known.cipher == self.cipher)
            .ok_or_else(|| Failure(format!("no test vector for {:?}", self.cipher)))?;
        check_known_answer(known, &mut make(known.key)?)?;
        let mut random = SplitMix64::new(self.seed.wrapping_add(thread as u64));
        let mut key = vec![0; self.cipher.key_bytes()];
        random.fill(&mut key);
        let key = make(&key)?;
        if self.opens {
            Ok(Box::new(MessageOpener::new(key, self.bytes, self.associated, &mut random)?))
        } else {
            Ok(Box::new(MessageSealer::new(key, self.bytes, self.associated, &mut random)))
        }
    }
}
