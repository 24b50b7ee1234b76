//! Identities: UUIDv7 from the wall clock and the kernel's random numbers (RFC 9562).

use plumb_model::Id;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::time::now;

/// An identity that no other run or invocation has. The kernel is asked directly: an empty chroot has
/// no /dev/urandom, and the usual crate falls back to it in static binaries.
#[must_use]
pub fn fresh_id() -> Id {
    let mut random = [0_u8; 10];
    let filled = getrandom(&mut random, GetRandomFlags::empty());
    let moment = now();
    if filled != Ok(random.len()) {
        random[..8].copy_from_slice(&moment.monotonic_ns.to_le_bytes());
    }
    let milliseconds = u64::try_from(moment.unix_ns / 1_000_000).unwrap_or(0);
    uuid::Builder::from_unix_timestamp_millis(milliseconds, &random).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::fresh_id;

    #[test]
    fn ids_differ_and_sort_by_time() {
        let first = fresh_id();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = fresh_id();
        assert!(first < second);
        assert_eq!(first.get_version_num(), 7);
    }
}
