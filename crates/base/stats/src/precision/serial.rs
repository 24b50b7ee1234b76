//! Mode S: one long series of a single process, whose dependence is measured.

use crate::describe::{finite, order_statistic, quantile_in};
use crate::distribution::{two_sided_t, two_sided_z};
use crate::long_run::long_run;
use crate::{Interval, NoInterval};

use super::looks::{FEWEST_BEYOND, interior};

/// Effective samples before sampling in a single process may stop: with fewer, the dependence that was measured is
/// too often an underestimate (coverage .93 under AR(.9) and AR(.98) without this rule).
const FEWEST_TO_STOP: f64 = 80.0;

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

impl Serial {
    /// Whether sampling may stop at this relative half-width: the interval is narrow enough, and rests on enough
    /// effective samples (80) to trust the dependence that was measured.
    pub fn may_stop(&self, precision: f64) -> bool {
        self.n_eff >= FEWEST_TO_STOP && self.interval.relative_half_width() <= precision
    }
}

/// Mode S: the `q`-quantile of samples of one process in time order, with its interval at `level`.
///
/// Says nothing about other processes: layout and regime are not sampled.
///
/// # Errors
/// [`NoInterval::Unresolved`] if the dependence outlasts the series; [`NoInterval::TooFewSamples`] if fewer
/// than ten effective samples lie beyond the quantile; [`NoInterval::OutOfRange`], [`NoInterval::NotFinite`].
pub fn serial_quantile(samples: &[f64], q: f64, level: f64) -> Result<Serial, NoInterval> {
    finite(samples)?;
    interior(q, level)?;
    if samples.is_empty() {
        return Err(NoInterval::TooFewSamples);
    }
    let mut pool = samples.to_vec();
    let estimate = quantile_in(&mut pool, q);
    let shares = shares_below(samples, estimate, q);
    let dependence = long_run(&shares)?;
    if !dependence.resolved {
        return Err(NoInterval::Unresolved);
    }
    if dependence.n_eff * q.min(1.0 - q) < FEWEST_BEYOND {
        return Err(NoInterval::TooFewSamples);
    }
    let n = samples.len() as f64;
    let independent = two_sided_z(level) * (n * q * (1.0 - q)).sqrt();
    // t, not z: the dependent part rests on a variance that was itself estimated, from as few as twenty batches.
    let dependent = two_sided_t(level, dependence.df) * (n * dependence.variance).sqrt();
    // A negative correlation may be chance: the interval is never narrower than for independent samples.
    let interval = around(&mut pool, estimate, q, independent.max(dependent))?;
    Ok(Serial { interval, tau: dependence.tau, n_eff: dependence.n_eff })
}

/// For each sample whether it lies below the estimate, as 1 or 0. Samples that equal it count for the same part each,
/// chosen so that all together count for nq: one half at an odd sample's median.
fn shares_below(samples: &[f64], estimate: f64, q: f64) -> Vec<f64> {
    let less = samples.iter().filter(|&&sample| sample < estimate).count() as f64;
    let equal = samples.iter().filter(|&&sample| sample == estimate).count() as f64;
    let tie =
        if equal > 0.0 { ((samples.len() as f64 * q - less) / equal).clamp(0.0, 1.0) } else { 0.0 };
    samples
        .iter()
        .map(|&sample| if sample == estimate { tie } else { f64::from(sample < estimate) })
        .collect()
}

/// The interval between the order statistics `reach` ranks to both sides of nq.
fn around(pool: &mut [f64], estimate: f64, q: f64, reach: f64) -> Result<Interval, NoInterval> {
    let centre = pool.len() as f64 * q;
    let low = (centre - reach).floor();
    let high = (centre + reach).ceil() + 1.0;
    if low < 1.0 || high > pool.len() as f64 {
        return Err(NoInterval::OutOfRange);
    }
    let low = order_statistic(pool, low as usize);
    let high = order_statistic(pool, high as usize);
    Ok(Interval { estimate, low, high })
}

#[cfg(test)]
mod tests {
    use super::serial_quantile;
    use crate::NoInterval;
    use crate::rng::Rng;

    fn normals(count: usize, seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        (0..count).map(|_| 100.0 + rng.normal()).collect()
    }

    #[test]
    fn a_walk_is_unresolved() {
        let mut rng = Rng::new(3);
        let mut level = 0.0;
        let walk: Vec<f64> = (0..300)
            .map(|_| {
                level += rng.normal();
                level
            })
            .collect();
        assert_eq!(serial_quantile(&walk, 0.5, 0.97), Err(NoInterval::Unresolved));
    }

    #[test]
    fn stopping_in_one_process_takes_eighty_effective_samples() {
        let short = serial_quantile(&normals(60, 4), 0.5, 0.97).unwrap();
        assert!(short.interval.relative_half_width() < 0.01 && !short.may_stop(0.01));
        let long = serial_quantile(&normals(200, 4), 0.5, 0.97).unwrap();
        assert!(long.may_stop(0.01) && !long.may_stop(0.0001));
    }

    #[test]
    fn tails_need_samples_beyond_them() {
        assert_eq!(serial_quantile(&normals(500, 1), 0.99, 0.97), Err(NoInterval::TooFewSamples));
        assert!(serial_quantile(&normals(2000, 1), 0.99, 0.97).is_ok());
    }

    #[test]
    fn nonsense_is_refused() {
        let infinite = serial_quantile(&[f64::INFINITY], 0.5, 0.97);
        assert_eq!(infinite, Err(NoInterval::NotFinite));
        assert_eq!(serial_quantile(&[], 0.5, 0.97), Err(NoInterval::TooFewSamples));
        let no_quantile = serial_quantile(&normals(100, 1), f64::NAN, 0.97);
        assert_eq!(no_quantile, Err(NoInterval::OutOfRange));
    }
}
