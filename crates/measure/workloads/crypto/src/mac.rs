//! `crypto.mac`: message authentication with HMAC, bytes authenticated per second.

use hmac::{Hmac, KeyInit, Mac};
use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::Member;

use crate::batches::started;
use crate::digest::{Digester, Digesting, KnownDigest, LONGEST, size};
use crate::libcrypto::MacContext;
use crate::provider::{Provider, parameters};
use crate::speed::{self, SpeedTest};

/// The workload `crypto.mac`: its parameters and metrics, and how it starts.
pub(super) struct MessageAuthentication;

impl Workload for MessageAuthentication {
    fn describe(&self) -> Description {
        let mut all = vec![
            declare::choice(
                "mac",
                &["hmac-sha-256", "hmac-sha-1", "hmac-sha-512"],
                "message authentication code",
            ),
            size(16 << 10),
            declare::threads("threads, each with a separate key"),
            placement(),
        ];
        all.extend(parameters(&["ring", "rustcrypto", "system"]));
        declare::scaling(Description {
            parameters: all,
            ceiling: Some("provider".into()),
            metrics: vec![
                declare::rate(
                    "throughput",
                    "B/s",
                    "bytes authenticated per second, all threads together",
                ),
                declare::rate("operations", "ops/s", "messages per second, all threads together"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("crypto.mac", "authenticates messages with HMAC")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("mac.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let amounts = [("throughput", start.integer("bytes")), ("operations", 1)];
        let name = start.text("mac");
        if speed::is_needed(start) {
            return speed::started(start, &amounts, speed_test(start));
        }
        let provider = Provider::of(start)?;
        let known = KNOWN
            .iter()
            .find(|known| known.algorithm == name)
            .ok_or_else(|| StartError::Failed(format!("unknown code `{name}`")))?;
        let mut ready = Ready::default();
        provider.describe(&["hmac", "sha1", "sha2"], &start.facts, &mut ready);
        let owned = start.clone();
        started(start, provider, ready, &amounts, move |provider, thread| {
            let make = |key: &[u8]| digester(provider, known.algorithm, key);
            let member = Digesting::new(&owned, thread, known, &make)?;
            Ok(Box::new(member) as Box<dyn Member>)
        })
    }
}

/// The test of `openssl speed`.
pub(super) fn speed_test(start: &Start) -> SpeedTest {
    let hash = start.text("mac").trim_start_matches("hmac-").replace('-', "");
    SpeedTest::of_messages(start, &["-hmac", &hash])
}

/// The code of this name with a key, computed by a provider.
fn digester(
    provider: Provider,
    name: &'static str,
    key: &[u8],
) -> Result<Box<dyn Digester>, StartError> {
    match provider {
        Provider::Ring => {
            let algorithm = match name {
                "hmac-sha-1" => ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
                "hmac-sha-512" => ring::hmac::HMAC_SHA512,
                _ => ring::hmac::HMAC_SHA256,
            };
            Ok(Box::new(ring::hmac::Key::new(algorithm, key)))
        }
        Provider::RustCrypto => match name {
            "hmac-sha-1" => keyed::<Hmac<sha1::Sha1>>(key),
            "hmac-sha-512" => keyed::<Hmac<sha2::Sha512>>(key),
            _ => keyed::<Hmac<sha2::Sha256>>(key),
        },
        Provider::System(library) => {
            let hash = match name {
                "hmac-sha-1" => c"SHA1",
                "hmac-sha-512" => c"SHA2-512",
                _ => c"SHA2-256",
            };
            let context = library
                .hmac(hash, key)?
                .ok_or_else(|| provider.lacks(name, "`provider=rustcrypto`"))?;
            Ok(Box::new(context))
        }
    }
}

impl Digester for ring::hmac::Key {
    fn digest(&mut self, message: &[u8], out: &mut [u8; LONGEST]) -> Result<(), Failure> {
        let tag = ring::hmac::sign(self, message);
        out[..tag.as_ref().len()].copy_from_slice(tag.as_ref());
        Ok(())
    }
}

/// A key of RustCrypto; a copy of its state begins each message.
struct RustCryptoMac<M>(M);

fn keyed<M>(key: &[u8]) -> Result<Box<dyn Digester>, StartError>
where
    M: Mac + KeyInit + Clone + Send + 'static,
{
    let mac = <M as KeyInit>::new_from_slice(key)
        .map_err(|_| Failure(format!("RustCrypto refuses a key of {} bytes", key.len())))?;
    Ok(Box::new(RustCryptoMac(mac)))
}

impl<M: Mac + Clone + Send + 'static> Digester for RustCryptoMac<M> {
    fn digest(&mut self, message: &[u8], out: &mut [u8; LONGEST]) -> Result<(), Failure> {
        let mut mac = self.0.clone();
        mac.update(message);
        let tag = mac.finalize().into_bytes();
        out[..tag.len()].copy_from_slice(&tag);
        Ok(())
    }
}

impl Digester for MacContext {
    fn digest(&mut self, message: &[u8], out: &mut [u8; LONGEST]) -> Result<(), Failure> {
        self.authenticate(message, out)
    }
}

/// RFC 2202 test case 2 of HMAC-SHA-1, RFC 4231 test case 1.
static KNOWN: [KnownDigest; 3] = [
    KnownDigest {
        algorithm: "hmac-sha-1",
        key: b"Jefe",
        message: b"what do ya want for nothing?",
        digest: b"\xef\xfc\xdf\x6a\xe5\xeb\x2f\xa2\xd2\x74\x16\xd5\xf1\x84\xdf\x9c\x25\x9a\x7c\x79",
    },
    KnownDigest {
        algorithm: "hmac-sha-256",
        key: &[0x0b; 20],
        message: b"Hi There",
        digest: b"\xb0\x34\x4c\x61\xd8\xdb\x38\x53\x5c\xa8\xaf\xce\xaf\x0b\xf1\x2b\x88\x1d\xc2\x00\
                 \xc9\x83\x3d\xa7\x26\xe9\x37\x6c\x2e\x32\xcf\xf7",
    },
    KnownDigest {
        algorithm: "hmac-sha-512",
        key: &[0x0b; 20],
        message: b"Hi There",
        digest: b"\x87\xaa\x7c\xde\xa5\xef\x61\x9d\x4f\xf0\xb4\x24\x1a\x1d\x6c\xb0\x23\x79\xf4\xe2\
                 \xce\x4e\xc2\x78\x7a\xd0\xb3\x05\x45\xe1\x7c\xde\xda\xa8\x33\xb7\xd6\xb8\xa7\x02\
                 \x03\x8b\x27\x4e\xae\xa3\xf4\xe4\xbe\x9d\x91\x4e\xeb\x61\xf1\x70\x2e\x69\x6c\x20\
                 \x3a\x12\x68\x54",
    },
];

#[cfg(test)]
mod tests {
    use super::{KNOWN, digester};
    use crate::digest::check;
    use crate::libcrypto::Libcrypto;
    use crate::provider::Provider;

    #[test]
    fn every_provider_gives_the_published_codes() {
        let library = Provider::System(Libcrypto::load("", true).unwrap());
        for known in &KNOWN {
            for provider in [Provider::Ring, Provider::RustCrypto, library] {
                let mut digester = digester(provider, known.algorithm, known.key).unwrap();
                check(known, digester.as_mut()).unwrap();
            }
        }
    }
}
