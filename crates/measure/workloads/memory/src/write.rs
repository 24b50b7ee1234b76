//! `memory.write`: an array filled with one word.

use plumb_model::Description;
use plumb_protocol::{Failure, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::mapping::Mapping;
use plumb_workload_kit::threads::{Member, Team};

use crate::arrays::{self, Arrays};
use crate::kernels::{FillKernel, Stores};

/// The workload `memory.write`: its parameters and metrics, and how it starts.
pub(super) struct MemoryWrite;

impl Workload for MemoryWrite {
    fn describe(&self) -> Description {
        Description {
            parameters: arrays::parameters(vec![Stores::parameter()]),
            metrics: vec![arrays::bandwidth(
                "bytes written per second, each counted once, all threads together",
            )],
            ceiling: Some("stores".into()),
            ..arrays::described("memory.write", "write bandwidth: fills an array")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("write.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let stores = Stores::of(start)?;
        let arrays = Arrays::of(start, 1)?;
        let seed = start.seed;
        let team = Team::placed(arrays.threads, start, move |index: usize| {
            Filler::new(stores, arrays, seed ^ index as u64)
        })?;
        let counted = arrays.size as u64;
        let mut ready =
            arrays.ready(start, &team, counted, |filler: &Filler, see| see(&filler.to))?;
        ready.notes.push(format!(
            "each byte counts once; uncached, memory traffic is {} times that",
            stores.traffic()
        ));
        Ok(StartedWorkload { instance: Box::new(team), ready })
    }
}

/// One thread's array.
struct Filler {
    kernel: FillKernel,
    to: Mapping,
    /// What the last pass wrote.
    word: u64,
}

impl Filler {
    fn new(stores: Stores, arrays: Arrays, seed: u64) -> Result<Self, StartError> {
        let kernel = FillKernel::new(stores, arrays.width);
        Ok(Self { kernel, to: arrays.array(|_| seed)?, word: seed })
    }
}

impl Member for Filler {
    /// Another word in every pass.
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.word = self.word.wrapping_add(0x9e37_79b9_7f4a_7c15);
            self.kernel.run(self.to.words_mut(), self.word);
        }
        Ok(())
    }

    /// Every word is that of the last pass.
    fn verify(&mut self) -> Result<(), Failure> {
        match self.to.words().iter().position(|&word| word != self.word) {
            None => Ok(()),
            Some(at) => Err(Failure(format!(
                "memory.write: word {at} is {:#018x}, not {:#018x}",
                self.to.words()[at],
                self.word
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Arrays, Filler, Member, Stores};
    use plumb_workload_testing::TestPoint;

    #[test]
    fn a_word_that_was_not_written_is_found() {
        let point = TestPoint::new(crate::ALL, "memory.write", &[("size", "64KiB")]);
        let arrays = Arrays::of(&point.start, 1).unwrap();
        let mut filler = Filler::new(Stores::Regular, arrays, 1).unwrap();
        filler.run(3).unwrap();
        filler.verify().unwrap();
        filler.to.words_mut()[77] ^= 4;
        let failure = filler.verify().unwrap_err();
        assert!(failure.0.contains("word 77 is"), "{failure}");
        filler.run(1).unwrap();
        filler.verify().unwrap();
    }
}
