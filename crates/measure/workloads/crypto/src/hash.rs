//! `crypto.hash`: hash functions over messages of one size, bytes hashed per second.

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::Member;
use sha2::Digest;

use crate::batches::started;
use crate::digest::{Digester, Digesting, KnownDigest, LONGEST, size};
use crate::libcrypto::HashFunction;
use crate::provider::{Provider, parameters};
use crate::speed::{self, SpeedTest};

/// The workload `crypto.hash`: its parameters and metrics, and how it starts.
pub(super) struct Hashing;

impl Workload for Hashing {
    fn describe(&self) -> Description {
        let mut all = vec![
            declare::choice(
                "hash",
                &["sha-256", "sha-1", "sha-384", "sha-512", "sha3-256", "blake2b-512"],
                "hash function",
            ),
            size(16 << 10),
            declare::threads("threads, each hashing a separate message"),
            placement(),
        ];
        all.extend(parameters(&["ring", "rustcrypto", "system"]));
        declare::scaling(Description {
            parameters: all,
            ceiling: Some("provider".into()),
            metrics: vec![
                declare::rate("throughput", "B/s", "bytes hashed per second, all threads together"),
                declare::rate("operations", "ops/s", "messages per second, all threads together"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("crypto.hash", "hashes messages")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("hash.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let amounts = [("throughput", start.integer("bytes")), ("operations", 1)];
        let name = start.text("hash");
        if speed::is_needed(start) {
            return speed::started(start, &amounts, speed_test(start));
        }
        let provider = Provider::of(start)?;
        let known = KNOWN
            .iter()
            .find(|known| known.algorithm == name)
            .ok_or_else(|| StartError::Failed(format!("unknown hash function `{name}`")))?;
        let mut ready = Ready::default();
        let crate_name = match name {
            "sha-1" => "sha1",
            "sha3-256" => "sha3",
            "blake2b-512" => "blake2",
            _ => "sha2",
        };
        provider.describe(&[crate_name], &start.facts, &mut ready);
        let owned = start.clone();
        started(start, provider, ready, &amounts, move |provider, thread| {
            let make = |_: &[u8]| digester(provider, known.algorithm);
            let member = Digesting::new(&owned, thread, known, &make)?;
            Ok(Box::new(member) as Box<dyn Member>)
        })
    }
}

/// The test of `openssl speed`.
pub(super) fn speed_test(start: &Start) -> SpeedTest {
    let name = start.text("hash");
    // OpenSSL writes sha1, sha256 and blake2b512, but sha3-256.
    let written = if name == "sha3-256" { name.to_owned() } else { name.replace('-', "") };
    SpeedTest::of_messages(start, &["-evp", &written])
}

/// The hash function of this name, computed by a provider.
fn digester(provider: Provider, name: &'static str) -> Result<Box<dyn Digester>, StartError> {
    match provider {
        Provider::Ring => {
            let algorithm = match name {
                "sha-1" => &ring::digest::SHA1_FOR_LEGACY_USE_ONLY,
                "sha-256" => &ring::digest::SHA256,
                "sha-384" => &ring::digest::SHA384,
                "sha-512" => &ring::digest::SHA512,
                _ => return Err(provider.lacks(name, "`provider=rustcrypto` or `provider=system`")),
            };
            Ok(Box::new(RingHash(algorithm)))
        }
        Provider::RustCrypto => Ok(match name {
            "sha-1" => Box::new(RustCryptoHash(hash_with::<sha1::Sha1>)),
            "sha-384" => Box::new(RustCryptoHash(hash_with::<sha2::Sha384>)),
            "sha-512" => Box::new(RustCryptoHash(hash_with::<sha2::Sha512>)),
            "sha3-256" => Box::new(RustCryptoHash(hash_with::<sha3::Sha3_256>)),
            "blake2b-512" => Box::new(RustCryptoHash(hash_with::<blake2::Blake2b512>)),
            _ => Box::new(RustCryptoHash(hash_with::<sha2::Sha256>)),
        }),
        Provider::System(library) => {
            let fetched = match name {
                "sha-1" => c"SHA1",
                "sha-256" => c"SHA2-256",
                "sha-384" => c"SHA2-384",
                "sha-512" => c"SHA2-512",
                "sha3-256" => c"SHA3-256",
                _ => c"BLAKE2B-512",
            };
            let function = library
                .hash(fetched)
                .ok_or_else(|| provider.lacks(name, "`provider=rustcrypto`"))?;
            Ok(Box::new(function))
        }
    }
}

/// A hash function of ring.
struct RingHash(&'static ring::digest::Algorithm);

impl Digester for RingHash {
    fn digest(&mut self, message: &[u8], out: &mut [u8; LONGEST]) -> Result<(), Failure> {
        let digest = ring::digest::digest(self.0, message);
        out[..digest.as_ref().len()].copy_from_slice(digest.as_ref());
        Ok(())
    }
}

/// A hash function of RustCrypto.
struct RustCryptoHash(fn(&[u8], &mut [u8; LONGEST]));

fn hash_with<H: Digest>(message: &[u8], out: &mut [u8; LONGEST]) {
    let digest = H::digest(message);
    out[..digest.len()].copy_from_slice(&digest);
}

impl Digester for RustCryptoHash {
    fn digest(&mut self, message: &[u8], out: &mut [u8; LONGEST]) -> Result<(), Failure> {
        (self.0)(message, out);
        Ok(())
    }
}

impl Digester for HashFunction {
    fn digest(&mut self, message: &[u8], out: &mut [u8; LONGEST]) -> Result<(), Failure> {
        self.hash(message, out)
    }
}

/// Digests of `abc`: FIPS 180-4 and FIPS 202 as NIST's examples give them; RFC 7693 appendix A.
static KNOWN: [KnownDigest; 6] = [
    KnownDigest {
        algorithm: "sha-256",
        key: b"",
        message: b"abc",
        digest: b"\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23\xb0\x03\x61\xa3\
                 \x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad",
    },
    KnownDigest {
        algorithm: "sha-1",
        key: b"",
        message: b"abc",
        digest: b"\xa9\x99\x3e\x36\x47\x06\x81\x6a\xba\x3e\x25\x71\x78\x50\xc2\x6c\x9c\xd0\xd8\x9d",
    },
    KnownDigest {
        algorithm: "sha-384",
        key: b"",
        message: b"abc",
        digest: b"\xcb\x00\x75\x3f\x45\xa3\x5e\x8b\xb5\xa0\x3d\x69\x9a\xc6\x50\x07\x27\x2c\x32\xab\
                 \x0e\xde\xd1\x63\x1a\x8b\x60\x5a\x43\xff\x5b\xed\x80\x86\x07\x2b\xa1\xe7\xcc\x23\
                 \x58\xba\xec\xa1\x34\xc8\x25\xa7",
    },
    KnownDigest {
        algorithm: "sha-512",
        key: b"",
        message: b"abc",
        digest: b"\xdd\xaf\x35\xa1\x93\x61\x7a\xba\xcc\x41\x73\x49\xae\x20\x41\x31\x12\xe6\xfa\x4e\
                 \x89\xa9\x7e\xa2\x0a\x9e\xee\xe6\x4b\x55\xd3\x9a\x21\x92\x99\x2a\x27\x4f\xc1\xa8\
                 \x36\xba\x3c\x23\xa3\xfe\xeb\xbd\x45\x4d\x44\x23\x64\x3c\xe8\x0e\x2a\x9a\xc9\x4f\
                 \xa5\x4c\xa4\x9f",
    },
    KnownDigest {
        algorithm: "sha3-256",
        key: b"",
        message: b"abc",
        digest: b"\x3a\x98\x5d\xa7\x4f\xe2\x25\xb2\x04\x5c\x17\x2d\x6b\xd3\x90\xbd\x85\x5f\x08\x6e\
                 \x3e\x9d\x52\x5b\x46\xbf\xe2\x45\x11\x43\x15\x32",
    },
    KnownDigest {
        algorithm: "blake2b-512",
        key: b"",
        message: b"abc",
        digest: b"\xba\x80\xa5\x3f\x98\x1c\x4d\x0d\x6a\x27\x97\xb6\x9f\x12\xf6\xe9\x4c\x21\x2f\x14\
                 \x68\x5a\xc4\xb7\x4b\x12\xbb\x6f\xdb\xff\xa2\xd1\x7d\x87\xc5\x39\x2a\xab\x79\x2d\
                 \xc2\x52\xd5\xde\x45\x33\xcc\x95\x18\xd3\x8a\xa8\xdb\xf1\x92\x5a\xb9\x23\x86\xed\
                 \xd4\x00\x99\x23",
    },
];

#[cfg(test)]
mod tests {
    use super::{KNOWN, digester};
    use crate::digest::check;
    use crate::libcrypto::Libcrypto;
    use crate::provider::Provider;

    #[test]
    fn every_provider_gives_the_published_digests() {
        let library = Provider::System(Libcrypto::load("", true).unwrap());
        for known in &KNOWN {
            for provider in [Provider::RustCrypto, library] {
                let mut digester = digester(provider, known.algorithm).unwrap();
                check(known, digester.as_mut()).unwrap();
            }
            let ring = digester(Provider::Ring, known.algorithm);
            if known.algorithm.starts_with("sha-") {
                check(known, ring.unwrap().as_mut()).unwrap();
            } else {
                assert!(ring.is_err(), "ring has {}", known.algorithm);
            }
        }
    }
}
