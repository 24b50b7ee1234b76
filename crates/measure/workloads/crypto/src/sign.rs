//! `crypto.sign`: signatures made or verified per second.

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::keys::{self, PublishedKey};
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::Member;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA256_ASN1_SIGNING, ED25519, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey,
    VerificationAlgorithm,
};

use crate::batches::started;
use crate::libcrypto::{HashFunction, KeyPair, Libcrypto, SignContext};
use crate::provider::{Provider, parameters};
use crate::speed::{self, SpeedTest};

/// The message that is signed: as long as a hash of a TLS handshake.
const MESSAGE: [u8; 32] = [0x5a; 32];

/// Bytes of the longest signature, RSA's with 4096 bits.
const LONGEST: usize = 512;

/// The workload `crypto.sign`: its parameters and metrics, and how it starts.
pub(super) struct Sign;

impl Workload for Sign {
    fn describe(&self) -> Description {
        let mut all = vec![
            declare::choice(
                "algorithm",
                &["ecdsa-p256", "ed25519", "rsa-2048", "rsa-4096"],
                "signature algorithm; RSA with PKCS #1 padding; SHA-256 except for ed25519",
            ),
            declare::choice("operation", &["sign", "verify"], "make signatures or verify one"),
            declare::threads("threads, each with the same key"),
            placement(),
        ];
        all.extend(parameters(&["ring", "system"]));
        declare::scaling(Description {
            parameters: all,
            ceiling: Some("provider".into()),
            metrics: vec![
                declare::rate("operations", "ops/s", "operations per second, all threads together"),
                declare::time("time", "wall time of one operation on each thread"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("crypto.sign", "signs messages, or verifies signatures")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("sign.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        if speed::is_needed(start) {
            return speed::started(start, &[("operations", 1)], speed_test(start));
        }
        let provider = Provider::of(start)?;
        let algorithm = start.text("algorithm").to_owned();
        let verifies = start.text("operation") == "verify";
        let mut ready = Ready::default();
        provider.describe(&[], &start.facts, &mut ready);
        started(start, provider, ready, &[("operations", 1)], move |provider, _| {
            let mut signer = signer(provider, &algorithm)?;
            let known = published(&algorithm);
            signer.verify(known.message, known.signature)?;
            let mut signature = [0; LONGEST];
            let length = signer.sign(&MESSAGE, &mut signature)?;
            Ok(Box::new(Signatures { signer, signature, length, verifies }) as Box<dyn Member>)
        })
    }
}

/// The test of `openssl speed`, which both signs and verifies.
pub(super) fn speed_test(start: &Start) -> SpeedTest {
    let algorithm = start.text("algorithm");
    let (signed, verified) = match algorithm {
        "ed25519" => ("+R8", "+R9"),
        "ecdsa-p256" => ("+R5", "+R6"),
        _ => ("+R1", "+R2"),
    };
    SpeedTest {
        arguments: vec![algorithm.replace('-', "")],
        line: if start.text("operation") == "verify" { verified } else { signed },
    }
}

/// The key of this algorithm.
fn published(algorithm: &str) -> &'static PublishedKey {
    match algorithm {
        "ed25519" => &keys::ED25519,
        "rsa-2048" => &keys::RSA_2048,
        "rsa-4096" => &keys::RSA_4096,
        _ => &keys::ECDSA_P256,
    }
}

/// Signs, and verifies what was signed.
trait Signer: Send {
    /// Signs a message; the length of the signature.
    fn sign(&mut self, message: &[u8], signature: &mut [u8; LONGEST]) -> Result<usize, Failure>;

    /// Verifies a signature.
    fn verify(&mut self, message: &[u8], signature: &[u8]) -> Result<(), Failure>;
}

fn signer(provider: Provider, algorithm: &str) -> Result<Box<dyn Signer>, StartError> {
    if let Provider::System(library) = provider {
        let hash = match algorithm {
            "ed25519" => None,
            _ => library.hash(c"SHA2-256"),
        };
        let key = library.read_key(published(algorithm).key)?;
        let context = library.sign_context()?;
        return Ok(Box::new(SystemSigner { key, hash, context, _library: library }));
    }
    Ok(Box::new(RingSigner::new(algorithm)?))
}

/// A key of ring.
struct RingSigner {
    key: RingKeyPair,
    public_key: Vec<u8>,
    verification: &'static dyn VerificationAlgorithm,
    random: SystemRandom,
}

enum RingKeyPair {
    Ecdsa(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Rsa(Box<RsaKeyPair>),
}

impl RingSigner {
    fn new(algorithm: &str) -> Result<Self, Failure> {
        let der = published(algorithm).key;
        let random = SystemRandom::new();
        let refused = |error: ring::error::KeyRejected| Failure(format!("ring: {error}"));
        let (key, public_key, verification): (_, _, &dyn VerificationAlgorithm) = match algorithm {
            "ecdsa-p256" => {
                let signing = &ECDSA_P256_SHA256_ASN1_SIGNING;
                let key = EcdsaKeyPair::from_pkcs8(signing, der, &random).map_err(refused)?;
                let public_key = key.public_key().as_ref().to_vec();
                (RingKeyPair::Ecdsa(key), public_key, &ECDSA_P256_SHA256_ASN1)
            }
            "ed25519" => {
                let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(refused)?;
                let public_key = key.public_key().as_ref().to_vec();
                (RingKeyPair::Ed25519(key), public_key, &ED25519)
            }
            _ => {
                let key = RsaKeyPair::from_pkcs8(der).map_err(refused)?;
                let public_key = key.public_key().as_ref().to_vec();
                (RingKeyPair::Rsa(Box::new(key)), public_key, &RSA_PKCS1_2048_8192_SHA256)
            }
        };
        Ok(Self { key, public_key, verification, random })
    }
}

impl Signer for RingSigner {
    fn sign(&mut self, message: &[u8], signature: &mut [u8; LONGEST]) -> Result<usize, Failure> {
        let failed = |_| Failure("ring could not sign a message".into());
        match &self.key {
            RingKeyPair::Ecdsa(key) => {
                let made = key.sign(&self.random, message).map_err(failed)?;
                signature[..made.as_ref().len()].copy_from_slice(made.as_ref());
                Ok(made.as_ref().len())
            }
            RingKeyPair::Ed25519(key) => {
                let made = key.sign(message);
                signature[..made.as_ref().len()].copy_from_slice(made.as_ref());
                Ok(made.as_ref().len())
            }
            RingKeyPair::Rsa(key) => {
                let length = key.public().modulus_len();
                let target = &mut signature[..length];
                key.sign(&RSA_PKCS1_SHA256, &self.random, message, target).map_err(failed)?;
                Ok(length)
            }
        }
    }

    fn verify(&mut self, message: &[u8], signature: &[u8]) -> Result<(), Failure> {
        UnparsedPublicKey::new(self.verification, &self.public_key)
            .verify(message, signature)
            .map_err(|_| Failure("crypto.sign: a signature is not the message's".into()))
    }
}

/// A key of libcrypto.
struct SystemSigner {
    key: KeyPair,
    hash: Option<HashFunction>,
    context: SignContext,
    _library: &'static Libcrypto,
}

impl Signer for SystemSigner {
    fn sign(&mut self, message: &[u8], signature: &mut [u8; LONGEST]) -> Result<usize, Failure> {
        self.key.sign(&self.context, self.hash.as_ref(), message, signature)
    }

    fn verify(&mut self, message: &[u8], signature: &[u8]) -> Result<(), Failure> {
        self.key.verify(&self.context, self.hash.as_ref(), message, signature)
    }
}

/// One message that is signed repeatedly, or whose signature is verified repeatedly.
struct Signatures {
    signer: Box<dyn Signer>,
    signature: [u8; LONGEST],
    length: usize,
    verifies: bool,
}

impl Member for Signatures {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            if self.verifies {
                self.signer.verify(&MESSAGE, &self.signature[..self.length])?;
            } else {
                self.length = self.signer.sign(&MESSAGE, &mut self.signature)?;
            }
        }
        Ok(())
    }

    /// Verifies the last signature, and that a changed one is refused.
    fn verify(&mut self) -> Result<(), Failure> {
        self.signer.verify(&MESSAGE, &self.signature[..self.length])?;
        let mut changed = self.signature;
        changed[self.length - 1] ^= 1;
        if self.signer.verify(&MESSAGE, &changed[..self.length]).is_ok() {
            return Err(Failure("crypto.sign: a changed signature was accepted".into()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, MESSAGE, published, signer};
    use crate::libcrypto::Libcrypto;
    use crate::provider::Provider;

    #[test]
    fn every_provider_verifies_the_published_signature_and_those_of_the_others() {
        let library = Provider::System(Libcrypto::load("", true).unwrap());
        for algorithm in ["ecdsa-p256", "ed25519", "rsa-2048", "rsa-4096"] {
            let known = published(algorithm);
            for [one, other] in [[Provider::Ring, library], [library, Provider::Ring]] {
                let mut one = signer(one, algorithm).unwrap();
                one.verify(known.message, known.signature).unwrap();
                assert!(one.verify(b"another", known.signature).is_err());
                let mut signature = [0; LONGEST];
                let length = one.sign(&MESSAGE, &mut signature).unwrap();
                let mut other = signer(other, algorithm).unwrap();
                other.verify(&MESSAGE, &signature[..length]).unwrap();
            }
        }
    }
}
