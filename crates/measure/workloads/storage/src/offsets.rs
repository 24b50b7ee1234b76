//! Where in the file the next block lies.

use plumb_protocol::SplitMix64;

/// In which order the blocks of the file are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessPattern {
    /// One after the other from a random one on, then from the beginning.
    Sequential,
    /// Each one drawn anew.
    Random,
}

/// Where the next block lies.
#[derive(Debug)]
pub struct Offsets {
    pattern: AccessPattern,
    random: SplitMix64,
    blocks: u64,
    block: u64,
    next: u64,
}

impl Offsets {
    /// Of a file of this size.
    #[must_use]
    pub fn new(pattern: AccessPattern, size: u64, block: usize, seed: u64) -> Self {
        let block = block as u64;
        let blocks = size / block;
        let mut random = SplitMix64::new(seed);
        let next = random.below(blocks);
        Self { pattern, random, blocks, block, next }
    }

    /// The place of the next block, in bytes.
    pub fn draw(&mut self) -> u64 {
        let offset = self.next * self.block;
        self.next = match self.pattern {
            AccessPattern::Sequential if self.next + 1 == self.blocks => 0,
            AccessPattern::Sequential => self.next + 1,
            AccessPattern::Random => self.random.below(self.blocks),
        };
        offset
    }
}
