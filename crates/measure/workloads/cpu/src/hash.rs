//! `cpu.hash`: XXH64 of one block, repeatedly.
//!
//! The algorithm is Yann Collet's, written from its specification (`xxhash_spec.md`, version 0.2.0): four chains of
//! multiplications and rotations over stripes of 32 bytes, plain 64-bit arithmetic without vectors.

use std::hint::black_box;

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::threads::{self, Member, Team};

/// The workload `cpu.hash`: its parameters and metrics, and how it starts.
pub(super) struct Hash;

/// Smallest and largest block.
const SIZES: std::ops::RangeInclusive<u64> = 1..=1 << 30;

impl Workload for Hash {
    fn describe(&self) -> Description {
        declare::scaling(Description {
            parameters: vec![
                declare::bytes("size", 16 << 10, "size of the block"),
                declare::threads("threads, each hashing a separate block"),
                placement(),
            ],
            metrics: vec![
                declare::rate("bandwidth", "B/s", "bytes hashed per second, all threads together"),
                declare::time("time", "wall time of one hash on each thread"),
            ],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("cpu.hash", "hashes a block with XXH64")
        })
    }

    fn manual(&self) -> &'static str {
        include_str!("hash.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let size = size(start)?;
        let threads = start.size("threads").max(1);
        let seed = start.seed;
        let team = Team::placed(threads, start, move |index: usize| {
            Ok(Hasher::new(size, seed ^ index as u64))
        })?;
        let bytes = size as u64 * threads as u64;
        let mut ready = Ready { work: declare::work(&[("bandwidth", bytes)]), ..Ready::default() };
        threads::describe(threads, start, &mut ready)?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

fn size(start: &Start) -> Result<usize, StartError> {
    let size = start.integer("size");
    let needed = size.saturating_mul(start.integer("threads").max(1));
    let memory = start.facts.memory_bytes;
    if !SIZES.contains(&size) || (memory > 0 && needed > memory / 2) {
        return Err(StartError::unsupported(
            format!("a block of {size} bytes is outside the range of this workload"),
            format!("set `size` between 1 and {}", SIZES.end().min(&(memory / 2).max(1))),
        ));
    }
    Ok(start.size("size"))
}

const PRIMES: [u64; 5] = [
    0x9e37_79b1_85eb_ca87,
    0xc2b2_ae3d_27d4_eb4f,
    0x1656_67b1_9e37_79f9,
    0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5,
];

/// XXH64 of a block.
#[inline(never)]
pub(super) fn xxh64(block: &[u8], seed: u64) -> u64 {
    let stripes = block.chunks_exact(32);
    let tail = stripes.remainder();
    let hash = if block.len() < 32 { seed.wrapping_add(PRIMES[4]) } else { lanes(stripes, seed) };
    avalanche(finish(hash.wrapping_add(block.len() as u64), tail))
}

/// Four lanes, each of every fourth word.
fn lanes(stripes: std::slice::ChunksExact<u8>, seed: u64) -> u64 {
    let [one, two, ..] = PRIMES;
    let mut lanes = [
        seed.wrapping_add(one).wrapping_add(two),
        seed.wrapping_add(two),
        seed,
        seed.wrapping_sub(one),
    ];
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.chunks_exact(8)) {
            *lane = round(*lane, word_of(word));
        }
    }
    let turns = lanes.iter().zip([1, 7, 12, 18]).map(|(lane, turn)| lane.rotate_left(turn));
    let joined = turns.fold(0_u64, u64::wrapping_add);
    lanes.iter().fold(joined, |hash, lane| {
        (hash ^ round(0, *lane)).wrapping_mul(one).wrapping_add(PRIMES[3])
    })
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(PRIMES[1])).rotate_left(31).wrapping_mul(PRIMES[0])
}

/// What is left of the block: by eight bytes, four, and one.
fn finish(mut hash: u64, tail: &[u8]) -> u64 {
    let [one, two, three, four, five] = PRIMES;
    let words = tail.chunks_exact(8);
    let mut rest = words.remainder();
    for word in words {
        hash =
            (hash ^ round(0, word_of(word))).rotate_left(27).wrapping_mul(one).wrapping_add(four);
    }
    if let Some((half, bytes)) = rest.split_first_chunk() {
        let half = u64::from(u32::from_le_bytes(*half)).wrapping_mul(one);
        hash = (hash ^ half).rotate_left(23).wrapping_mul(two).wrapping_add(three);
        rest = bytes;
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(five)).rotate_left(11).wrapping_mul(one);
    }
    hash
}

fn avalanche(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(PRIMES[1]);
    hash = (hash ^ (hash >> 29)).wrapping_mul(PRIMES[2]);
    hash ^ (hash >> 32)
}

/// Of eight bytes.
fn word_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

/// One thread's block.
struct Hasher {
    block: Vec<u8>,
    expected: u64,
    /// Bits in which a hash differed.
    wrong: u64,
}

impl Hasher {
    fn new(size: usize, seed: u64) -> Self {
        let mut word = seed;
        let mut block = Vec::with_capacity(size);
        for _ in 0..size {
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            // The high bits of this generator are the random ones: its lowest bit alternates.
            block.push(word.to_be_bytes()[0]);
        }
        let expected = xxh64(&block, 0);
        Self { block, expected, wrong: 0 }
    }
}

impl Member for Hasher {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            // Collected and not compared: a branch for each hash would be timed as well.
            self.wrong |= xxh64(black_box(&self.block), 0) ^ self.expected;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        if self.wrong == 0 {
            return Ok(());
        }
        let Self { expected, wrong, .. } = self;
        Err(Failure(format!("cpu.hash: hashes differ from {expected:#018x} in bits {wrong:#018x}")))
    }

    fn checks_computation(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Hasher, Member, xxh64};

    /// The first two are of the specification's tests; all are what xxhsum prints.
    #[test]
    fn hashes_are_the_published_ones() {
        for (text, hash) in [
            ("", 0xef46_db37_51d8_e999),
            ("a", 0xd24e_c4f1_a98c_6e5b),
            ("abc", 0x44bc_2cf5_ad77_0999),
            ("Nobody inspects the spammish repetition", 0xfbce_a83c_8a37_8bf1_u64),
        ] {
            assert_eq!(xxh64(text.as_bytes(), 0), hash, "`{text}`");
        }
    }

    #[test]
    fn a_block_of_which_one_bit_changed_is_found() {
        for size in [1, 31, 32, 1000] {
            let mut hasher = Hasher::new(size, 1);
            hasher.run(2).unwrap();
            hasher.verify().unwrap();
            hasher.block[size - 1] ^= 4;
            hasher.run(1).unwrap();
            assert!(hasher.verify().unwrap_err().0.contains("in bits"));
        }
    }
}
