//! Where in the file the next block lies, and what is done to it.

use plumb_protocol::SplitMix64;

use crate::engine::Operation;

/// In which order the blocks of the file are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessPattern {
    /// One after the other from a random one on, then from the beginning.
    Sequential,
    /// Each one drawn anew.
    Random,
}

/// What is done to blocks: a share of them, in percent, is read, and the others are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mix(pub u64);

impl Mix {
    /// All are read.
    pub const READ: Self = Self(100);
    /// All are written.
    pub const WRITE: Self = Self(0);

    /// Whether some are written.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Self::READ
    }

    /// What is done to the next block.
    pub fn draw(self, random: &mut SplitMix64) -> Operation {
        match self {
            Self::READ => Operation::Read,
            Self::WRITE => Operation::Write,
            Self(share) if random.below(100) < share => Operation::Read,
            Self(_) => Operation::Write,
        }
    }

    /// What was done to all of them, in words.
    #[must_use]
    pub fn done(self) -> &'static str {
        match self {
            Self::READ => "read",
            Self::WRITE => "written",
            Self(_) => "read or written",
        }
    }
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
