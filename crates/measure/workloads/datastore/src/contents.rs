//! What entities hold: bytes that follow from the key and a generation, so that a reader knows what
//! it must find.

use plumb_protocol::SplitMix64;

/// Places in the pool at which a body can begin.
const STARTS: u64 = 4096;

/// Bytes at the start of a body that hold its key and generation.
pub(super) const STAMP_BYTES: usize = 16;

/// Bodies of one size.
#[derive(Debug)]
pub(super) struct Contents {
    pool: Vec<u8>,
    body: Vec<u8>,
}

impl Contents {
    /// Bodies of `bytes` bytes, at least [`STAMP_BYTES`].
    pub(super) fn new(bytes: usize, seed: u64) -> Self {
        let mut pool = vec![0; bytes + 4096];
        SplitMix64::new(seed).fill(&mut pool);
        Self { pool, body: vec![0; bytes] }
    }

    /// The body of the entity `key` in this generation: a stretch of the random pool, with key and
    /// generation in front. Costs a copy of the body and no allocation.
    pub(super) fn body(&mut self, key: i64, generation: u64) -> &[u8] {
        let mixed = SplitMix64::new(key.cast_unsigned() ^ (generation << 40)).next_u64();
        let start = usize::try_from(mixed % STARTS).unwrap_or(0);
        let end = start + self.body.len();
        self.body.copy_from_slice(&self.pool[start..end]);
        self.body[..8].copy_from_slice(&key.to_le_bytes());
        self.body[8..STAMP_BYTES].copy_from_slice(&generation.to_le_bytes());
        &self.body
    }
}

#[cfg(test)]
mod tests {
    use super::Contents;

    #[test]
    fn bodies_follow_from_key_and_generation() {
        let mut contents = Contents::new(100, 1);
        let first = contents.body(1, 1).to_vec();
        assert_ne!(first, contents.body(2, 1));
        assert_ne!(first[16..], contents.body(1, 2)[16..]);
        assert_eq!(first, contents.body(1, 1));
        assert_eq!(first, Contents::new(100, 1).body(1, 1));
    }
}
