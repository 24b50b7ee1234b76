//! Identities: UUIDv7 from the wall clock and the kernel's random numbers (RFC 9562).

use plumb_model::Id;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::time::now;

/// An identity that no other run or invocation has. The kernel is asked directly: an empty chroot has
/// no /dev/urandom, and the usual crate falls back to it in static binaries.
#[must_use]
pub fn fresh_id() -> Id {
    id_of(now().unix_ns / 1_000_000)
}

/// As many identities, each of a millisecond of its own: people type only the digits of the time, which would otherwise be
/// ambiguous. The first is of the next millisecond, so that it differs from an identity that was just made, too.
#[must_use]
pub fn fresh_ids(count: usize) -> Vec<Id> {
    let first = now().unix_ns / 1_000_000 + 1;
    (first..).take(count).map(id_of).collect()
}

fn id_of(unix_ms: i64) -> Id {
    let mut random = [0_u8; 10];
    let filled = getrandom(&mut random, GetRandomFlags::empty());
    if filled != Ok(random.len()) {
        random[..8].copy_from_slice(&now().monotonic_ns.to_le_bytes());
    }
    let milliseconds = u64::try_from(unix_ms).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plumb_model::short_id;

    use super::{fresh_id, fresh_ids};

    #[test]
    fn ids_that_are_made_together_differ_in_the_digits_that_people_type() {
        let first = fresh_id();
        let mut typed: BTreeSet<String> = fresh_ids(300).into_iter().map(short_id).collect();
        assert_eq!(typed.len(), 300);
        assert!(typed.insert(short_id(first)));
    }

    #[test]
    fn ids_differ_and_sort_by_time() {
        let first = fresh_id();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = fresh_id();
        assert!(first < second);
        assert_eq!(first.get_version_num(), 7);
    }
}
