//! When to stop measuring, and the interval to print: METHOD sections 1.3 and 1.4.
//!
//! Mode P, the default: samples come in clusters, one per fresh process, and only processes are independent. Mode S:
//! one long series from a single process, whose dependence is measured. In both the interval is made of order
//! statistics, which hold for any shape of noise: bimodal, skewed, heavy-tailed.
//!
//! Looking at the data again and again costs coverage; each look therefore has the level [`PER_LOOK_LEVEL`], so that
//! the interval at which sampling stops still covers at least 95 %.

use crate::describe::{finite, mean_of, order_statistic, quantile_in, variance_of};
use crate::distribution::{two_sided_t, two_sided_z};
use crate::long_run::long_run;
use crate::{Interval, NoInterval, tail};

/// The level of the interval at each look; stopping at the first look that is precise enough leaves 95 %.
pub const PER_LOOK_LEVEL: f64 = 0.97;
/// Processes before the first look.
pub const FIRST_LOOK: usize = 10;
/// Processes before the first look where a sample is a process, and a process thus gives one number.
pub const FIRST_LOOK_SINGLE: usize = 13;
/// Samples before the first look in a single process (mode S).
pub const FIRST_LOOK_SERIAL: usize = 100;
/// With fewer processes than this no order statistics of process-dominated data reach 95 %.
pub const FEWEST_PROCESSES: usize = 6;
/// A tail quantile needs this many effective samples beyond it.
const FEWEST_BEYOND: f64 = 10.0;

/// The numbers of processes (or samples) at which to look: `first` times 1.25, 1.25^2 and so on, rounded up.
///
/// `looks(10)` gives 10, 13, 16, 20, 25, 31, 39 without end.
pub fn looks(first: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first as f64), |look| Some(look * 1.25))
        .map(|look| look.ceil() as usize)
}

/// Mode P: the `q`-quantile over processes, each a slice of steady samples, with its interval at `level`.
///
/// Empty processes are ignored. Ties share their place, so that rounded times only widen the interval. The width
/// comes from the larger of two standard errors of the share of samples below the estimate: of independent samples,
/// and of processes (with t, for their number is small).
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below [`FEWEST_PROCESSES`]; [`NoInterval::OutOfRange`] where the ranks of the
/// bounds fall outside the sample, or `q` or `level` outside (0, 1); [`NoInterval::NotFinite`].
pub fn clustered_quantile(
    processes: &[&[f64]],
    q: f64,
    level: f64,
) -> Result<Interval, NoInterval> {
    let (processes, mut pool) = pooled(processes)?;
    let estimate = interior(q, level).map(|()| quantile_in(&mut pool, q))?;
    let below = Below::new(&pool, estimate, q);
    let (count, n) = (processes.len() as f64, pool.len() as f64);
    let squares: f64 = processes.iter().map(|samples| below.excess(samples).powi(2)).sum();
    let independent = two_sided_z(level) * (n * q * (1.0 - q)).sqrt();
    let clustered = two_sided_t(level, count - 1.0) * (count / (count - 1.0) * squares).sqrt();
    around(&mut pool, estimate, q, independent.max(clustered))
}

/// Mode P for the mean: t on the means of processes.
///
/// # Errors
/// As [`clustered_quantile`], and [`NoInterval::HeavyTail`], [`NoInterval::AllEqual`].
pub fn clustered_mean(processes: &[&[f64]], level: f64) -> Result<Interval, NoInterval> {
    let (processes, pool) = pooled(processes)?;
    interior(0.5, level)?;
    tail::guard_mean(&pool)?;
    let means: Vec<f64> = processes.iter().map(|samples| mean_of(samples)).collect();
    let (count, estimate) = (means.len() as f64, mean_of(&means));
    let half = two_sided_t(level, count - 1.0) * (variance_of(&means) / count).sqrt();
    if half == 0.0 {
        return Err(NoInterval::AllEqual);
    }
    Ok(Interval { estimate, low: estimate - half, high: estimate + half })
}

/// A quantile of one long series, with what its dependence cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Serial {
    /// The quantile and its interval.
    pub interval: Interval,
    /// Integrated autocorrelation of "below the quantile": 1 for independent samples.
    pub tau: f64,
    /// How many independent samples the series is worth for this quantile.
    pub n_eff: f64,
}

/// Mode S: the `q`-quantile of samples of one process in time order, with its interval at `level`.
///
/// Says nothing about other processes: layout and regime are not sampled.
///
/// # Errors
/// [`NoInterval::Unresolved`] where the dependence outlasts the series; [`NoInterval::TooFewSamples`] where fewer
/// than ten effective samples lie beyond the quantile; [`NoInterval::OutOfRange`], [`NoInterval::NotFinite`].
pub fn serial_quantile(samples: &[f64], q: f64, level: f64) -> Result<Serial, NoInterval> {
    finite(samples)?;
    interior(q, level)?;
    if samples.is_empty() {
        return Err(NoInterval::TooFewSamples);
    }
    let mut pool = samples.to_vec();
    let estimate = quantile_in(&mut pool, q);
    let below = Below::new(&pool, estimate, q);
    let shares: Vec<f64> = samples.iter().map(|&sample| below.share(sample)).collect();
    let dependence = long_run(&shares)?;
    if !dependence.resolved {
        return Err(NoInterval::Unresolved);
    }
    if dependence.n_eff * q.min(1.0 - q) < FEWEST_BEYOND {
        return Err(NoInterval::TooFewSamples);
    }
    let n = samples.len() as f64;
    let independent = two_sided_z(level) * (n * q * (1.0 - q)).sqrt();
    let dependent = two_sided_t(level, dependence.df) * (n * dependence.variance).sqrt();
    let interval = around(&mut pool, estimate, q, independent.max(dependent))?;
    Ok(Serial { interval, tau: dependence.tau, n_eff: dependence.n_eff })
}

/// Mode S for the mean: one long series with its interval, t on the long-run variance.
///
/// # Errors
/// [`NoInterval::HeavyTail`] where the upper tail makes any interval of a mean worthless,
/// [`NoInterval::Unresolved`], [`NoInterval::AllEqual`], [`NoInterval::TooFewSamples`], [`NoInterval::NotFinite`].
pub fn serial_mean(samples: &[f64], level: f64) -> Result<Interval, NoInterval> {
    let dependence = long_run(samples)?;
    interior(0.5, level)?;
    tail::guard_mean(samples)?;
    if !dependence.resolved {
        return Err(NoInterval::Unresolved);
    }
    if dependence.variance == 0.0 {
        return Err(NoInterval::AllEqual);
    }
    let estimate = mean_of(samples);
    let half =
        two_sided_t(level, dependence.df) * (dependence.variance / samples.len() as f64).sqrt();
    Ok(Interval { estimate, low: estimate - half, high: estimate + half })
}

/// The processes that have samples, and all samples together.
fn pooled<'a>(processes: &[&'a [f64]]) -> Result<(Vec<&'a [f64]>, Vec<f64>), NoInterval> {
    let filled: Vec<&[f64]> =
        processes.iter().copied().filter(|samples| !samples.is_empty()).collect();
    let pool = filled.concat();
    finite(&pool)?;
    if filled.len() < FEWEST_PROCESSES {
        return Err(NoInterval::TooFewProcesses { have: filled.len(), need: FEWEST_PROCESSES });
    }
    Ok((filled, pool))
}

/// Refuses a quantile or a level outside (0, 1).
fn interior(q: f64, level: f64) -> Result<(), NoInterval> {
    let inside = |p: f64| p > 0.0 && p < 1.0;
    if inside(q) && inside(level) { Ok(()) } else { Err(NoInterval::OutOfRange) }
}

/// What "below the quantile" means where several samples equal it: each counts for the same part, chosen so that the
/// whole sample counts for exactly nq. One tie at an odd sample's median counts one half.
struct Below {
    estimate: f64,
    q: f64,
    tie: f64,
}

impl Below {
    fn new(pool: &[f64], estimate: f64, q: f64) -> Self {
        let less = pool.iter().filter(|&&sample| sample < estimate).count() as f64;
        let equal = pool.iter().filter(|&&sample| sample == estimate).count() as f64;
        let tie = if equal > 0.0 {
            ((pool.len() as f64 * q - less) / equal).clamp(0.0, 1.0)
        } else {
            0.0
        };
        Self { estimate, q, tie }
    }

    /// How far a sample counts as below: 1, 0, or the part of a tie.
    fn share(&self, sample: f64) -> f64 {
        if sample == self.estimate { self.tie } else { f64::from(sample < self.estimate) }
    }

    /// How many more samples than expected lie below, in one process.
    fn excess(&self, samples: &[f64]) -> f64 {
        samples.iter().map(|&sample| self.share(sample) - self.q).sum()
    }
}

/// The interval between the order statistics `reach` ranks to both sides of nq.
fn around(pool: &mut [f64], estimate: f64, q: f64, reach: f64) -> Result<Interval, NoInterval> {
    let centre = pool.len() as f64 * q;
    let (low, high) = ((centre - reach).floor(), (centre + reach).ceil() + 1.0);
    if low < 1.0 || high > pool.len() as f64 {
        return Err(NoInterval::OutOfRange);
    }
    let low = order_statistic(pool, low as usize);
    let high = order_statistic(pool, high as usize);
    Ok(Interval { estimate, low, high })
}
