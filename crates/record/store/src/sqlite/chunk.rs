//! Readings of a counter as bytes: most differences are small, so most take one or two bytes.

use plumb_model::Reading;

/// Packs readings: the first value, then the distance to each next reading and the difference to its
/// value. The first moment is kept apart.
pub(super) fn pack(readings: &[Reading]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(readings.len() * 6);
    let Some(first) = readings.first() else { return bytes };
    varint(&mut bytes, first.value);
    for pair in readings.windows(2) {
        varint(&mut bytes, pair[1].at_ns.wrapping_sub(pair[0].at_ns));
        varint(&mut bytes, zigzag(pair[1].value.wrapping_sub(pair[0].value)));
    }
    bytes
}

/// The other way of [`pack`]; None when the bytes are not what it makes.
pub(super) fn unpack(start_ns: u64, mut bytes: &[u8]) -> Option<Vec<Reading>> {
    let mut last = Reading { at_ns: start_ns, value: take(&mut bytes)? };
    let mut readings = vec![last];
    while !bytes.is_empty() {
        let at_ns = last.at_ns.wrapping_add(take(&mut bytes)?);
        let value = last.value.wrapping_add(unzigzag(take(&mut bytes)?));
        last = Reading { at_ns, value };
        readings.push(last);
    }
    Some(readings)
}

/// A difference that wrapped, so that small ones of either sign are small numbers.
fn zigzag(difference: u64) -> u64 {
    let signed = difference.cast_signed();
    ((signed << 1) ^ (signed >> 63)).cast_unsigned()
}

fn unzigzag(n: u64) -> u64 {
    (n >> 1) ^ (n & 1).wrapping_neg()
}

fn varint(bytes: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        bytes.push((n & 0x7f) as u8 | 0x80);
        n >>= 7;
    }
    bytes.push((n & 0x7f) as u8);
}

fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut n = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        // Ten bytes hold 64 bits; a number that goes on after that is damaged, not long.
        *bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(n);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};
    use plumb_model::Reading;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn readings_come_back(
            points in proptest::collection::vec((any::<u64>(), any::<u64>()), 1..20),
        ) {
            let reading = |&(at_ns, value): &(u64, u64)| Reading { at_ns, value };
            let readings: Vec<Reading> = points.iter().map(reading).collect();
            prop_assert_eq!(unpack(readings[0].at_ns, &pack(&readings)), Some(readings));
        }

        #[test]
        fn any_bytes_are_readings_or_nothing(bytes: Vec<u8>) {
            let _ = unpack(0, &bytes);
        }
    }

    #[test]
    fn a_counter_that_moves_a_little_is_small() {
        let reading = |i: u64| Reading { at_ns: i * 100_000_000, value: 1 << 40 | (i * 3) };
        let readings: Vec<Reading> = (0..100).map(reading).collect();
        assert!(pack(&readings).len() < 6 * readings.len());
    }
}
