//! `crypto.aead`: authenticated encryption of messages of one size, bytes sealed per second.

use plumb_model::{AuditClass, CurveKind, Description, Facts, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload};

use crate::sealer::{Sealer, check_known_answer, cipher};
use plumb_workload_kit::declare;

/// Sizes of a message.
const SIZES: std::ops::RangeInclusive<u64> = 16..=1 << 20;

/// The version of ring in Cargo.lock; a test compares them, because ring does not report its own.
const RING: &str = "0.17.14";

/// CPU features that ring chooses its code by, among those that plumb knows of a host.
const FEATURES: [&str; 7] = ["aes", "avx", "avx2", "bmi2", "pclmulqdq", "vaes", "vpclmulqdq"];

/// The shortest sample, in nanoseconds: the one message of each sample that is a witness, and may lie
/// in a colder cache, is then a small part of it.
const SHORTEST_SAMPLE_NS: u64 = 200_000;

/// The workload `crypto.aead`: its parameters and metrics, and how it starts.
pub(super) struct Aead;

impl Workload for Aead {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
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
            ],
            metrics: vec![
                declare::rate(
                    "throughput",
                    "B/s",
                    "bytes of plaintext sealed per second, without tags",
                ),
                declare::rate("operations", "ops/s", "messages sealed per second"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("crypto.aead", "encrypts messages with authenticated encryption")
        }
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
        let name = start.text("cipher");
        let cipher =
            cipher(name).ok_or_else(|| StartError::Failed(format!("unknown cipher `{name}`")))?;
        check_known_answer(cipher)?;
        let sealer = Sealer::new(cipher, start.size("bytes"), start.seed)?;
        Ok(StartedWorkload { instance: Box::new(sealer), ready: ready(bytes, &start.facts) })
    }
}

fn ready(bytes: u64, facts: &Facts) -> Ready {
    let mut ready = Ready {
        work: declare::work(&[("throughput", bytes), ("operations", 1)]),
        ..Ready::default()
    };
    ready.versions.insert("ring".into(), RING.into());
    ready.notes.push("provider: ring".into());
    if !facts.cpu_features.is_empty() {
        let mut present = Vec::new();
        for feature in FEATURES {
            if facts.cpu_features.iter().any(|here| here == feature) {
                present.push(feature);
            }
        }
        let listed = if present.is_empty() { "none".into() } else { present.join(" ") };
        ready.notes.push(format!("CPU features that ring can use: {listed}"));
    }
    ready
}

impl Instance for Sealer {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.seal(iterations)
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.check()
    }

    fn shortest_sample_ns(&self) -> u64 {
        SHORTEST_SAMPLE_NS
    }
}

#[cfg(test)]
mod tests {
    use super::{RING, ready};
    use plumb_model::Facts;

    #[test]
    fn the_version_of_ring_is_the_one_that_is_built_in() {
        let lock = include_str!("../../../../../Cargo.lock");
        let entry = format!("name = \"ring\"\nversion = \"{RING}\"");
        assert!(lock.contains(&entry), "ring in Cargo.lock is not {RING}: change RING");
    }

    #[test]
    fn features_are_named_where_they_are_known() {
        let facts = Facts {
            cpu_features: vec!["fpu".into(), "aes".into(), "avx".into()],
            ..Facts::default()
        };
        assert_eq!(ready(16, &facts).notes[1], "CPU features that ring can use: aes avx");
        assert_eq!(ready(16, &Facts::default()).notes.len(), 1);
    }
}
