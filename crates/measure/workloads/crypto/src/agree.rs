//! `crypto.agree`: key agreements per second, both sides of each.

use std::hint::black_box;

use ml_kem::array::Array;
use ml_kem::kem::Decapsulate;
use ml_kem::{B32, FromSeed, MlKem768};
use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::Member;
use ring::agreement::{
    Algorithm, ECDH_P256, ECDH_P384, EphemeralPrivateKey, UnparsedPublicKey, X25519,
    agree_ephemeral,
};
use ring::rand::{SecureRandom, SystemRandom};

use crate::batches::started;
use crate::libcrypto::{KeyGenerator, Libcrypto};
use crate::provider::{Provider, parameters};

/// Bytes of the longest secret: that of X25519 after that of ML-KEM-768.
const LONGEST: usize = 64;

/// Bytes of the longest encapsulation that libcrypto writes: ML-KEM-768 and X25519.
const ENCAPSULATION: usize = 1088 + 32;

/// The workload `crypto.agree`: its parameters and metrics, and how it starts.
pub(super) struct Agree;

impl Workload for Agree {
    fn describe(&self) -> Description {
        let mut all = vec![
            declare::choice(
                "group",
                &["x25519", "p-256", "p-384", "ml-kem-768", "x25519-ml-kem-768"],
                "curve, or key encapsulation (FIPS 203), or both as TLS combines them",
            ),
            declare::threads("threads, each with separate keys"),
            placement(),
        ];
        all.extend(parameters(&["ring", "rustcrypto", "system"]));
        declare::scaling(Description {
            parameters: all,
            ceiling: Some("provider".into()),
            metrics: vec![
                declare::rate(
                    "operations",
                    "ops/s",
                    "agreements per second, all threads together; each is the work of both sides",
                ),
                declare::time("time", "wall time of one agreement on each thread"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("crypto.agree", "agrees on keys, as each TLS handshake does")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("agree.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let provider = Provider::of(start)?;
        let group = Group::named(start.text("group"))?;
        let mut ready = Ready::default();
        let crates: &[&str] =
            if group == Group::Hybrid { &["ml-kem", "ring"] } else { &["ml-kem"] };
        provider.describe(crates, &start.facts, &mut ready);
        started(start, provider, ready, &[("operations", 1)], move |provider, _| {
            let mut agreement = agreement(provider, group)?;
            agreement.agree()?;
            Ok(Box::new(Agreements(agreement)) as Box<dyn Member>)
        })
    }
}

/// What two sides agree by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    /// The function X25519 of RFC 7748.
    X25519,
    /// The curve of 256 bits of NIST.
    P256,
    /// The curve of 384 bits of NIST.
    P384,
    /// Key encapsulation by module lattices (FIPS 203).
    MlKem768,
    /// Both X25519 and ML-KEM-768, as `X25519MLKEM768` of TLS.
    Hybrid,
}

impl Group {
    fn named(name: &str) -> Result<Self, StartError> {
        match name {
            "x25519" => Ok(Self::X25519),
            "p-256" => Ok(Self::P256),
            "p-384" => Ok(Self::P384),
            "ml-kem-768" => Ok(Self::MlKem768),
            "x25519-ml-kem-768" => Ok(Self::Hybrid),
            _ => Err(StartError::Failed(format!("unknown group `{name}`"))),
        }
    }
}

/// Both sides of an agreement.
trait KeyAgreement: Send {
    /// Makes fresh keys for both sides and compares the secrets of both.
    fn agree(&mut self) -> Result<(), Failure>;
}

fn agreement(provider: Provider, group: Group) -> Result<Box<dyn KeyAgreement>, StartError> {
    match (provider, group) {
        (Provider::System(library), _) => system_agreement(library, group),
        (Provider::Ring, Group::MlKem768 | Group::Hybrid) => {
            Err(provider.lacks("ML-KEM", "`provider=rustcrypto`"))
        }
        (Provider::RustCrypto, Group::X25519 | Group::P256 | Group::P384) => {
            Err(provider.lacks("elliptic curves", "`provider=ring` or `provider=system`"))
        }
        (Provider::RustCrypto, Group::MlKem768) => {
            Ok(Box::new(Encapsulation { random: SystemRandom::new(), with_x25519: false }))
        }
        (Provider::RustCrypto, Group::Hybrid) => {
            Ok(Box::new(Encapsulation { random: SystemRandom::new(), with_x25519: true }))
        }
        (Provider::Ring, Group::X25519) => Ok(curve(&X25519)),
        (Provider::Ring, Group::P256) => Ok(curve(&ECDH_P256)),
        (Provider::Ring, Group::P384) => Ok(curve(&ECDH_P384)),
    }
}

fn curve(algorithm: &'static Algorithm) -> Box<dyn KeyAgreement> {
    Box::new(RingCurve { algorithm, random: SystemRandom::new() })
}

/// A curve of ring.
struct RingCurve {
    algorithm: &'static Algorithm,
    random: SystemRandom,
}

impl KeyAgreement for RingCurve {
    fn agree(&mut self) -> Result<(), Failure> {
        ring_agreement(self.algorithm, &self.random)
    }
}

fn ring_agreement(algorithm: &'static Algorithm, random: &SystemRandom) -> Result<(), Failure> {
    let failed = |_| Failure("ring could not agree on a key".into());
    let one = EphemeralPrivateKey::generate(algorithm, random).map_err(failed)?;
    let other = EphemeralPrivateKey::generate(algorithm, random).map_err(failed)?;
    let one_public = one.compute_public_key().map_err(failed)?;
    let other_public = other.compute_public_key().map_err(failed)?;
    let peer = UnparsedPublicKey::new(algorithm, other_public);
    let one_secret = agree_ephemeral(one, &peer, secret_of).map_err(failed)?;
    let peer = UnparsedPublicKey::new(algorithm, one_public);
    let other_secret = agree_ephemeral(other, &peer, secret_of).map_err(failed)?;
    same(&one_secret, &other_secret)
}

fn secret_of(secret: &[u8]) -> [u8; LONGEST] {
    let mut copy = [0; LONGEST];
    copy[..secret.len()].copy_from_slice(secret);
    copy
}

fn same(one: &[u8; LONGEST], other: &[u8; LONGEST]) -> Result<(), Failure> {
    if black_box(one) == black_box(other) && one != &[0; LONGEST] {
        return Ok(());
    }
    Err(Failure("crypto.agree: the two sides have different secrets".into()))
}

/// RustCrypto's ML-KEM-768: a key pair, an encapsulation by the other side, and its decapsulation.
struct Encapsulation {
    random: SystemRandom,
    with_x25519: bool,
}

impl KeyAgreement for Encapsulation {
    fn agree(&mut self) -> Result<(), Failure> {
        let failed = |_| Failure("getrandom failed".into());
        let mut seed = [0; 64];
        self.random.fill(&mut seed).map_err(failed)?;
        let mut message = [0; 32];
        self.random.fill(&mut message).map_err(failed)?;
        let (private_key, public_key) = MlKem768::from_seed(&Array(seed));
        let message: B32 = Array(message);
        let (wrapped, sent) = public_key.encapsulate_deterministic(&message);
        let received = private_key.decapsulate(&wrapped);
        same(&secret_of(&sent), &secret_of(&received))?;
        if self.with_x25519 {
            ring_agreement(&X25519, &self.random)?;
        }
        Ok(())
    }
}

/// Keys of libcrypto for a curve.
struct SystemCurve(KeyGenerator);

impl KeyAgreement for SystemCurve {
    fn agree(&mut self) -> Result<(), Failure> {
        let one = self.0.generate()?;
        let other = self.0.generate()?;
        let mut one_secret = [0; LONGEST];
        one.derive(&other, &mut one_secret)?;
        let mut other_secret = [0; LONGEST];
        other.derive(&one, &mut other_secret)?;
        same(&one_secret, &other_secret)
    }
}

/// Keys of libcrypto for an encapsulation.
struct SystemEncapsulation(KeyGenerator);

impl KeyAgreement for SystemEncapsulation {
    fn agree(&mut self) -> Result<(), Failure> {
        let key = self.0.generate()?;
        let mut wrapped = [0; ENCAPSULATION];
        let mut sent = [0; LONGEST];
        let length = key.encapsulate(&mut wrapped, &mut sent)?;
        let mut received = [0; LONGEST];
        key.decapsulate(&wrapped[..length], &mut received)?;
        same(&sent, &received)
    }
}

fn system_agreement(
    library: &'static Libcrypto,
    group: Group,
) -> Result<Box<dyn KeyAgreement>, StartError> {
    let generator = match group {
        Group::X25519 => library.generator(c"X25519", None),
        Group::P256 => library.generator(c"EC", Some(c"P-256")),
        Group::P384 => library.generator(c"EC", Some(c"P-384")),
        Group::MlKem768 => library.generator(c"ML-KEM-768", None),
        Group::Hybrid => library.generator(c"X25519MLKEM768", None),
    };
    let provider = Provider::System(library);
    match (generator, group) {
        (Some(generator), Group::MlKem768 | Group::Hybrid) => {
            Ok(Box::new(SystemEncapsulation(generator)))
        }
        (Some(generator), _) => Ok(Box::new(SystemCurve(generator))),
        (None, Group::MlKem768 | Group::Hybrid) => {
            Err(provider.lacks("ML-KEM, which OpenSSL has since 3.5", "`provider=rustcrypto`"))
        }
        (None, _) => Err(provider.lacks("such a curve", "`provider=ring`")),
    }
}

/// Agreements, each checked as it is made.
struct Agreements(Box<dyn KeyAgreement>);

impl Member for Agreements {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.0.agree()?;
        }
        Ok(())
    }

    /// Every agreement has been checked in `run`, by comparing the two secrets.
    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ml_kem::array::Array;
    use ml_kem::kem::{Decapsulate, KeyExport};
    use ml_kem::{FromSeed, MlKem768};
    use shake::{ExtendableOutput, Shake128, Update, XofReader};

    use super::{Group, agreement, same};
    use crate::libcrypto::Libcrypto;
    use crate::provider::Provider;

    #[test]
    fn both_sides_agree_by_every_group_that_a_provider_has() {
        let library = Provider::System(Libcrypto::load("", true).unwrap());
        let curves = [Group::X25519, Group::P256, Group::P384];
        for group in curves {
            agreement(Provider::Ring, group).unwrap().agree().unwrap();
            agreement(library, group).unwrap().agree().unwrap();
            assert!(agreement(Provider::RustCrypto, group).is_err());
        }
        for group in [Group::MlKem768, Group::Hybrid] {
            agreement(Provider::RustCrypto, group).unwrap().agree().unwrap();
            assert!(agreement(Provider::Ring, group).is_err());
        }
        assert!(same(&[1; 64], &[2; 64]).is_err());
    }

    /// The accumulated vectors of C2SP's CCTV for ML-KEM-768, with 100 rounds: seeds, messages and a random ciphertext
    /// come from SHAKE128 of nothing; keys, encapsulations and secrets are hashed with SHAKE128.
    #[test]
    fn ml_kem_gives_the_published_vectors() {
        let mut input = Shake128::default().finalize_xof();
        let mut output = Shake128::default();
        for _ in 0..100 {
            let mut seed = [0; 64];
            input.read(&mut seed);
            let (private_key, public_key) = MlKem768::from_seed(&Array(seed));
            output.update(&public_key.to_bytes());
            let mut message = [0; 32];
            input.read(&mut message);
            let (wrapped, secret) = public_key.encapsulate_deterministic(&Array(message));
            output.update(&wrapped);
            output.update(&secret);
            assert_eq!(private_key.decapsulate(&wrapped), secret);
            let mut random = [0; 1088];
            input.read(&mut random);
            output.update(&private_key.decapsulate_slice(&random).unwrap());
        }
        let mut digest = [0; 32];
        output.finalize_xof().read(&mut digest);
        let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "1114b1b6699ed191734fa339376afa7e285c9e6acf6ff0177d346696ce564415");
    }
}
