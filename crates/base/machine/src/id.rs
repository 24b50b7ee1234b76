//! Identities: UUIDv7 from the wall clock and the kernel's random numbers (RFC 9562).

use std::sync::atomic::{AtomicI64, Ordering};

use plumb_model::Id;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::time::now;

/// An identity that no other run or invocation has. The kernel is asked directly: an empty chroot has
/// no /dev/urandom, and the usual crate falls back to it in static binaries.
#[must_use]
pub fn fresh_id() -> Id {
    id_of(now().unix_ns / 1_000_000)
}

/// The last millisecond that [`fresh_ids`] gave to an identity.
static LAST_MS: AtomicI64 = AtomicI64::new(0);

/// As many identities, each of a millisecond of its own: people type only the digits of the time, which would otherwise be
/// ambiguous. They begin with the next millisecond, or after those of the last call in this process, so that many identities are
/// ahead of the clock. Those of another process may share their digits.
#[must_use]
pub fn fresh_ids(count: usize) -> Vec<Id> {
    let next_ms = now().unix_ns / 1_000_000 + 1;
    let first = next_ms.max(LAST_MS.load(Ordering::Relaxed) + 1);
    let ids: Vec<Id> = (first..).take(count).map(id_of).collect();
    LAST_MS.fetch_max(first + ids.len() as i64, Ordering::Relaxed);
    ids
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
        let both = fresh_ids(300).into_iter().chain(fresh_ids(300));
        let mut typed: BTreeSet<String> = both.map(short_id).collect();
        assert_eq!(typed.len(), 600);
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
