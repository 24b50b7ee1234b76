//! Steps in the history of a series: docs/method.md, *History*.
//!
//! A history is the log estimate of one series in run after run, on one machine with one toolchain: where one of them
//! changed, the caller splits it, and nothing is compared across. What all series of a run have in common
//! ([`crate::multiple::common_mode`]) is subtracted before. The statistic is [`crate::changes`]'s; here is what to make
//! of it. A step is at first only a suspect, to be measured again in pairs. Where that is impossible (an old commit that
//! builds no more) only a certain one counts.

use crate::changes::{Alpha, CriticalValues, MOST_CORRELATED, SplitCandidate, search};
use crate::describe::{finite, median_of};
use crate::precision::CONFIDENCE;
use crate::stored_runs::rank_sum_interval;
use crate::{Interval, NoInterval};

/// After a new run, look at so many of the latest ones, and at none before the last confirmed step.
pub const WINDOW: usize = 100;

/// A step between two stretches of a history.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StretchStep {
    /// The first index after the step.
    pub at: usize,
    /// From the median of the stretch before to that of the stretch after, in log units.
    pub size: f64,
    /// The size by ranks with its 95 % interval, widened if neighbours are alike; it takes the place of the step for
    /// granted. None if the stretches are too short.
    pub interval: Result<Interval, NoInterval>,
}

/// The steps to measure again in pairs, in order: a history without any has one in it 1 time in 100. `splits` are
/// indices at which a new part begins.
///
/// # Errors
/// [`NoInterval::NotFinite`].
pub fn suspects(history: &[f64], splits: &[usize]) -> Result<Vec<StretchStep>, NoInterval> {
    steps(history, splits, Alpha::Hundredth)
}

/// The steps that count if measuring again is impossible: found at 1 in 1000, and no smaller than `margin`, the
/// smallest relative change that matters.
///
/// # Errors
/// [`NoInterval::NotFinite`].
pub fn certain(
    history: &[f64],
    splits: &[usize],
    margin: f64,
) -> Result<Vec<StretchStep>, NoInterval> {
    let mut found = steps(history, splits, Alpha::Thousandth)?;
    found.retain(|step| step.size.abs() >= margin.ln_1p());
    Ok(found)
}

fn steps(history: &[f64], splits: &[usize], alpha: Alpha) -> Result<Vec<StretchStep>, NoInterval> {
    finite(history)?;
    let mut borders: Vec<usize> =
        splits.iter().copied().filter(|&split| split < history.len()).collect();
    borders.extend([0, history.len()]);
    borders.sort_unstable();
    borders.dedup();
    let mut found = Vec::new();
    for ends in borders.windows(2) {
        let start = ends[0];
        let steps = steps_in(&history[start..ends[1]], alpha);
        found.extend(steps.into_iter().map(|step| StretchStep { at: step.at + start, ..step }));
    }
    Ok(found)
}

/// The steps inside one part of a history, placed in that part.
fn steps_in(part: &[f64], alpha: Alpha) -> Vec<StretchStep> {
    let correct = if alpha == Alpha::Thousandth { cautious } else { |change, _| change };
    let changes = search(part, CriticalValues::History, alpha, correct);
    let mut steps = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        // Only the neighbouring stretches tell its size: farther values lie beyond other steps.
        let begin = index.checked_sub(1).map_or(0, |before| changes[before].at);
        let end = changes.get(index + 1).map_or(part.len(), |after| after.at);
        steps.push(step(change, &part[begin..change.at], &part[change.at..end]));
    }
    steps
}

/// The change with its correlation corrected for what short histories hide: a lag-1 autocorrelation r around the means
/// of two halves is too low by about (2 + 6 r)/n (Marriott & Pope 1954), and by 2/n more as the halves were chosen
/// (simulated); the statistic adds 2/n. Without it AR(.6) makes 2 false steps in 1000 runs instead of .8.
fn cautious(change: SplitCandidate, runs: usize) -> SplitCandidate {
    let runs = runs as f64;
    let correlation = (runs * change.correlation + 2.0) / (runs - 6.0);
    SplitCandidate { correlation: correlation.min(MOST_CORRELATED), ..change }
}

/// The step at a change, from the stretches before and after it.
fn step(change: &SplitCandidate, before: &[f64], after: &[f64]) -> StretchStep {
    let widen = change.inflation();
    let interval = rank_sum_interval(before, after, CONFIDENCE).map(|found| Interval {
        low: found.estimate - widen * (found.estimate - found.low),
        high: found.estimate + widen * (found.high - found.estimate),
        ..found
    });
    StretchStep { at: change.at, size: median_of(after) - median_of(before), interval }
}

#[cfg(test)]
mod tests {
    use super::{certain, suspects};
    use crate::NoInterval;
    use crate::rng::Rng;

    fn stepped(levels: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let level = |&(count, level): &(usize, f64)| {
            (0..count).map(|_| level + 0.01 * rng.normal()).collect::<Vec<_>>()
        };
        levels.iter().flat_map(level).collect()
    }

    #[test]
    fn steps_are_found_in_order_with_their_size() {
        let history = stepped(&[(30, 0.0), (30, 0.1), (30, 0.05)], 1);
        let found = certain(&history, &[], 0.01).unwrap();
        let places: Vec<usize> = found.iter().map(|step| step.at).collect();
        assert_eq!(places, [30, 60]);
        assert!(found[0].interval.unwrap().contains(0.1), "{found:?}");
        assert!(found[1].interval.unwrap().contains(-0.05), "{found:?}");
        assert!((found[1].size + 0.05).abs() < 0.01, "{found:?}");
    }

    #[test]
    fn nothing_is_compared_across_a_split() {
        let history = stepped(&[(30, 0.0), (30, 0.1)], 2);
        assert_eq!(suspects(&history, &[30]), Ok(Vec::new()));
        assert_eq!(suspects(&history, &[0, 60, 99]).unwrap().len(), 1);
        let parts = stepped(&[(30, 0.0), (30, 0.1), (20, 0.0), (20, 0.2)], 2);
        let found = suspects(&parts, &[60]).unwrap();
        assert_eq!(found.iter().map(|step| step.at).collect::<Vec<_>>(), [30, 80]);
    }

    #[test]
    fn inside_the_margin_nothing_is_certain() {
        let history = stepped(&[(30, 0.0), (30, 0.1)], 3);
        assert_eq!(certain(&history, &[], 0.2), Ok(Vec::new()));
        assert_eq!(suspects(&history, &[]).unwrap().len(), 1);
    }

    #[test]
    fn three_points_suffice_for_a_large_step() {
        let history = stepped(&[(40, 0.0), (3, 0.2)], 4);
        let found = suspects(&history, &[]).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].at, 40);
    }

    #[test]
    fn short_constant_or_not_a_number() {
        assert_eq!(suspects(&[], &[]), Ok(Vec::new()));
        assert_eq!(suspects(&[1.0; 50], &[]), Ok(Vec::new()));
        assert_eq!(certain(&[f64::NAN], &[], 0.01), Err(NoInterval::NotFinite));
    }
}
