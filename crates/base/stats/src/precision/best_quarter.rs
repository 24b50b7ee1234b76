//! What a machine does at its best: the lower quartile of costs over processes, with its interval.
//!
//! A busy machine and a slow one can have the same median. Interference only adds to a cost, so the cost that the
//! fastest quarter of the processes stays below tells them apart.
//!
//! # The interval
//! One number per process, so that processes are the unit. The bounds are order statistics (Thompson 1936; David &
//! Nagaraja, *Order Statistics*, 2003, section 7.1): the number of processes below the true quartile is binomial with
//! p = 1/4, whatever the shape of the noise, and each bound leaves at most half of the error in its tail. Below 13
//! processes the smallest value does not bound the quartile at 95 %: 0.75^12 = .032, 0.75^13 = .024.
//!
//! Neighbours in time may share a disturbance. Their lag-1 correlation is measured on ranks and on the count below the
//! quartile, because each misses what the other sees. If it exceeds half of its standard error under independence,
//! fewer than 40 processes get no interval, and with more processes the ranks move apart by the factor of a
//! first-order autoregression, sqrt((1 + r) / (1 - r)) (Priestley, *Spectral Analysis and Time Series*, 1981,
//! section 5.3). A disturbance that lasts as long as the session cannot be seen in it.

use crate::describe::{finite, lag_one, order_statistic, quantile_in};
use crate::distribution::binomial_cdf;
use crate::{Interval, NoInterval};

use super::looks::interior;

/// The quantile: a quarter of the processes costs less.
const QUARTER: f64 = 0.25;
/// With fewer processes than this, their correlation is not known well enough to correct for.
const FEWEST_CORRECTED: usize = 40;
/// The lag-1 correlation that chance is taken to explain, in units of 1/sqrt(n).
const CHANCE: f64 = 0.5;
/// Processes that correlate more are not corrected for.
const MOST_CORRELATED: f64 = 0.95;

/// The fewest processes whose smallest value bounds the lower quartile from below at `level`: 13 for .95.
#[must_use]
pub fn fewest_for_best_quarter(level: f64) -> usize {
    // The smallest value fails to bound it if every process lies above the quartile.
    let tail = 0.5 * (1.0 - level);
    let mut processes = 2;
    let mut all_above = (1.0 - QUARTER).powi(2);
    // The limit ends the loop for a level of 1, whose tail is 0.
    while all_above > tail && processes < 200 {
        processes += 1;
        all_above *= 1.0 - QUARTER;
    }
    processes
}

/// The lower quartile of the costs of processes, in the order in which they ran, with its interval at `level`.
///
/// Costs are times per operation: smaller is better. For a rate, pass its reciprocals. This is an estimand of its own;
/// no verdict and no stopping rule uses it.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below [`fewest_for_best_quarter`]; [`NoInterval::Unresolved`] if neighbours in
/// time are alike and too few to correct for; [`NoInterval::OutOfRange`] for a `level` outside (0, 1);
/// [`NoInterval::NotFinite`].
pub fn best_quarter(costs: &[f64], level: f64) -> Result<Interval, NoInterval> {
    interior(QUARTER, level)?;
    finite(costs)?;
    let have = costs.len();
    let need = fewest_for_best_quarter(level);
    if have < need {
        return Err(NoInterval::TooFewProcesses { have, need });
    }
    let mut sorted = costs.to_vec();
    let estimate = quantile_in(&mut sorted, QUARTER);
    let ranks = Ranks::of(have, level)
        .widened(widening(costs, estimate)?, have)
        .ok_or(NoInterval::Unresolved)?;
    let low = order_statistic(&mut sorted, ranks.low);
    let high = order_statistic(&mut sorted, ranks.high);
    Ok(Interval { estimate, low: low.min(estimate), high: high.max(estimate) })
}

/// The ranks of the bounds among sorted values, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Ranks {
    low: usize,
    high: usize,
}

impl Ranks {
    /// The narrowest ranks that a binomial allows, half of the error in each tail.
    fn of(count: usize, level: f64) -> Self {
        let tail = 0.5 * (1.0 - level);
        let below = |successes: usize| binomial_cdf(successes as u64, count as u64, QUARTER);
        // The value of rank r lies above the quartile if fewer than r processes lie below it.
        let low = (1..=count).take_while(|&rank| below(rank - 1) <= tail).last().unwrap_or(1);
        // The value of rank r lies below the quartile if at least r processes do.
        let high = (1..=count).find(|&rank| 1.0 - below(rank - 1) <= tail).unwrap_or(count);
        Self { low, high }
    }

    /// Both ranks so many times as far from the quartile's own; None if the sample has no value as low as that.
    fn widened(self, times: f64, count: usize) -> Option<Self> {
        let centre = QUARTER * count as f64;
        let low = (centre - times * (centre - self.low as f64)).floor();
        let high = (centre + times * (self.high as f64 - centre)).ceil();
        // Rank 0 would be the smallest value of one process more: as good a bound as the first.
        if low < 0.0 {
            return None;
        }
        Some(Self { low: low.max(1.0) as usize, high: high.min(count as f64) as usize })
    }
}

/// How many times as far apart the ranks must be because neighbours are alike: 1 if they are not.
fn widening(costs: &[f64], estimate: f64) -> Result<f64, NoInterval> {
    let count = costs.len() as f64;
    let below: Vec<f64> = costs.iter().map(|cost| f64::from(u8::from(*cost < estimate))).collect();
    // A correlation of n values is too small by about 1/n (Kendall 1954).
    let correlation = lag_one(&ranks_of(costs)).max(lag_one(&below)) + 1.0 / count;
    if correlation <= CHANCE / count.sqrt() {
        return Ok(1.0);
    }
    if costs.len() < FEWEST_CORRECTED {
        return Err(NoInterval::Unresolved);
    }
    let correlation = correlation.min(MOST_CORRELATED);
    Ok(((1.0 + correlation) / (1.0 - correlation)).sqrt())
}

/// The place of each value among the sorted ones; equal values share the mean of theirs.
fn ranks_of(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&one, &other| values[one].total_cmp(&values[other]));
    let mut ranks = vec![0.0; values.len()];
    for equal in order.chunk_by(|&one, &other| values[one] == values[other]) {
        let first = order.partition_point(|&index| values[index] < values[equal[0]]);
        let mean = first as f64 + 0.5 * (equal.len() - 1) as f64;
        for &index in equal {
            ranks[index] = mean;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::{Ranks, best_quarter, fewest_for_best_quarter, ranks_of};
    use crate::NoInterval;
    use crate::rng::Rng;

    const LEVEL: f64 = 0.95;

    /// The numbers up to a count, so that large and small ones alternate.
    fn alternating(count: usize) -> Vec<f64> {
        (0..count)
            .map(|place| if place % 2 == 0 { place / 2 + 1 } else { count - place / 2 })
            .map(|value| value as f64)
            .collect()
    }

    #[test]
    fn thirteen_processes_are_the_fewest() {
        assert_eq!(fewest_for_best_quarter(LEVEL), 13);
        let too_few = NoInterval::TooFewProcesses { have: 12, need: 13 };
        assert_eq!(best_quarter(&alternating(12), LEVEL), Err(too_few));
        let found = best_quarter(&alternating(13), LEVEL).unwrap();
        assert_eq!([found.estimate, found.low, found.high], [4.0, 1.0, 7.0]);
    }

    #[test]
    fn ranks_are_those_of_the_binomial() {
        // R: qbinom(c(.025, .975), n, .25) gives the counts that stay inside; the upper rank is one more.
        assert_eq!(Ranks::of(13, LEVEL), Ranks { low: 1, high: 7 });
        assert_eq!(Ranks::of(20, LEVEL), Ranks { low: 2, high: 10 });
        assert_eq!(Ranks::of(100, LEVEL), Ranks { low: 17, high: 35 });
    }

    #[test]
    fn equal_values_share_a_rank() {
        assert_eq!(ranks_of(&[3.0, 1.0, 3.0, 2.0]), [2.5, 0.0, 2.5, 1.0]);
    }

    #[test]
    fn a_busy_half_does_not_move_the_best_quarter() {
        let mut rng = Rng::new(2);
        let quiet: Vec<f64> = (0..60).map(|_| 100.0 + rng.normal()).collect();
        let mut busy = quiet.clone();
        for cost in busy.iter_mut().skip(1).step_by(2) {
            *cost *= 1.5;
        }
        let alone = best_quarter(&quiet, LEVEL).unwrap();
        let disturbed = best_quarter(&busy, LEVEL).unwrap();
        assert!((disturbed.estimate / alone.estimate - 1.0).abs() < 0.02, "{disturbed:?}");
    }

    #[test]
    fn neighbours_that_are_alike_get_a_wider_interval_or_none() {
        let rising: Vec<f64> = (0..20).map(f64::from).collect();
        assert_eq!(best_quarter(&rising, LEVEL), Err(NoInterval::Unresolved));
        let mut rng = Rng::new(7);
        let mut level = 0.0;
        let mut memory = Vec::new();
        for _ in 0..200 {
            level = 0.5 * level + rng.normal();
            memory.push(100.0 + level);
        }
        let mut independent = memory.clone();
        rng.shuffle(&mut independent);
        let wide = best_quarter(&memory, LEVEL).unwrap();
        let narrow = best_quarter(&independent, LEVEL).unwrap();
        assert!(wide.high - wide.low > 1.2 * (narrow.high - narrow.low), "{wide:?}, {narrow:?}");
    }

    #[test]
    fn nonsense_is_refused() {
        let mut costs = alternating(20);
        costs[3] = f64::NAN;
        assert_eq!(best_quarter(&costs, LEVEL), Err(NoInterval::NotFinite));
        assert_eq!(best_quarter(&[], 1.0), Err(NoInterval::OutOfRange));
        let equal = best_quarter(&[5.0; 30], LEVEL).unwrap();
        assert_eq!([equal.low, equal.high], [5.0, 5.0]);
    }
}
