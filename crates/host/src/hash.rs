//! A small stable hash for identities: FNV-1a with 64 bits over sorted facts.

use std::collections::BTreeMap;

/// `prefix` and 16 hexadecimal digits over all facts; the same on every machine and version.
pub fn of_facts(prefix: &str, facts: &BTreeMap<String, String>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut eat = |bytes: &[u8]| {
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    for (name, value) in facts {
        eat(name.as_bytes());
        eat(b"=");
        eat(value.as_bytes());
        eat(b"\n");
    }
    format!("{prefix}:{hash:016x}")
}
