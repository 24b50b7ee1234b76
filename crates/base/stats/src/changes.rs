//! Change points by a robust maximal CUSUM ("Huber-max"), docs/method.md, *History*.
//!
//! Values are scored by how many robust standard deviations they lie from the centre, clipped at 3 so that outliers
//! cannot make a change; the split with the largest weighted difference of mean scores is the candidate. Its statistic
//! is compared with critical values simulated from this very code ([`CriticalValues::critical`]), raised where neighbouring
//! values depend on each other.

use std::ops::Range;

use crate::NoInterval;
use crate::describe::{MAD_TO_SD, finite, lag_one, mean_of, median_of};

mod table;

pub use table::{Alpha, CriticalValues};

/// Scores are clipped here.
const CLIP: f64 = 3.0;
/// The most autocorrelation that is corrected for.
pub const MOST_CORRELATED: f64 = 0.8;

/// The best place to split a series, significant or not.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SplitCandidate {
    /// The first index after the change.
    pub at: usize,
    /// The maximal CUSUM in robust standard deviations.
    pub statistic: f64,
    /// Lag-1 autocorrelation of the scores, from 0 to .8, raised by 2/n for its bias.
    pub correlation: f64,
}

impl SplitCandidate {
    /// Whether the statistic exceeds `critical` after raising it for autocorrelation.
    pub fn exceeds(&self, critical: f64) -> bool {
        self.statistic > critical * self.inflation()
    }

    /// How many times larger the standard error of a mean is than if values were independent.
    pub fn inflation(&self) -> f64 {
        ((1.0 + self.correlation) / (1.0 - self.correlation)).sqrt()
    }
}

/// The best split into two parts of at least `shortest` values each.
///
/// `None` if the series is too short for two such parts, constant, or not finite.
pub fn huber_max(series: &[f64], shortest: usize) -> Option<SplitCandidate> {
    let n = series.len();
    let smallest_step = SmallestStep::of(series)?;
    if n < 2 * shortest || shortest == 0 || n < 4 {
        return None;
    }
    // A step widens the spread of the values, but only one difference of neighbours. Differences have √2 times the
    // deviation of the values.
    let first_scale =
        smallest_step.scale(0.5f64.sqrt(), series.windows(2).map(|pair| pair[1] - pair[0]));
    let (first, _) = best_split(series, median_of(series), first_scale, shortest);
    // Two medians are taken off: that costs two degrees of freedom.
    let widen = (n as f64 / (n - 2) as f64).sqrt();
    let scale = smallest_step.scale(widen, residuals(series, first).into_iter());
    let (before, after) = series.split_at(first);
    // Scores around the longer side: its median is known best, and the step then shows in the shorter side alone.
    let longer = if after.len() > before.len() { after } else { before };
    let (at, cusum) = best_split(series, median_of(longer), scale, shortest);
    let rest = residuals(series, at);
    let scale = smallest_step.scale(widen, rest.iter().copied());
    let scores: Vec<f64> =
        rest.iter().map(|residual| (residual / scale).clamp(-CLIP, CLIP)).collect();
    let sd = (scores.iter().map(|score| score * score).sum::<f64>() / (n - 2) as f64).sqrt();
    let correlation = (lag_one(&scores) + 2.0 / n as f64).clamp(0.0, MOST_CORRELATED);
    Some(SplitCandidate { at, statistic: cusum / sd, correlation })
}

/// Splits a series at its significant changes, and the parts again; the parts in order, without gaps.
///
/// # Errors
/// [`NoInterval::NotFinite`].
pub fn segments(
    series: &[f64],
    table: CriticalValues,
    alpha: Alpha,
) -> Result<Vec<Range<usize>>, NoInterval> {
    finite(series)?;
    let changes = search(series, table, alpha, |change, _| change);
    let begins = std::iter::once(0).chain(changes.iter().map(|change| change.at));
    let ends = changes.iter().map(|change| change.at).chain([series.len()]);
    Ok(begins.zip(ends).map(|(begin, end)| begin..end).collect())
}

/// Splits a series at its significant changes, and the parts again: all of them, placed in the whole series and in
/// order. `correct` may change what was found in a part of so many values before it is judged.
pub(crate) fn search(
    series: &[f64],
    table: CriticalValues,
    alpha: Alpha,
    correct: impl Fn(SplitCandidate, usize) -> SplitCandidate,
) -> Vec<SplitCandidate> {
    let mut found = Vec::new();
    // The parts that no search has looked at yet.
    let mut open = Vec::new();
    open.push(0..series.len());
    while let Some(part) = open.pop() {
        // A part that is shorter than the table has no critical value and is never split.
        let Some(critical) = table.critical(part.len(), alpha) else { continue };
        let candidate = huber_max(&series[part.clone()], table.shortest())
            .map(|change| correct(change, part.len()));
        if let Some(change) = candidate.filter(|change| change.exceeds(critical)) {
            let at = part.start + change.at;
            open.extend([part.start..at, at..part.end]);
            found.push(SplitCandidate { at, ..change });
        }
    }
    found.sort_by_key(|change| change.at);
    found
}

/// The smallest step that a series shows, which stands in for its noise if most values are equal.
struct SmallestStep(f64);

impl SmallestStep {
    /// `None` for a constant series, or one that is not finite.
    fn of(series: &[f64]) -> Option<Self> {
        finite(series).ok()?;
        let steps =
            series.windows(2).map(|pair| (pair[1] - pair[0]).abs()).filter(|&step| step > 0.0);
        steps.min_by(f64::total_cmp).map(Self)
    }

    /// The standard deviation of a normal with these deviations, times `factor`.
    fn scale(&self, factor: f64, deviations: impl Iterator<Item = f64>) -> f64 {
        let sizes: Vec<f64> = deviations.map(f64::abs).collect();
        let scale = MAD_TO_SD * median_of(&sizes) * factor;
        if scale > 0.0 { scale } else { 0.5 * self.0 }
    }
}

/// Where the CUSUM of clipped scores is largest, and how large.
fn best_split(series: &[f64], centre: f64, scale: f64, shortest: usize) -> (usize, f64) {
    let scores: Vec<f64> =
        series.iter().map(|value| ((value - centre) / scale).clamp(-CLIP, CLIP)).collect();
    let n = series.len();
    let mean = mean_of(&scores);
    let mut best = (shortest, 0.0);
    let mut sum = 0.0;
    for (index, score) in scores.iter().enumerate().take(n - shortest) {
        sum += score - mean;
        let left = index + 1;
        // Without a change the CUSUM varies most in the middle; divided by its deviation, all places compete fairly.
        let weight = (left * (n - left)) as f64 / n as f64;
        let cusum = sum.abs() / weight.sqrt();
        if left >= shortest && cusum > best.1 {
            best = (left, cusum);
        }
    }
    best
}

/// Each value less the median of its side.
fn residuals(series: &[f64], split: usize) -> Vec<f64> {
    let (before, after) = series.split_at(split);
    [centred(before), centred(after)].concat()
}

/// Each value less the median of all.
fn centred(part: &[f64]) -> Vec<f64> {
    let centre = median_of(part);
    part.iter().map(|value| value - centre).collect()
}

#[cfg(test)]
mod tests {
    use super::{Alpha, CriticalValues, huber_max, segments};
    use crate::NoInterval;
    use crate::rng::Rng;

    fn stepped(levels: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let level = |&(count, level): &(usize, f64)| {
            (0..count).map(|_| level + rng.normal()).collect::<Vec<_>>()
        };
        levels.iter().flat_map(level).collect()
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let series = stepped(&[(30, 0.0), (30, 5.0)], 1);
        assert_eq!(huber_max(&series, 3).unwrap().at, 30);
        assert_eq!(
            segments(&series, CriticalValues::History, Alpha::Hundredth),
            Ok(vec![0..30, 30..60])
        );
    }

    #[test]
    fn two_steps_make_three_segments() {
        let series = stepped(&[(40, 0.0), (40, 6.0), (40, -6.0)], 2);
        assert_eq!(
            segments(&series, CriticalValues::WarmUp, Alpha::Thousandth),
            Ok(vec![0..40, 40..80, 80..120])
        );
    }

    #[test]
    fn outliers_make_no_change() {
        let mut series = stepped(&[(100, 0.0)], 3);
        for at in [50, 51, 70] {
            series[at] = 1000.0;
        }
        assert_eq!(
            segments(&series, CriticalValues::History, Alpha::Hundredth).map(|parts| parts.len()),
            Ok(1)
        );
    }

    #[test]
    fn a_step_without_noise_is_found() {
        let mut series = vec![1.0; 40];
        series[20..].fill(2.0);
        assert_eq!(
            segments(&series, CriticalValues::WarmUp, Alpha::Hundredth),
            Ok(vec![0..20, 20..40])
        );
    }

    #[test]
    fn autocorrelation_raises_the_bar() {
        let mut rng = Rng::new(4);
        let mut plainly = 0;
        let mut cautiously = 0;
        for _ in 0..100 {
            let mut state = 0.0;
            let next = |_| {
                state = 0.7 * state + rng.normal();
                state
            };
            let series: Vec<f64> = (0..300).map(next).collect();
            let change = huber_max(&series, 10).unwrap();
            plainly += usize::from(change.statistic > 3.63);
            cautiously += usize::from(change.exceeds(3.63));
        }
        assert!(plainly > 30 && cautiously < 8, "{plainly} {cautiously}");
    }

    #[test]
    fn constant_short_or_not_finite_has_no_change() {
        assert_eq!(huber_max(&[1.0; 30], 3), None);
        assert_eq!(huber_max(&[1.0, 2.0, 3.0, 4.0, 5.0], 3), None);
        assert_eq!(huber_max(&[1.0, f64::NAN, 2.0, 3.0, 4.0, 5.0], 3), None);
        let nan = segments(&[f64::NAN; 10], CriticalValues::History, Alpha::Hundredth);
        assert_eq!(nan, Err(NoInterval::NotFinite));
        assert_eq!(
            segments(&[], CriticalValues::History, Alpha::Hundredth).map(|parts| parts.len()),
            Ok(1)
        );
    }

    #[test]
    fn the_table_is_interpolated_and_ends() {
        assert_eq!(CriticalValues::History.critical(7, Alpha::Hundredth), None);
        assert_eq!(CriticalValues::History.critical(8, Alpha::Hundredth), Some(3.712));
        assert_eq!(CriticalValues::WarmUp.critical(9999, Alpha::Thousandth), Some(4.369));
        let between = CriticalValues::History.critical(150, Alpha::Twentieth).unwrap();
        assert!(between > 3.11 && between < 3.13);
    }
}
