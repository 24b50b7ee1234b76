//! The contents of entities: bytes that follow from the key and a generation, so that a reader knows which it must find.

use plumb_protocol::SplitMix64;

/// Places in the pool at which a body can begin.
const STARTS: u64 = 4096;

/// Bytes at the start of a record that hold its number and generation.
pub(super) const STAMP_BYTES: usize = 16;

/// Bytes before a record of an entity that holds several: its length, little-endian.
const LENGTH_BYTES: usize = 4;

/// The number and generation of a record, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) number: i64,
    pub(super) generation: u64,
}

impl Stamp {
    /// The stamp of a record that was read; None if it is too short to have one.
    pub(super) fn of(record: &[u8]) -> Option<Self> {
        let (number, rest) = record.split_first_chunk()?;
        let (generation, _) = rest.split_first_chunk()?;
        Some(Self {
            number: i64::from_le_bytes(*number),
            generation: u64::from_le_bytes(*generation),
        })
    }
}

/// Bodies of one size.
#[derive(Debug, Clone)]
pub(super) struct Contents {
    pool: Vec<u8>,
    body: Vec<u8>,
    record_bytes: usize,
    records: i64,
}

impl Contents {
    /// Bodies of one record of `bytes` bytes, at least [`STAMP_BYTES`], or of several with their lengths.
    pub(super) fn new(bytes: usize, records: u32, seed: u64) -> Self {
        let mut pool = vec![0; bytes + 4096];
        SplitMix64::new(seed).fill(&mut pool);
        let body = vec![0; Self::body_bytes(bytes, records)];
        Self { pool, body, record_bytes: bytes, records: i64::from(records) }
    }

    /// The size of the body of an entity that holds so many records.
    pub(super) fn body_bytes(record_bytes: usize, records: u32) -> usize {
        match records {
            0 | 1 => record_bytes,
            several => (LENGTH_BYTES + record_bytes).saturating_mul(several as usize),
        }
    }

    /// The body of the entity `key` in this generation. Costs a copy of the body and no allocation.
    pub(super) fn body(&mut self, key: i64, generation: u64) -> &[u8] {
        if self.records <= 1 {
            record(&self.pool, key, generation, &mut self.body);
            return &self.body;
        }
        let length = u32::try_from(self.record_bytes).unwrap_or(u32::MAX).to_le_bytes();
        let first = (key - 1) * self.records + 1;
        let places = self.body.chunks_exact_mut(LENGTH_BYTES + self.record_bytes);
        for (number, place) in (first..).zip(places) {
            let (head, place) = place.split_at_mut(LENGTH_BYTES);
            head.copy_from_slice(&length);
            record(&self.pool, number, generation, place);
        }
        &self.body
    }
}

/// Writes the record of this number: a stretch of the random pool, with number and generation in front.
fn record(pool: &[u8], number: i64, generation: u64, out: &mut [u8]) {
    let mixed = SplitMix64::new(number.cast_unsigned() ^ (generation << 40)).next_u64();
    let start = usize::try_from(mixed % STARTS).unwrap_or(0);
    out.copy_from_slice(&pool[start..start + out.len()]);
    out[..8].copy_from_slice(&number.to_le_bytes());
    out[8..STAMP_BYTES].copy_from_slice(&generation.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::{Contents, Stamp};

    #[test]
    fn bodies_follow_from_key_and_generation() {
        let mut contents = Contents::new(100, 1, 1);
        let first = contents.body(1, 1).to_vec();
        assert_ne!(first, contents.body(2, 1));
        assert_ne!(first[16..], contents.body(1, 2)[16..]);
        assert_eq!(first, contents.body(1, 1));
        assert_eq!(first, Contents::new(100, 1, 1).body(1, 1));
        assert_eq!(Stamp::of(&first), Some(Stamp { number: 1, generation: 1 }));
        assert_eq!(Stamp::of(&first[..15]), None);
    }

    #[test]
    fn packed_records_are_those_of_entities_of_their_own() {
        let mut single = Contents::new(100, 1, 1);
        let mut packed = Contents::new(100, 3, 1);
        let body = packed.body(2, 7).to_vec();
        assert_eq!(body.len(), Contents::body_bytes(100, 3));
        for (record, number) in body.chunks_exact(104).zip(4..) {
            assert_eq!(record[..4], 100_u32.to_le_bytes());
            assert_eq!(record[4..], *single.body(number, 7));
        }
    }
}
