//! `crypto.kdf`: keys derived from passwords, as a login or the unlocking of a disk does.

use argon2::{Algorithm, Argon2, Block, Params, ParamsBuilder, Version};
use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::Member;

use crate::batches::started_without_trial;
use crate::libcrypto::{Argon2idSettings, HashFunction, Libcrypto};
use crate::provider::{Provider, parameters};

/// The block size factor that RFC 7914 recommends for scrypt.
const SCRYPT_R: u32 = 8;

/// Bytes of a derived key.
const KEY_BYTES: usize = 32;

const PASSWORD: &[u8] = b"correct horse battery staple";
const SALT: &[u8] = b"plumb: 16 bytes.";

/// The workload `crypto.kdf`: its parameters and metrics, and how it starts.
pub(super) struct KeyDerivation;

impl Workload for KeyDerivation {
    fn describe(&self) -> Description {
        let mut all = vec![
            declare::choice(
                "function",
                &["pbkdf2", "scrypt", "argon2id"],
                "pbkdf2: with HMAC-SHA-256; scrypt with r=8, p=1; argon2id with one lane",
            ),
            declare::between(
                1,
                1 << 30,
                declare::integer("rounds", "rounds", 600_000, "iterations of pbkdf2"),
            ),
            declare::between(
                1 << 16,
                1 << 32,
                declare::bytes(
                    "memory",
                    64 << 20,
                    "memory of scrypt or argon2id; a power of two for scrypt",
                ),
            ),
            declare::between(
                1,
                1 << 20,
                declare::integer("passes", "passes", 3, "passes of argon2id over its memory"),
            ),
            declare::threads("threads, each deriving a separate key"),
            placement(),
        ];
        all.extend(parameters(&["rustcrypto", "ring", "system"]));
        declare::scaling(Description {
            parameters: all,
            ceiling: Some("provider".into()),
            metrics: vec![
                declare::time("time", "wall time of one key on each thread"),
                declare::rate("operations", "ops/s", "keys per second, all threads together"),
            ],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("crypto.kdf", "derives keys from passwords")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("kdf.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let provider = Provider::of(start)?;
        let function = KdfFunction::of(start)?;
        refuse_more_memory(&function, start)?;
        let mut ready = Ready::default();
        provider.describe(&[function.crate_name()], &start.facts, &mut ready);
        // Keys are slow to derive on purpose.
        started_without_trial(start, provider, ready, &[("operations", 1)], move |provider, _| {
            check_known_answer(provider, &function)?;
            let mut derivation = derivation(provider, &function)?;
            let mut expected = [0; KEY_BYTES];
            derivation.derive(PASSWORD, SALT, &mut expected)?;
            Ok(Box::new(Derivations { derivation, key: [0; KEY_BYTES], expected })
                as Box<dyn Member>)
        })
    }
}

/// A function with its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KdfFunction {
    /// RFC 8018, with HMAC-SHA-256.
    Pbkdf2 {
        /// Iterations of HMAC.
        rounds: u32,
    },
    /// The memory-hard function of RFC 7914.
    Scrypt {
        /// Binary logarithm of its parameter N.
        log_n: u8,
        /// Its parameter r.
        r: u32,
    },
    /// The memory-hard function of RFC 9106.
    Argon2id {
        /// Memory in KiB.
        memory_kib: u32,
        /// Passes over the memory.
        passes: u32,
    },
}

impl KdfFunction {
    fn of(start: &Start) -> Result<Self, StartError> {
        let memory = start.integer("memory");
        let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        match start.text("function") {
            "scrypt" if !memory.is_power_of_two() => Err(StartError::Failed(format!(
                "memory={memory}: scrypt needs a power of two, such as 64MiB"
            ))),
            "scrypt" => {
                let blocks = memory / (128 * u64::from(SCRYPT_R));
                let log_n = u8::try_from(blocks.ilog2()).unwrap_or(u8::MAX);
                Ok(Self::Scrypt { log_n, r: SCRYPT_R })
            }
            "argon2id" => Ok(Self::Argon2id {
                memory_kib: small(memory >> 10),
                passes: small(start.integer("passes")),
            }),
            _ => Ok(Self::Pbkdf2 { rounds: small(start.integer("rounds")) }),
        }
    }

    fn crate_name(self) -> &'static str {
        match self {
            Self::Pbkdf2 { .. } => "pbkdf2",
            Self::Scrypt { .. } => "scrypt",
            Self::Argon2id { .. } => "argon2",
        }
    }
}

/// Refuses what would not fit into memory, because the kernel would kill the process instead.
fn refuse_more_memory(function: &KdfFunction, start: &Start) -> Result<(), StartError> {
    let available = start.facts.memory_bytes;
    let needed = start.integer("memory").saturating_mul(start.integer("threads").max(1));
    if matches!(function, KdfFunction::Pbkdf2 { .. }) || available == 0 || needed <= available {
        return Ok(());
    }
    Err(StartError::unsupported(
        format!(
            "the keys need {needed} bytes of memory, too much for plumb's limit of {available}"
        ),
        "set a smaller `memory` or fewer `threads`",
    ))
}

/// Derives keys with one function and cost.
trait Derivation: Send {
    fn derive(&mut self, password: &[u8], salt: &[u8], key: &mut [u8]) -> Result<(), Failure>;
}

fn derivation(
    provider: Provider,
    function: &KdfFunction,
) -> Result<Box<dyn Derivation>, StartError> {
    match (provider, *function) {
        (Provider::Ring, KdfFunction::Pbkdf2 { rounds }) => {
            let rounds = std::num::NonZeroU32::new(rounds)
                .ok_or_else(|| StartError::Failed("rounds=0".into()))?;
            Ok(Box::new(RingPbkdf2(rounds)))
        }
        (Provider::Ring, KdfFunction::Scrypt { .. }) => {
            Err(provider.lacks("scrypt", "`provider=rustcrypto` or `provider=system`"))
        }
        (Provider::RustCrypto, KdfFunction::Pbkdf2 { rounds }) => {
            Ok(Box::new(RustCryptoPbkdf2(rounds)))
        }
        (Provider::RustCrypto, KdfFunction::Scrypt { log_n, r }) => {
            let made = scrypt::Params::new(log_n, r, 1)
                .map_err(|_| StartError::Failed("scrypt refuses these parameters".into()))?;
            Ok(Box::new(RustCryptoScrypt(made)))
        }
        (Provider::RustCrypto, KdfFunction::Argon2id { memory_kib, passes }) => {
            let made = Params::new(memory_kib, passes, 1, None)
                .map_err(|error| StartError::Failed(format!("argon2id: {error}")))?;
            let memory = vec![Block::default(); made.block_count()];
            let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, made);
            Ok(Box::new(RustCryptoArgon2 { argon2, memory }))
        }
        (Provider::System(library), KdfFunction::Pbkdf2 { rounds }) => {
            let hash = library
                .hash(c"SHA2-256")
                .ok_or_else(|| provider.lacks("SHA-256", "`provider=ring`"))?;
            Ok(Box::new(SystemPbkdf2 { library, hash, rounds }))
        }
        (Provider::System(library), KdfFunction::Scrypt { log_n, r }) => {
            Ok(Box::new(SystemScrypt { library, n: 1 << log_n, r: u64::from(r) }))
        }
        (Provider::System(library), KdfFunction::Argon2id { memory_kib, passes }) => {
            if !library.has_argon2id() {
                let others = "`provider=rustcrypto`, or `library` to OpenSSL 3.2 or later";
                return Err(provider.lacks("Argon2id", others));
            }
            Ok(Box::new(SystemArgon2 { library, memory_kib, passes }))
        }
        (Provider::Ring, KdfFunction::Argon2id { .. }) => {
            Err(provider.lacks("Argon2id", "`provider=rustcrypto`"))
        }
    }
}

/// PBKDF2 as ring computes it.
struct RingPbkdf2(std::num::NonZeroU32);

impl Derivation for RingPbkdf2 {
    fn derive(&mut self, password: &[u8], salt: &[u8], key: &mut [u8]) -> Result<(), Failure> {
        ring::pbkdf2::derive(ring::pbkdf2::PBKDF2_HMAC_SHA256, self.0, salt, password, key);
        Ok(())
    }
}

/// PBKDF2 as RustCrypto computes it.
struct RustCryptoPbkdf2(u32);

impl Derivation for RustCryptoPbkdf2 {
    fn derive(&mut self, password: &[u8], salt: &[u8], key: &mut [u8]) -> Result<(), Failure> {
        pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, salt, self.0, key);
        Ok(())
    }
}

/// RustCrypto's scrypt, which allocates its memory for each key, as a login does.
struct RustCryptoScrypt(scrypt::Params);

impl Derivation for RustCryptoScrypt {
    fn derive(&mut self, password: &[u8], salt: &[u8], key: &mut [u8]) -> Result<(), Failure> {
        scrypt::scrypt(password, salt, &self.0, key)
            .map_err(|_| Failure("scrypt refuses the length of the key".into()))
    }
}

/// RustCrypto's Argon2id, in memory that all keys share.
struct RustCryptoArgon2 {
    argon2: Argon2<'static>,
    memory: Vec<Block>,
}

impl Derivation for RustCryptoArgon2 {
    fn derive(&mut self, password: &[u8], salt: &[u8], key: &mut [u8]) -> Result<(), Failure> {
        self.argon2
            .hash_password_into_with_memory(password, salt, key, &mut self.memory)
            .map_err(|error| Failure(format!("argon2id: {error}")))
    }
}

/// PBKDF2 as libcrypto computes it.
struct SystemPbkdf2 {
    library: &'static Libcrypto,
    hash: HashFunction,
    rounds: u32,
}

impl Derivation for SystemPbkdf2 {
    fn derive(&mut self, password: &[u8], salt: &[u8], key: &mut [u8]) -> Result<(), Failure> {
        self.library.pbkdf2(&self.hash, password, salt, self.rounds, key)
    }
}

/// scrypt as libcrypto computes it.
struct SystemScrypt {
    library: &'static Libcrypto,
    n: u64,
    r: u64,
}

impl Derivation for SystemScrypt {
    fn derive(&mut self, password: &[u8], salt: &[u8], key: &mut [u8]) -> Result<(), Failure> {
        self.library.scrypt(password, salt, self.n, self.r, key)
    }
}

/// Argon2id as libcrypto computes it, in memory that it allocates for each key.
struct SystemArgon2 {
    library: &'static Libcrypto,
    memory_kib: u32,
    passes: u32,
}

impl Derivation for SystemArgon2 {
    fn derive(&mut self, password: &[u8], salt: &[u8], key: &mut [u8]) -> Result<(), Failure> {
        let settings = Argon2idSettings {
            memory_kib: self.memory_kib,
            passes: self.passes,
            lanes: 1,
            secret: &[],
            data: &[],
        };
        self.library.argon2id(password, salt, settings, key)
    }
}

/// The same key, derived repeatedly.
struct Derivations {
    derivation: Box<dyn Derivation>,
    key: [u8; KEY_BYTES],
    expected: [u8; KEY_BYTES],
}

impl Member for Derivations {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.derivation.derive(PASSWORD, SALT, &mut self.key)?;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        if self.key != self.expected {
            return Err(Failure("crypto.kdf: a key differs from the first one".into()));
        }
        self.key.fill(0);
        Ok(())
    }
}

/// Derives a published key: RFC 7914 sections 11 and 12, RFC 9106 section 5.3.
///
/// # Errors
/// If the result is another.
fn check_known_answer(provider: Provider, function: &KdfFunction) -> Result<(), StartError> {
    let mut key = [0; 64];
    let published: &[u8] = match function {
        KdfFunction::Pbkdf2 { .. } => {
            derivation(provider, &KdfFunction::Pbkdf2 { rounds: 1 })?
                .derive(b"passwd", b"salt", &mut key)?;
            PBKDF2_KEY
        }
        KdfFunction::Scrypt { .. } => {
            derivation(provider, &KdfFunction::Scrypt { log_n: 4, r: 1 })?
                .derive(b"", b"", &mut key)?;
            SCRYPT_KEY
        }
        KdfFunction::Argon2id { .. } => {
            // The published example has four lanes, a secret, and associated data.
            match provider {
                Provider::System(library) if library.has_argon2id() => {
                    let settings = Argon2idSettings {
                        memory_kib: 32,
                        passes: 3,
                        lanes: 4,
                        secret: &[3; 8],
                        data: &[4; 12],
                    };
                    library.argon2id(&[1; 32], &[2; 16], settings, &mut key[..32])?;
                }
                _ => published_argon2id(&mut key[..32])?,
            }
            ARGON2ID_KEY
        }
    };
    if key.starts_with(published) {
        return Ok(());
    }
    Err(StartError::Failed(format!("crypto.kdf: {function:?} does not give the published key")))
}

/// The published example by RustCrypto.
fn published_argon2id(key: &mut [u8]) -> Result<(), Failure> {
    let refused = |error: argon2::Error| Failure(format!("argon2id: {error}"));
    let data = argon2::AssociatedData::new(&[4; 12]).map_err(refused)?;
    let mut builder = ParamsBuilder::new();
    builder.m_cost(32).t_cost(3).p_cost(4).data(data);
    let made = builder.build().map_err(refused)?;
    Argon2::new_with_secret(&[3; 8], Algorithm::Argon2id, Version::V0x13, made)
        .map_err(refused)?
        .hash_password_into(&[1; 32], &[2; 16], key)
        .map_err(refused)
}

const PBKDF2_KEY: &[u8] =
    b"\x55\xac\x04\x6e\x56\xe3\x08\x9f\xec\x16\x91\xc2\x25\x44\xb6\x05\xf9\x41\x85\x21\
    \x6d\xde\x04\x65\xe6\x8b\x9d\x57\xc2\x0d\xac\xbc\x49\xca\x9c\xcc\xf1\x79\xb6\x45\
    \x99\x16\x64\xb3\x9d\x77\xef\x31\x7c\x71\xb8\x45\xb1\xe3\x0b\xd5\x09\x11\x20\x41\
    \xd3\xa1\x97\x83";

const SCRYPT_KEY: &[u8] =
    b"\x77\xd6\x57\x62\x38\x65\x7b\x20\x3b\x19\xca\x42\xc1\x8a\x04\x97\xf1\x6b\x48\x44\
    \xe3\x07\x4a\xe8\xdf\xdf\xfa\x3f\xed\xe2\x14\x42\xfc\xd0\x06\x9d\xed\x09\x48\xf8\
    \x32\x6a\x75\x3a\x0f\xc8\x1f\x17\xe8\xd3\xe0\xfb\x2e\x0d\x36\x28\xcf\x35\xe2\x0c\
    \x38\xd1\x89\x06";

const ARGON2ID_KEY: &[u8] =
    b"\x0d\x64\x0d\xf5\x8d\x78\x76\x6c\x08\xc0\x37\xa3\x4a\x8b\x53\xc9\xd0\x1e\xf0\x45\
    \x2d\x75\xb6\x5e\xb5\x25\x20\xe9\x6b\x01\xe6\x59";

#[cfg(test)]
mod tests {
    use super::{KdfFunction, check_known_answer};
    use crate::libcrypto::Libcrypto;
    use crate::provider::Provider;

    #[test]
    fn every_provider_gives_the_published_keys_or_names_one_that_does() {
        let library = Provider::System(Libcrypto::load("", true).unwrap());
        let functions = [KdfFunction::Pbkdf2 { rounds: 1 }, KdfFunction::Scrypt { log_n: 4, r: 1 }];
        for function in &functions {
            for provider in [Provider::RustCrypto, library] {
                check_known_answer(provider, function).unwrap();
            }
        }
        check_known_answer(Provider::Ring, &functions[0]).unwrap();
        assert!(check_known_answer(Provider::Ring, &functions[1]).is_err());
        let argon2id = KdfFunction::Argon2id { memory_kib: 64, passes: 1 };
        check_known_answer(Provider::RustCrypto, &argon2id).unwrap();
        check_known_answer(library, &argon2id).unwrap();
    }
}
