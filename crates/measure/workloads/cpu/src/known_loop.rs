//! Loops whose end is known: a fixed number of operations on fixed operands, checked every time.

use plumb_protocol::{Failure, Start};

use plumb_workload_kit::threads::Member;

/// Whether an operation of a loop waits for the one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chain {
    /// Each operation takes the result of the one before: the loop shows latency.
    Dependent,
    /// Several chains run next to each other: the loop shows throughput.
    Independent,
}

impl Chain {
    /// Reads the parameter `chain`.
    pub(super) fn of(start: &Start) -> Self {
        match start.text("chain") {
            "independent" => Self::Independent,
            _ => Self::Dependent,
        }
    }
}

/// A timed loop: so many passes over the state, with constants.
pub(super) type KernelLoop = fn(state: &mut [u64], with: &[u64; CONSTANTS], passes: u64);

/// Words of constants: two vectors of the widest registers.
pub(super) const CONSTANTS: usize = 16;

/// A loop that begins again if it must have ended. The next start is computed from the last end, so that no CPU
/// begins it before: loops of one chain would overlap at their ends.
pub(super) struct KnownLoop {
    what: &'static str,
    kernel: KernelLoop,
    with: [u64; CONSTANTS],
    passes: u64,
    state: Vec<u64>,
    ends: Vec<u64>,
    /// What makes a start of an end, bit by bit.
    turns: Vec<u64>,
    wrong: u64,
}

impl KnownLoop {
    /// From `starts` to `ends`, bit for bit, in so many passes.
    pub(super) fn new(
        what: &'static str,
        kernel: KernelLoop,
        with: [u64; CONSTANTS],
        passes: u64,
        (starts, ends): (Vec<u64>, Vec<u64>),
    ) -> Self {
        let turns = starts.iter().zip(&ends).map(|(start, end)| start ^ end).collect();
        Self { what, kernel, with, passes, state: starts, ends, turns, wrong: 0 }
    }
}

impl Member for KnownLoop {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            (self.kernel)(&mut self.state, &self.with, self.passes);
            for ((word, end), turn) in self.state.iter_mut().zip(&self.ends).zip(&self.turns) {
                self.wrong |= *word ^ end;
                *word ^= turn;
            }
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        if self.wrong == 0 {
            return Ok(());
        }
        Err(Failure(format!(
            "{}: results differ from the exact ones in bits {:#018x}",
            self.what, self.wrong
        )))
    }

    fn checks_computation(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{CONSTANTS, KnownLoop};
    use plumb_workload_kit::threads::Member;

    fn add(state: &mut [u64], with: &[u64; CONSTANTS], passes: u64) {
        state.iter_mut().for_each(|word| *word = word.wrapping_add(with[0] * passes));
    }

    #[test]
    fn a_damaged_state_and_a_loop_that_does_less_are_found() {
        let known = |ends| KnownLoop::new("test", add, [3; CONSTANTS], 5, (vec![1, 2], ends));
        let mut right = known(vec![16, 17]);
        right.run(4).unwrap();
        right.verify().unwrap();
        right.state[1] ^= 64;
        right.run(1).unwrap();
        assert!(right.verify().unwrap_err().0.contains("in bits"));
        let mut less = known(vec![19, 20]);
        less.run(2).unwrap();
        assert!(less.verify().is_err());
    }
}
