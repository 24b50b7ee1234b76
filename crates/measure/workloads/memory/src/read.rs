//! `memory.read`: the sum of an array.

use plumb_model::Description;
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::mapping::Mapping;
use plumb_workload_kit::threads::{Member, Team};

use crate::arrays::{self, Arrays};
use crate::kernels::SumKernel;

/// The workload `memory.read`: its parameters and metrics, and how it starts.
pub(super) struct MemoryRead;

impl Workload for MemoryRead {
    fn describe(&self) -> Description {
        Description {
            parameters: arrays::parameters(Vec::new()),
            metrics: vec![arrays::bandwidth("bytes read per second, all threads together")],
            ..arrays::described("memory.read", "read bandwidth: adds up the words of an array")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("read.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let arrays = Arrays::of(start, 1)?;
        let seed = start.seed;
        let team = Team::placed(arrays.threads, start, move |index: usize| {
            ArraySum::new(arrays, seed ^ index as u64)
        })?;
        let counted = arrays.size as u64;
        let ready =
            arrays.ready(start, &team, counted, |reader: &ArraySum, see| see(&reader.from))?;
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

/// One thread's array.
struct ArraySum {
    kernel: SumKernel,
    from: Mapping,
    /// The sum of the array.
    expected: u64,
    /// The sums of all iterations since the last check, and their number.
    sum: u64,
    sums: u64,
}

impl ArraySum {
    fn new(arrays: Arrays, seed: u64) -> Result<Self, StartError> {
        // Words of which no two are equal: a sum that leaves one out or takes one twice is wrong.
        let from = arrays.array(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed))?;
        let expected = plain_sum(from.words());
        Ok(Self { kernel: SumKernel::new(arrays.width), from, expected, sum: 0, sums: 0 })
    }
}

fn plain_sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word))
}

impl Member for ArraySum {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.sum = self.sum.wrapping_add(self.kernel.run(self.from.words()));
        }
        self.sums += iterations;
        Ok(())
    }

    /// Compares the sum of all sums, then changes a word of each page, so that the next batch comes to another.
    fn verify(&mut self) -> Result<(), Failure> {
        let expected = self.expected.wrapping_mul(self.sums);
        if self.sum != expected {
            return Err(Failure(format!(
                "memory.read: {} passes add up to {:#018x}, not {expected:#018x}",
                self.sums, self.sum
            )));
        }
        arrays::change_pages(&mut self.from, |word| word.wrapping_add(1));
        self.expected = plain_sum(self.from.words());
        (self.sum, self.sums) = (0, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ArraySum, Arrays, Member};
    use plumb_workload_testing::TestPoint;

    #[test]
    fn a_pass_that_was_not_made_or_read_something_else_is_found() {
        let point = TestPoint::new(crate::ALL, "memory.read", &[("size", "64KiB")]);
        let mut reader = ArraySum::new(Arrays::of(&point.start, 1).unwrap(), 1).unwrap();
        reader.run(3).unwrap();
        reader.verify().unwrap();
        reader.sums = 1;
        let failure = reader.verify().unwrap_err();
        assert!(failure.0.contains("1 passes add up to"), "{failure}");
        reader.sums = 0;
        reader.from.words_mut()[77] ^= 4;
        reader.run(1).unwrap();
        assert!(reader.verify().is_err());
    }
}
