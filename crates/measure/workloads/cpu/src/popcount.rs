//! `cpu.popcount`: counts the bits that are set in a buffer.

use std::hint::black_box;

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{Failure, Start, StartError, Started, Workload};

use plumb_workload_kit::declare;
use plumb_workload_kit::threads::{self, Member, Team};

/// Bytes of a word.
const WORD: usize = size_of::<u64>();
/// Smallest and largest buffer, in bytes.
const SIZES: std::ops::RangeInclusive<usize> = WORD..=1 << 30;

/// The workload.
pub(super) struct Popcount;

impl Workload for Popcount {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                declare::bytes("size", 32 << 10, "buffer of each thread, in whole words"),
                declare::threads("threads that each count their own buffer, not pinned"),
            ],
            metrics: vec![
                declare::rate("rate", "B/s", "bytes counted per second, all threads together"),
                declare::time("time", "wall time of one buffer on each thread"),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("cpu.popcount", "bits that are set in a buffer")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("popcount.md")
    }

    fn start(&self, start: &Start) -> Result<Started, StartError> {
        let (size, threads) = (start.size("size"), start.size("threads").max(1));
        if !SIZES.contains(&size) {
            return Err(StartError::unsupported(
                format!("a buffer of {size} bytes is outside what this workload takes"),
                format!("set `size` between {} and {}", SIZES.start(), SIZES.end()),
            ));
        }
        let words = size / WORD;
        let team = Team::start(threads, &start.facts, move |_| Ok(Counter::new(words)))?;
        let work = declare::work(&[("rate", (words * WORD * threads) as u64)]);
        let mut ready = Ready { work, ..Ready::default() };
        threads::describe(threads, &start.facts, &mut ready);
        Ok(Started { instance: Box::new(team), ready })
    }
}

/// One thread's buffer.
struct Counter {
    words: Vec<u64>,
    expected: u64,
    found: Option<u64>,
}

impl Counter {
    fn new(count: usize) -> Self {
        let words: Vec<u64> = (0..count as u64).map(mixed).collect();
        let expected = words.iter().map(|&word| bit_by_bit(word)).sum();
        Self { words, expected, found: None }
    }
}

/// A word that looks random: SplitMix64's output function.
fn mixed(number: u64) -> u64 {
    let z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The bits of a word, one after the other: another way than the one that is measured.
fn bit_by_bit(word: u64) -> u64 {
    (0..u64::BITS).map(|bit| word >> bit & 1).sum()
}

impl Member for Counter {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            let words = black_box(&self.words);
            let found = words.iter().map(|word| u64::from(word.count_ones())).sum();
            self.found = black_box(Some(found));
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        match self.found {
            Some(found) if found != self.expected => Err(Failure(format!(
                "cpu.popcount found {found} bits, there are {}",
                self.expected
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, Member};

    #[test]
    fn the_count_is_right_and_a_changed_bit_is_found() {
        let mut counter = Counter::new(1000);
        counter.run(2).unwrap();
        counter.verify().unwrap();
        counter.words[500] ^= 1;
        counter.run(1).unwrap();
        assert!(counter.verify().unwrap_err().0.starts_with("cpu.popcount found "));
    }
}
