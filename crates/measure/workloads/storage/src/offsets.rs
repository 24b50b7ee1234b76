//! Where in the file the next block lies, and what is done to it.

use plumb_protocol::SplitMix64;

use crate::engine::BlockOperation;
use crate::share::Share;

/// In which order the blocks of the file are visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessPattern {
    /// One after the other from a random one on, then from the beginning.
    Sequential,
    /// Each one drawn again.
    Random,
}

/// The operation on blocks: the percentage of them that is read; the others are written.
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

    /// Whether some are read.
    #[must_use]
    pub fn reads(self) -> bool {
        self != Self::WRITE
    }

    /// The operation on the next block.
    pub fn draw(self, random: &mut SplitMix64) -> BlockOperation {
        match self {
            Self::READ => BlockOperation::Read,
            Self::WRITE => BlockOperation::Write,
            Self(share) if random.below(100) < share => BlockOperation::Read,
            Self(_) => BlockOperation::Write,
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
    /// Of a file of this size. Workers that visit one block after the other begin at places that are evenly spaced, and
    /// each goes through the whole file.
    #[must_use]
    pub fn new(pattern: AccessPattern, size: u64, block: usize, seed: u64, share: Share) -> Self {
        let block = block as u64;
        let blocks = size / block;
        let own = match pattern {
            AccessPattern::Sequential => seed,
            AccessPattern::Random => share.seed(seed),
        };
        let mut random = SplitMix64::new(own);
        let apart = blocks * share.number() / share.workers();
        let next = (random.below(blocks) + apart) % blocks;
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

#[cfg(test)]
mod tests {
    use super::{AccessPattern, Offsets};
    use crate::share::Share;

    fn visited(pattern: AccessPattern, number: usize, workers: usize) -> Vec<u64> {
        let share = Share::of_worker(number, workers);
        let mut offsets = Offsets::new(pattern, 12 * 4096, 4096, 7, share);
        (0..12).map(|_| offsets.draw() / 4096).collect()
    }

    #[test]
    fn each_worker_goes_through_the_whole_file_from_a_place_of_its_own() {
        let firsts: Vec<u64> = (0..4)
            .map(|number| {
                let blocks = visited(AccessPattern::Sequential, number, 4);
                let mut sorted = blocks.clone();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..12).collect::<Vec<_>>());
                assert!(blocks.windows(2).all(|two| two[1] == (two[0] + 1) % 12), "{blocks:?}");
                blocks[0]
            })
            .collect();
        assert!(firsts.windows(2).all(|two| two[1] == (two[0] + 3) % 12), "{firsts:?}");
        assert_eq!(firsts[0], visited(AccessPattern::Sequential, 0, 1)[0]);
    }

    #[test]
    fn workers_draw_different_blocks() {
        let of = |number| visited(AccessPattern::Random, number, 2);
        assert_ne!(of(0), of(1));
        assert_eq!(of(0), visited(AccessPattern::Random, 0, 1));
    }
}
