//! The two levels of a result, where processes or samples lie in two groups: what stands in place of a median between
//! them (docs/method.md, *Levels*).

use std::collections::BTreeSet;

use plumb_model::{Interference, InvocationRecord, MARGIN, Metric};
use plumb_stats::describe::median;
use plumb_stats::levels::{LevelPair, LevelsOf, share};

use crate::asked::Asked;
use crate::comparison::covariates::{
    CounterMeans, Covariate, rates_that_differ, shares_that_differ,
};
use crate::estimate::{Estimate, estimate, median_of_processes};
use crate::method::CONFIDENCE;
use crate::one_run::point_data::PointData;

/// An invocation is of a level where at least this share of its samples is.
const MOSTLY: f64 = 2.0 / 3.0;

/// The two levels of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoLevels {
    /// What lies on them.
    pub of: LevelsOf,
    /// Values up to this are of the lower level, in the metric's unit.
    pub boundary: f64,
    /// How often neighbours in time lie on different levels.
    pub switches: usize,
    /// The lower level.
    pub lower: Level,
    /// The upper level.
    pub upper: Level,
    /// What was different next to the upper level.
    pub covariates: Asked<Vec<Covariate>>,
}

/// One of two levels.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// The median of what lies on it, in the metric's unit, with its interval.
    pub estimate: Estimate,
    /// The share of the processes, or samples, that lie on it, with its interval.
    pub share: Estimate,
    /// How many of them.
    pub count: usize,
}

impl TwoLevels {
    /// The levels of these processes, each its steady values; None where they have one. `apart` is the relative
    /// distance that matters, `level` that of the intervals of medians.
    pub(crate) fn of(processes: &[&[f64]], apart: Option<f64>, level: f64) -> Option<Self> {
        // If no precision is wanted, levels matter that are a margin apart.
        let found = LevelPair::of(processes, apart.unwrap_or(MARGIN))?;
        let is_upper = |value: f64| value > found.boundary;
        let parted: Vec<[Vec<f64>; 2]> = processes
            .iter()
            .map(|values| match found.of {
                LevelsOf::Processes if median(values).is_some_and(is_upper) => {
                    [Vec::new(), values.to_vec()]
                }
                LevelsOf::Processes => [values.to_vec(), Vec::new()],
                LevelsOf::Samples => {
                    let (upper, lower) = values.iter().partition(|&&value| is_upper(value));
                    [lower, upper]
                }
            })
            .collect();
        let size = |values: &[f64]| match found.of {
            LevelsOf::Processes => usize::from(!values.is_empty()),
            LevelsOf::Samples => values.len(),
        };
        let one = |which: usize| {
            let own = |parts: &[Vec<f64>; 2]| size(&parts[which]);
            let counts: Vec<(usize, usize)> = parted
                .iter()
                .map(|parts| (own(parts), size(&parts[0]) + size(&parts[1])))
                .collect();
            let values: Vec<&[f64]> = parted
                .iter()
                .map(|parts| parts[which].as_slice())
                .filter(|process| !process.is_empty())
                .collect();
            Some(Level {
                estimate: median_of_processes(&values, level)?.estimate,
                share: share_of(&counts)?,
                count: counts.iter().map(|(own, _)| own).sum(),
            })
        };
        let lower = one(0)?;
        let upper = one(1)?;
        let of = found.of;
        let boundary = found.boundary;
        let switches = found.switches;
        Some(Self { of, boundary, switches, lower, upper, covariates: Asked::NotAsked })
    }

    /// Both levels, the one with the larger share first; the lower one if they are equal.
    #[must_use]
    pub fn by_share(&self) -> [&Level; 2] {
        if self.upper.count > self.lower.count {
            [&self.upper, &self.lower]
        } else {
            [&self.lower, &self.upper]
        }
    }

    /// How far the upper level lies above the lower one, relative to it.
    #[must_use]
    pub fn apart(&self) -> f64 {
        self.upper.estimate.value / self.lower.estimate.value - 1.0
    }

    /// `processes` or `samples`.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        match self.of {
            LevelsOf::Processes => "processes",
            LevelsOf::Samples => "samples",
        }
    }
}

/// The share of the first of two counts in the second, with its interval.
pub(crate) fn share_of(counts: &[(usize, usize)]) -> Option<Estimate> {
    let (own, all) = counts.iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    let value = own as f64 / all as f64;
    value.is_finite().then(|| estimate(value, share(counts, CONFIDENCE)))
}

/// What was different beside the upper level: the CPUs of samples, other work that disturbed invocations, and the rates of
/// the machine and of the work itself.
pub(crate) fn beside_upper(
    data: &PointData,
    metric: &Metric,
    levels: &TwoLevels,
    counters: &CounterMeans,
) -> Vec<Covariate> {
    let [lower, upper] = invocations_of(data, metric, levels);
    let [lower_cpus, upper_cpus] = cpus_of(data, metric, levels);
    let disturbed = |group: &[&InvocationRecord]| -> Vec<BTreeSet<String>> {
        let rule = |interference: &Interference| format!("invocations with {}", interference.rule);
        group.iter().map(|invocation| invocation.interference.iter().map(rule).collect()).collect()
    };
    let mut told = shares_that_differ(&lower_cpus, &upper_cpus);
    told.extend(shares_that_differ(&disturbed(&lower), &disturbed(&upper)));
    let rates = rates_that_differ(&lower, &upper, counters);
    let (own, others) = rates.into_iter().partition::<Vec<_>, _>(is_own);
    told.extend(others.into_iter().chain(own));
    told
}

/// The invocations that lie on the lower and on the upper level, as far as they can be told apart.
fn invocations_of<'r>(
    data: &PointData<'r>,
    metric: &Metric,
    levels: &TwoLevels,
) -> [Vec<&'r InvocationRecord>; 2] {
    let mut all = [Vec::new(), Vec::new()];
    for &invocation in &data.invocations {
        let values = invocation.steady(metric).unwrap_or_default();
        let upper = values.iter().filter(|&&value| value > levels.boundary).count();
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
        let share = upper as f64 / values.len() as f64;
        if share >= MOSTLY {
            all[1].push(invocation);
        } else if share <= 1.0 - MOSTLY {
            all[0].push(invocation);
        }
    }
    all
}

/// The CPUs on which the samples of the lower and of the upper level ended, where that is known.
fn cpus_of(data: &PointData, metric: &Metric, levels: &TwoLevels) -> [Vec<BTreeSet<String>>; 2] {
    let mut all = [Vec::new(), Vec::new()];
    for &invocation in &data.invocations {
        let values = invocation.steady(metric).unwrap_or_default();
        let cpus = invocation.samples.cpu.iter().skip(invocation.steady_start());
        for (&value, cpu) in values.iter().zip(cpus).filter(|(_, cpu)| **cpu >= 0) {
            let name = BTreeSet::from([format!("samples on CPU {cpu}")]);
            all[usize::from(value > levels.boundary)].push(name);
        }
    }
    all
}

/// Whether a rate is of the work itself: one that takes longer does less a second whatever made it so.
fn is_own(covariate: &Covariate) -> bool {
    let what = &covariate.what;
    what.ends_with("per iteration") || what.starts_with("worker.") || what.starts_with("tree.")
}
