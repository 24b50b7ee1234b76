//! Recordings of a machine at work: how long fixed work of about a millisecond took, chunk after chunk, compactly.
//!
//! A file is a few lines of text, up to an empty one, and then blocks to its end, packed (deflate). A block is a [`TrafficPattern`], [`CHUNKS`]
//! chunks, and what they met: ticks of steal, and involuntary switches. A chunk is its microseconds, and those of them
//! that it was not on a CPU. All are unsigned LEB128: seven bits a byte, the least first, the eighth set if more follow.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::decompress_to_vec_with_limit;

/// Chunks of a block.
pub const CHUNKS: usize = 32;
/// The first line of a recording.
const FIRST_LINE: &str = "plumb trace 2";
/// The most that a file holds unpacked, in bytes.
const MOST_BYTES: usize = 1 << 28;
/// How hard the packer works, of 10.
const COMPRESSION_LEVEL: u8 = 9;

/// The traffic between chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrafficPattern {
    /// Nothing: one after the other.
    Stay,
    /// The CPU changes after every other block.
    Move,
    /// 10 ms of sleep after each block.
    Sleep,
    /// 10 ms of other work after each block.
    Spin,
    /// Not chunks but runs of a command of three chunks, one after the other.
    Commands,
    /// Such runs, 10 ms of sleep after each.
    CommandsSleep,
    /// Such runs, 10 ms of other work after each.
    CommandsSpin,
}

impl TrafficPattern {
    /// All, in the order of their numbers in files.
    pub const ALL: [Self; 7] = [
        Self::Stay,
        Self::Move,
        Self::Sleep,
        Self::Spin,
        Self::Commands,
        Self::CommandsSleep,
        Self::CommandsSpin,
    ];

    /// Whether its chunks are runs of a command.
    pub fn is_of_commands(self) -> bool {
        matches!(self, Self::Commands | Self::CommandsSleep | Self::CommandsSpin)
    }
}

/// Neighbours in time, and what they met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The traffic between its chunks.
    pub pattern: TrafficPattern,
    /// Microseconds of each chunk.
    pub micros: [u32; CHUNKS],
    /// Microseconds of each that it was not on a CPU; 0 if nobody looked.
    pub off_cpu: [u32; CHUNKS],
    /// Clock ticks that the hypervisor took from all CPUs meanwhile.
    pub steal: u32,
    /// How often the kernel took the CPU away.
    pub switches: u32,
}

/// A recording as it is kept in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// What it says of itself: lines of text.
    pub about: String,
    /// All blocks in order of time.
    pub blocks: Vec<Block>,
}

impl Recording {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// A sentence, if they are no recording or end in the middle of a block.
    pub fn of(bytes: &[u8]) -> Result<Self, &'static str> {
        let end =
            bytes.windows(2).position(|pair| pair == b"\n\n").ok_or("it has no text header")?;
        let text = std::str::from_utf8(&bytes[..end]).map_err(|_| "its header is not text")?;
        let about = text.strip_prefix(FIRST_LINE).ok_or("it is not a recording of this version")?;
        // The limit keeps a spoiled file from filling the memory.
        let unpacked = decompress_to_vec_with_limit(&bytes[end + 2..], MOST_BYTES)
            .map_err(|_| "it can't be unpacked")?;
        let mut rest = unpacked.iter();
        let mut blocks = Vec::new();
        while !rest.as_slice().is_empty() {
            blocks.push(block(&mut rest).ok_or("it ends in the middle of a block")?);
        }
        Ok(Self { about: about.trim().to_owned(), blocks })
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for block in &self.blocks {
            let number = TrafficPattern::ALL
                .iter()
                .position(|pattern| *pattern == block.pattern)
                .unwrap_or(0);
            put(&mut bytes, number as u32);
            for (micros, off_cpu) in block.micros.iter().zip(block.off_cpu) {
                put(&mut bytes, *micros);
                put(&mut bytes, off_cpu);
            }
            put(&mut bytes, block.steal);
            put(&mut bytes, block.switches);
        }
        let head = format!("{FIRST_LINE}\n{}\n\n", self.about).into_bytes();
        [head, compress_to_vec(&bytes, COMPRESSION_LEVEL)].concat()
    }

    /// Neighbours in time that have the same pattern.
    pub fn stretches(&self) -> impl Iterator<Item = &[Block]> {
        self.blocks.chunk_by(|one, next| one.pattern == next.pattern)
    }

    /// The longest stretch of chunks one after the other; empty if there is none.
    pub fn longest(&self) -> &[Block] {
        let stays = self.stretches().filter(|stretch| stretch[0].pattern == TrafficPattern::Stay);
        stays.max_by_key(|stretch| stretch.len()).unwrap_or_default()
    }
}

fn block(rest: &mut std::slice::Iter<u8>) -> Option<Block> {
    let pattern = *TrafficPattern::ALL.get(take(rest)? as usize)?;
    let mut micros = [0; CHUNKS];
    let mut off_cpu = [0; CHUNKS];
    for (micros, off_cpu) in micros.iter_mut().zip(&mut off_cpu) {
        *micros = take(rest)?;
        *off_cpu = take(rest)?;
    }
    Some(Block { pattern, micros, off_cpu, steal: take(rest)?, switches: take(rest)? })
}

fn put(bytes: &mut Vec<u8>, mut value: u32) {
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(rest: &mut std::slice::Iter<u8>) -> Option<u32> {
    let mut value = 0;
    for shift in (0..32).step_by(7) {
        let byte = *rest.next()?;
        value |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Block, CHUNKS, Recording, TrafficPattern, compress_to_vec};

    fn block(pattern: TrafficPattern, micros: u32) -> Block {
        let off_cpu = std::array::from_fn(|at| 100 * at as u32);
        Block { pattern, micros: [micros; CHUNKS], off_cpu, steal: 3, switches: 0 }
    }

    fn recording() -> Recording {
        let mut blocks: Vec<Block> = TrafficPattern::ALL
            .into_iter()
            .zip([0, 127, 128, 970, 16_384, 70_000, u32::MAX])
            .map(|(pattern, micros)| block(pattern, micros))
            .collect();
        blocks.extend([block(TrafficPattern::Stay, 1), block(TrafficPattern::Stay, 2)]);
        Recording { about: "machine: one\nminutes: 2".to_owned(), blocks }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Recording::of(&recording().bytes()), Ok(recording()));
    }

    #[test]
    fn what_is_no_recording_is_refused() {
        let bytes = recording().bytes();
        assert!(Recording::of(&bytes[..bytes.len() - 1]).is_err());
        assert!(Recording::of(b"plumb trace 2").is_err());
        assert!(Recording::of(b"plumb trace 1\nmachine: one\n\n").is_err());
        assert!(Recording::of(b"plumb trace 2\nmachine: one\n\n\x07").is_err());
        let cut = [b"plumb trace 2\nmachine: one\n\n".to_vec(), compress_to_vec(&[0; 3], 1)];
        assert_eq!(Recording::of(&cut.concat()), Err("it ends in the middle of a block"));
    }

    #[test]
    fn stretches_are_of_one_pattern() {
        let recording = recording();
        assert_eq!(recording.stretches().count(), 8);
        assert_eq!(recording.longest(), &recording.blocks[7..]);
    }
}
