//! A small stable hash for identities: FNV-1a with 64 bits over sorted facts.

use std::collections::BTreeMap;

use plumb_model::Environment;

/// `prefix` and 16 hexadecimal digits over all facts; the same on every machine and version.
pub fn of_facts(prefix: &str, facts: &BTreeMap<String, String>) -> String {
    let lines: String = facts.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    of_bytes(prefix, lines.as_bytes())
}

/// The same over bytes.
pub fn of_bytes(prefix: &str, bytes: &[u8]) -> String {
    // FNV-1a of 64 bits: fingerprints are stored, so the hash must never change, as hashers of std may.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    format!("{prefix}:{hash:016x}")
}

/// An environment with one more fact.
#[must_use]
pub fn with_fact(environment: &Environment, name: &str, value: String) -> Environment {
    let mut facts = environment.facts.clone();
    facts.insert(name.to_owned(), value);
    Environment { fingerprint: of_facts("env1", &facts), facts }
}
