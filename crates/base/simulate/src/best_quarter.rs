//! The lower quartile of costs over processes: does its interval hold the true one, on quiet, disturbed and clustered
//! noise?
//!
//! Coverage is promised if processes are independent. If neighbours are alike, a first rule failed: as few as half of its
//! intervals held the truth. The present rule refuses more often, and the share of all runs that print an interval
//! which misses was bounded before it was simulated here.

use plumb_stats::distribution::normal_cdf;
use plumb_stats::precision::best_quarter;
use plumb_stats::rng::Rng;

use crate::bars::{Bar, BarSeries, ValidationRow};

/// The promise of the rows with independent processes.
const COVERED: &str = "95 % interval of the lower quartile over processes";
/// The promise of the rows whose neighbours are alike.
const MISSED: &str = "runs whose printed interval misses the lower quartile";
/// Coverage that is promised if processes are independent.
const COVERAGE: f64 = 0.94;
/// Runs that may print an interval which misses, if processes are not independent.
const MISSES: f64 = 0.06;
/// The level of the intervals.
const LEVEL: f64 = 0.95;
/// Numbers of processes: the fewest, a usual run, and a long one.
const PROCESSES: [usize; 4] = [13, 20, 40, 100];
/// Standard deviation of the log cost of an undisturbed process.
const SD: f64 = 0.03;
/// What a disturbance adds to a log cost: 50 %.
const DISTURBANCE: f64 = 0.405;
/// Replications are cheap here, so there are so many times more.
const CHEAPER: u64 = 5;

/// How processes of a machine differ.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProcessSpread {
    /// What the report calls it.
    name: &'static str,
    /// The share of processes that something else disturbs.
    disturbed: f64,
    /// The mean number of disturbed neighbours in a row; 1 if each is disturbed by itself.
    burst: f64,
    /// Correlation of the undisturbed log costs of neighbours.
    correlation: f64,
    /// What is promised.
    promise: Promise,
}

/// What is promised of a machine.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Promise {
    /// Intervals that are printed hold the truth.
    Coverage,
    /// Few runs print an interval that misses.
    FewMisses,
    /// Nothing, for this reason.
    Nothing(&'static str),
}

const QUIET: ProcessSpread = ProcessSpread {
    name: "quiet: lognormal 3 %",
    disturbed: 0.0,
    burst: 1.0,
    correlation: 0.0,
    promise: Promise::Coverage,
};

const MACHINES: [ProcessSpread; 8] = [
    QUIET,
    ProcessSpread { name: "a third of the processes disturbed", disturbed: 0.33, ..QUIET },
    ProcessSpread { name: "two thirds of the processes disturbed", disturbed: 0.67, ..QUIET },
    ProcessSpread {
        name: "bursts: a third disturbed, 4 in a row",
        disturbed: 0.33,
        burst: 4.0,
        promise: Promise::FewMisses,
        ..QUIET
    },
    ProcessSpread {
        name: "clustered: correlation between neighbours .3",
        correlation: 0.3,
        promise: Promise::FewMisses,
        ..QUIET
    },
    ProcessSpread {
        name: "clustered: correlation between neighbours .5",
        correlation: 0.5,
        promise: Promise::FewMisses,
        ..QUIET
    },
    ProcessSpread {
        name: "clustered: correlation between neighbours .8",
        correlation: 0.8,
        promise: Promise::FewMisses,
        ..QUIET
    },
    ProcessSpread {
        name: "bursts: two thirds disturbed, 8 in a row",
        disturbed: 0.67,
        burst: 8.0,
        promise: Promise::Nothing("a burst may last as long as the run"),
        ..QUIET
    },
];

impl ProcessSpread {
    /// The costs of so many processes in a row.
    fn costs(&self, count: usize, rng: &mut Rng) -> Vec<f64> {
        let mut level = rng.normal();
        let mut is_disturbed = rng.uniform() < self.disturbed;
        let mut costs = Vec::with_capacity(count);
        for _ in 0..count {
            let rho = self.correlation;
            level = rho * level + (1.0 - rho * rho).sqrt() * rng.normal();
            is_disturbed = self.next(is_disturbed, rng);
            let added = if is_disturbed { DISTURBANCE } else { 0.0 };
            costs.push((SD * level + added).exp());
        }
        costs
    }

    /// Whether the next process is disturbed: a Markov chain with the wanted share and length of bursts.
    fn next(&self, is_disturbed: bool, rng: &mut Rng) -> bool {
        if self.burst <= 1.0 {
            return rng.uniform() < self.disturbed;
        }
        let leave = 1.0 / self.burst;
        let enter = leave * self.disturbed / (1.0 - self.disturbed);
        let changes = rng.uniform() < if is_disturbed { leave } else { enter };
        is_disturbed != changes
    }

    /// The true lower quartile: of all processes that there could be, found by halving.
    fn truth(&self) -> f64 {
        let mut low = -1.0;
        let mut high = 1.0;
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let below = (1.0 - self.disturbed) * normal_cdf(middle / SD)
                + self.disturbed * normal_cdf((middle - DISTURBANCE) / SD);
            if below < 0.25 {
                low = middle;
            } else {
                high = middle;
            }
        }
        low.exp()
    }
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for machine in MACHINES {
        for count in PROCESSES {
            report(coverage(machine, count, CHEAPER * replications));
        }
    }
}

/// How often an interval that is printed holds the truth, and how often one that is printed does not.
fn coverage(machine: ProcessSpread, count: usize, replications: u64) -> ValidationRow {
    let truth = machine.truth();
    let mut printed = 0;
    let mut hits = 0;
    for seed in 0..replications {
        let costs = machine.costs(count, &mut Rng::new(seed));
        let Ok(interval) = best_quarter(&costs, LEVEL) else { continue };
        printed += 1;
        hits += u64::from(interval.contains(truth));
    }
    let covered = BarSeries::Share { hits, trials: printed };
    let missed = BarSeries::Share { hits: printed - hits, trials: replications };
    let (promise, bar, measured) = match machine.promise {
        Promise::Coverage => (COVERED, Bar::AtLeast(COVERAGE), covered),
        Promise::FewMisses => (MISSED, Bar::AtMost(MISSES), missed),
        Promise::Nothing(why) => (MISSED, Bar::Exempt(why), missed),
    };
    ValidationRow {
        promise,
        setting: format!("{}, {count} processes", machine.name),
        bar,
        measured,
        note: format!("printed in {:.2} of the runs", printed as f64 / replications as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::{MACHINES, Rng};

    #[test]
    fn a_quarter_of_all_processes_lies_below_the_truth() {
        for machine in MACHINES {
            let costs = machine.costs(200_000, &mut Rng::new(3));
            let truth = machine.truth();
            let below = costs.iter().filter(|cost| **cost < truth).count();
            let share = below as f64 / costs.len() as f64;
            assert!((share - 0.25).abs() < 0.01, "{}: {share}", machine.name);
        }
    }
}
