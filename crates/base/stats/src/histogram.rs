//! Quantiles of distributions that come as counts, a process each: docs/method.md, *Precision* and *Dependence*.
//!
//! The interval of a pooled quantile is that of [`crate::precision::clustered_quantile`], whose ranks follow from how
//! much processes differ in their share below it; counts stand in for the samples.

use std::collections::BTreeMap;

use crate::describe::sum_of_squares;
use crate::distribution::{two_sided_t, two_sided_z};
use crate::precision::{FEWEST_BEYOND, fewest_processes, interior};
use crate::{Interval, NoInterval};

/// How often each value was counted.
pub type ValueCounts = BTreeMap<u64, u64>;

/// All counts together.
pub fn total(counts: &ValueCounts) -> u64 {
    counts.values().fold(0, |all, count| all.saturating_add(*count))
}

/// A quantile of all counts together, the smallest value with at least the share `q` at or below it; `None` without
/// counts.
pub fn quantile(counts: &ValueCounts, q: f64) -> Option<u64> {
    at_rank(counts, (q * total(counts) as f64).ceil().max(1.0))
}

/// The quantile `q` of the pool of all processes with its interval at `level`: the values at which the share below is
/// not further from `q` than processes differ in it.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`]; [`NoInterval::TooFewSamples`] if fewer than ten independent ones lie beyond;
/// [`NoInterval::OutOfRange`], also for `q` or `level` outside (0, 1).
pub fn pooled_quantile(
    processes: &[ValueCounts],
    q: f64,
    level: f64,
) -> Result<Interval, NoInterval> {
    interior(q, level)?;
    let processes: Vec<&ValueCounts> =
        processes.iter().filter(|counts| !counts.is_empty()).collect();
    let have = processes.len();
    let need = fewest_processes(level);
    if have < need {
        return Err(NoInterval::TooFewProcesses { have, need });
    }
    let mut pool: BTreeMap<u64, Vec<(usize, f64)>> = BTreeMap::new();
    for (process, counts) in processes.iter().enumerate() {
        for (&value, &count) in *counts {
            pool.entry(value).or_default().push((process, count as f64));
        }
    }
    let weights = weights(&processes);
    let mut below = CountsBelow::nothing(&weights, q, level);
    let mut low = None;
    let mut middle = None;
    let mut high = None;
    for (&value, counts) in &pool {
        if below.distance() <= 0.0 {
            high = Some(value);
        }
        counts
            .iter()
            .for_each(|&(process, count)| below.excess[process] += weights[process].1 * count);
        if below.sum() >= 0.0 && middle.is_none() {
            middle = Some(value);
            if below.effective() * (1.0 - q).min(q) < FEWEST_BEYOND {
                return Err(NoInterval::TooFewSamples);
            }
        }
        if below.distance() >= 0.0 {
            low = low.or(Some(value));
        }
    }
    let ends = low.zip(middle).zip(high).filter(|_| below.distance() > 0.0);
    let ((low, estimate), high) = ends.ok_or(NoInterval::OutOfRange)?;
    Ok(Interval { estimate: estimate as f64, low: low as f64, high: high as f64 })
}

/// The size of each process, and what one of its samples counts: less in a process with more than the middle one has.
fn weights(processes: &[&ValueCounts]) -> Vec<(f64, f64)> {
    let sizes: Vec<f64> = processes.iter().map(|counts| total(counts) as f64).collect();
    let mut sorted = sizes.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted[sorted.len() / 2];
    sizes.into_iter().map(|size| (size, (middle / size).min(1.0))).collect()
}

/// How much of each process lies below a value that moves up, against how much should.
struct CountsBelow {
    excess: Vec<f64>,
    /// The variance of the sum if there were one independent sample, and if all were.
    of_one: f64,
    independent: f64,
    t_squared: f64,
    z_squared: f64,
}

impl CountsBelow {
    fn nothing(weights: &[(f64, f64)], q: f64, level: f64) -> Self {
        let variance = q * (1.0 - q);
        let weight: f64 = weights.iter().map(|(size, weight)| size * weight).sum();
        let squares: f64 = weights.iter().map(|(size, weight)| size * weight * weight).sum();
        Self {
            excess: weights.iter().map(|(size, weight)| -q * size * weight).collect(),
            of_one: variance * weight * weight,
            independent: variance * squares,
            t_squared: two_sided_t(level, weights.len() as f64 - 1.0).powi(2),
            z_squared: two_sided_z(level).powi(2),
        }
    }

    fn sum(&self) -> f64 {
        self.excess.iter().sum()
    }

    fn squares(&self) -> f64 {
        sum_of_squares(&self.excess)
    }

    /// Below 0 if too few lie below, above 0 if too many do, 0 if it could be chance.
    fn distance(&self) -> f64 {
        let sum = self.sum();
        let chance = (self.z_squared * self.independent).max(self.t_squared * self.squares());
        if sum * sum > chance { sum } else { 0.0 }
    }

    /// How many independent samples these are worth.
    fn effective(&self) -> f64 {
        let clustered = self.squares() - self.sum().powi(2) / self.excess.len() as f64;
        self.of_one / clustered.max(self.independent)
    }
}

/// The value of this rank, from 1.
fn at_rank(counts: &ValueCounts, rank: f64) -> Option<u64> {
    let mut seen = 0.0;
    let reached = counts.iter().find(|(_, count)| {
        seen += **count as f64;
        seen >= rank
    });
    reached.map(|(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use super::{ValueCounts, pooled_quantile, quantile};
    use crate::NoInterval;
    use crate::precision::clustered_quantile;
    use crate::rng::Rng;

    fn counted(values: &[u64]) -> ValueCounts {
        let mut counts = ValueCounts::new();
        values.iter().for_each(|value| *counts.entry(*value).or_default() += 1);
        counts
    }

    /// Processes at their own levels, of values that are whole numbers.
    fn drawn(processes: usize, samples: usize, rng: &mut Rng) -> Vec<Vec<u64>> {
        let process = |_| {
            let level = 1e6 * (0.02 * rng.normal()).exp();
            (0..samples).map(|_| (level * (0.1 * rng.normal()).exp()) as u64).collect()
        };
        (0..processes).map(process).collect()
    }

    #[test]
    fn counts_give_what_samples_give() {
        let values = drawn(12, 50, &mut Rng::new(5));
        let counts: Vec<ValueCounts> = values.iter().map(|values| counted(values)).collect();
        let samples: Vec<Vec<f64>> = values
            .iter()
            .map(|values| values.iter().map(|&value| value as f64).collect())
            .collect();
        let slices: Vec<&[f64]> = samples.iter().map(Vec::as_slice).collect();
        let by_samples = clustered_quantile(&slices, 0.5, 0.97).unwrap();
        let by_counts = pooled_quantile(&counts, 0.5, 0.97).unwrap();
        let close = |one: f64, other: f64| (one / other - 1.0).abs() < 2e-3;
        assert!(close(by_counts.low, by_samples.low), "{by_counts:?} {by_samples:?}");
        assert!(close(by_counts.high, by_samples.high), "{by_counts:?} {by_samples:?}");
    }

    #[test]
    fn a_pilot_with_more_samples_does_not_rule() {
        let mut rng = Rng::new(6);
        let mut values = drawn(9, 500, &mut rng);
        values.extend(drawn(1, 20_000, &mut rng));
        let counts: Vec<ValueCounts> = values.iter().map(|values| counted(values)).collect();
        let found = pooled_quantile(&counts, 0.5, 0.95).unwrap();
        assert!(found.contains(1e6) && found.high / found.low < 1.1, "{found:?}");
    }

    #[test]
    fn a_tail_is_covered() {
        let mut rng = Rng::new(9);
        // The 99 % quantile of the mixture: ln x is normal with the variance of both levels.
        let truth = 1e6 * (2.326_348 * (0.02f64.powi(2) + 0.1f64.powi(2)).sqrt()).exp();
        let covered = (0..300)
            .filter(|_| {
                let values = drawn(12, 2000, &mut rng);
                let counts: Vec<ValueCounts> =
                    values.iter().map(|values| counted(values)).collect();
                pooled_quantile(&counts, 0.99, 0.95).is_ok_and(|interval| interval.contains(truth))
            })
            .count();
        assert!(covered >= 276, "{covered} of 300");
    }

    #[test]
    fn too_little_is_refused() {
        let one = counted(&[1, 2, 3, 4]);
        assert_eq!(
            (quantile(&one, 0.5), quantile(&one, 1.0), quantile(&ValueCounts::new(), 0.5)),
            (Some(2), Some(4), None)
        );
        let few = NoInterval::TooFewProcesses { have: 5, need: 7 };
        assert_eq!(pooled_quantile(&vec![one.clone(); 5], 0.5, 0.95), Err(few));
        assert_eq!(
            pooled_quantile(&vec![one.clone(); 8], 0.99, 0.95),
            Err(NoInterval::TooFewSamples)
        );
        assert_eq!(pooled_quantile(&vec![one; 8], 1.0, 0.95), Err(NoInterval::OutOfRange));
    }
}
