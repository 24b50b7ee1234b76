//! The unit of independence: a stretch of neighbours in time, of a length that the data say.
//!
//! Noise of a shared host has a memory of seconds. As for one long series ([`crate::long_run`], after Glynn & Whitt
//! 1991), neighbours are joined until the sums of stretches are no more alike than chance makes them, and what is left
//! of their correlation is corrected for. Where single processes pass, nothing is joined and nothing is corrected:
//! on independent noise precision takes 1.00 to 1.10 times the samples.

use crate::Interval;
use crate::describe::{lag_one, median_of, variance_of};
use crate::distribution::two_sided_t;
use crate::long_run::{CHANCE, MOST_CORRELATED};

/// With fewer processes than this, their correlation is not known well enough to correct for.
const FEWEST_PROCESSES: usize = 16;
/// A lag-1 correlation of so few processes that no chance explains exceeds 1.64/sqrt(n), one time in twenty.
const BEYOND_CHANCE: f64 = 1.64;
/// Stretches are not joined to fewer than this.
const FEWEST_STRETCHES: usize = 8;

/// Which processes belong together, and what that costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Stretches {
    /// Neighbours in a stretch; the first stretch may have fewer.
    pub length: usize,
    /// What the variance over stretches is multiplied by, for the correlation that is left: 1 or more.
    pub widening: f64,
    /// Whether stretches became long enough to look independent.
    pub resolved: bool,
    processes: usize,
}

impl Stretches {
    /// From the excess of each process at the estimate, in the order in which they were taken.
    pub fn of(excess: &[f64]) -> Self {
        let processes = excess.len();
        let root = (processes as f64).sqrt();
        let alone = Self::alone(processes);
        let correlation = lag_one(excess);
        if processes < FEWEST_PROCESSES {
            // Too few to correct for: the interval stays as it is, and only says whether it can be trusted.
            return Self { resolved: correlation <= BEYOND_CHANCE / root, ..alone };
        }
        if correlation <= CHANCE / root {
            return alone;
        }
        let mut found = alone;
        loop {
            let sums = found.sums(excess);
            let count = sums.len();
            let correlation = lag_one(&sums);
            found.resolved = correlation <= CHANCE / (count as f64).sqrt();
            if found.resolved || count / 2 < FEWEST_STRETCHES {
                // A correlation of n values is too low by about 1/n (Kendall 1954); with eight stretches that is a lot.
                let left = (correlation + 1.0 / count as f64).clamp(0.0, MOST_CORRELATED);
                found.widening = (1.0 + left) / (1.0 - left);
                return found;
            }
            found.length *= 2;
        }
    }

    /// Every process by itself.
    pub fn alone(processes: usize) -> Self {
        Self { length: 1, widening: 1.0, resolved: true, processes }
    }

    /// Whether no process is joined with another, and nothing is corrected.
    pub fn are_alone(&self) -> bool {
        self.length == 1 && self.widening <= 1.0
    }

    /// The stretch that holds a process.
    pub fn holding(&self, process: usize) -> usize {
        self.count() - 1 - (self.processes - 1 - process) / self.length
    }

    /// The sums over each stretch.
    pub fn sums(&self, excess: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.count()];
        excess.iter().enumerate().for_each(|(process, r)| sums[self.holding(process)] += r);
        sums
    }

    /// An interval of the median no wider than t on the medians of stretches gives, for the correlation that is left:
    /// few stretches refuse few samples, and none if they are alike. Other quantiles, and processes of which none are
    /// joined, keep what they have.
    pub fn narrowed(
        &self,
        found: Interval,
        processes: &[&[f64]],
        (q, level): (f64, f64),
    ) -> Interval {
        if self.length == 1 || q != 0.5 {
            return found;
        }
        let mut samples = vec![Vec::new(); self.count()];
        let all = processes.iter().enumerate();
        all.for_each(|(process, its)| samples[self.holding(process)].extend_from_slice(its));
        let medians: Vec<f64> = samples.iter().map(|its| median_of(its)).collect();
        // The steps of a coarse clock make medians tie, and t takes what ties for exact.
        if tie(&medians) {
            return found;
        }
        let count = medians.len() as f64;
        let error = (self.widening * variance_of(&medians) / count).sqrt();
        let half = two_sided_t(level, count - 1.0) * error;
        let Interval { estimate, low, high } = found;
        Interval { estimate, low: low.max(estimate - half), high: high.min(estimate + half) }
    }

    fn count(&self) -> usize {
        self.processes.div_ceil(self.length)
    }
}

/// Whether two of these are equal.
fn tie(values: &[f64]) -> bool {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.windows(2).any(|two| two[0].total_cmp(&two[1]).is_eq())
}

#[cfg(test)]
mod tests {
    use super::Stretches;
    use crate::Interval;
    use crate::rng::Rng;

    /// Signs of noise whose neighbours correlate.
    fn signs(rho: f64, count: usize, rng: &mut Rng) -> Vec<f64> {
        let mut state = rng.normal();
        (0..count)
            .map(|_| {
                state = rho * state + (1.0 - rho * rho).sqrt() * rng.normal();
                0.5f64.copysign(state)
            })
            .collect()
    }

    #[test]
    fn independent_processes_mostly_stay_alone() {
        let mut rng = Rng::new(17);
        for count in [10, 20, 100] {
            let found = (0..500).map(|_| Stretches::of(&signs(0.0, count, &mut rng)));
            let alone =
                found.filter(|stretches| stretches.length == 1 && stretches.resolved).count();
            assert!(alone > 375, "{count}: {alone} of 500");
        }
    }

    #[test]
    fn neighbours_that_are_alike_are_joined() {
        let mut rng = Rng::new(18);
        let found: Vec<_> = (0..100).map(|_| Stretches::of(&signs(0.8, 2000, &mut rng))).collect();
        assert!(found.iter().all(|stretches| stretches.length > 1), "{found:?}");
        assert!(found.iter().filter(|stretches| stretches.resolved).count() > 90);
        // Half slow, half fast: no number of these seconds says what the others are like.
        let steps: Vec<f64> = (0..64).map(|at| if at < 32 { -0.5 } else { 0.5 }).collect();
        let found = Stretches::of(&steps);
        assert!(!found.resolved && found.length == 8, "{found:?}");
    }

    #[test]
    fn stretches_that_are_alike_still_bound_the_median() {
        let mut rng = Rng::new(19);
        let excess = signs(0.99, 400, &mut rng);
        let found = Stretches::of(&excess);
        let values: Vec<f64> = excess.iter().map(|sign| 100.0 + sign + rng.normal()).collect();
        let processes: Vec<&[f64]> = values.chunks(1).collect();
        let all = Interval { estimate: 100.0, low: 90.0, high: 110.0 };
        let narrowed = found.narrowed(all, &processes, (0.5, 0.95));
        let half = narrowed.high - 100.0;
        assert!(found.length > 1 && (0.2..3.0).contains(&half), "{half}");
        assert_eq!(found.narrowed(all, &processes, (0.9, 0.95)), all);
        assert_eq!(Stretches::alone(400).narrowed(all, &processes, (0.5, 0.95)), all);
        // A coarse clock: what ties is not known exactly.
        let stepped: Vec<[f64; 1]> = (0..400).map(|at| [f64::from(at % 3)]).collect();
        let stepped: Vec<&[f64]> = stepped.iter().map(<[f64; 1]>::as_slice).collect();
        assert_eq!(found.narrowed(all, &stepped, (0.5, 0.95)), all);
    }

    #[test]
    fn every_process_is_in_a_stretch() {
        let mut found = Stretches::of(&[0.0; 21]);
        found.length = 4;
        let of: Vec<usize> = (0..21).map(|process| found.holding(process)).collect();
        assert_eq!(of[0], 0);
        assert_eq!(of[1..5], [1; 4]);
        assert_eq!(of[17..], [5; 4]);
        assert_eq!(found.sums(&[1.0; 21]), [1.0, 4.0, 4.0, 4.0, 4.0, 4.0]);
    }
}
