//! All that chance decides in a run: the order of a round, the seeds of invocations, k of each sample.

use plumb_model::{Goal, Plan, SampleIs};
use plumb_stats::rng::Rng;

use crate::sampling::SampleCounts;

/// The random numbers of a run, all of its seed.
#[derive(Debug, Clone)]
pub struct Draws {
    rng: Rng,
    seed: u64,
    /// Whether sides are compared: both sides of a pair then draw the same.
    paired: bool,
}

impl Draws {
    /// Of a stretch of a run; a resumed run does not draw the numbers of its beginning again.
    pub fn of(plan: &Plan, segment: u32) -> Self {
        let rng = Rng::new(plan.seed.wrapping_add(u64::from(segment)));
        Self { rng, seed: plan.seed, paired: matches!(plan.goal, Goal::Verdict(_)) }
    }

    /// Puts the points of a round into a random order.
    pub fn shuffle(&mut self, points: &mut [usize]) {
        self.rng.shuffle(points);
    }

    /// The seed of the next invocation. Both sides of a pair get the same, for the same data; a process
    /// gets one of its own, since all it does with it is to draw the layout of its memory.
    pub fn invocation_seed(&mut self, sample_is: SampleIs, round: u32) -> u64 {
        let shared = self.paired && sample_is != SampleIs::Process;
        let seed = if shared { self.of_pair(round).next_u64() } else { self.rng.next_u64() };
        // The store keeps seeds as signed 64-bit integers.
        seed >> 1
    }

    /// The iterations of an invocation's samples: the same draws for both sides of a pair.
    pub fn iterations(&mut self, counts: SampleCounts, k: u64, round: u32) -> Vec<u64> {
        if self.paired {
            return counts.iterations(k, &mut self.of_pair(round));
        }
        counts.iterations(k, &mut self.rng)
    }

    /// Where in the first step of its loads a search begins, from 0 to 1: the same for both sides of a pair.
    pub fn search_shift(&mut self, round: u32) -> f64 {
        if self.paired { self.of_pair(round).uniform() } else { self.rng.uniform() }
    }

    /// The random numbers that all sides of this round share.
    fn of_pair(&self, round: u32) -> Rng {
        Rng::new(self.seed.wrapping_add(u64::from(round) << 32))
    }
}
