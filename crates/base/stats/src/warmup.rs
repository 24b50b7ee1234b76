//! Where steady state begins inside a process, if it ever does: docs/method.md, *Warm-up*.
//!
//! Segments are found by Huber-max and joined from the end backwards while they differ by less than half a percent or
//! their own noise; a trend guard and MSER-5 (White 1997) catch the slow changes that make no step. A caller also
//! discards at least one batch and 100 ms of native code, whatever this says.

use std::ops::Range;

use crate::NoInterval;
use crate::changes::{Alpha, CriticalValues, segments};
use crate::describe::{MAD_TO_SD, finite, mad_around, mean_of, median_of};
use crate::distribution::two_sided_t;
use crate::long_run::long_run_with;

/// Levels closer than this, in log time, count as the same.
const SAME_LEVEL: f64 = 0.005;
/// A steady part shorter than this share of the series is none.
const SMALLEST_STEADY: f64 = 0.25;
/// Standard error of a median over that of a mean.
const MEDIAN_COST: f64 = 1.2;
/// Fewest batches for the long-run variance of a segment.
const FEWEST_BATCHES: usize = 10;
/// Values in a batch of MSER.
const MSER_BATCH: usize = 5;
/// Shorter series cannot be cut into two segments.
const SHORTEST_SERIES: usize = 20;
/// The level of three standard errors, beyond which a cut made a difference.
const THREE_SIGMA: f64 = 0.997;
/// Starts of processes closer than this cannot be distinguished: the shortest segment.
const SAME_START: usize = 10;

/// The behaviour of a process's samples over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WarmupClass {
    /// Steady from the beginning, or from a start before which nothing differed.
    Flat,
    /// Slower at first, then steady.
    WarmUp,
    /// Faster at first, then steady: heat, a growing heap, credits that ran out.
    Slowdown,
    /// Still moving at the end: measure longer, else unsteady.
    Trend,
    /// Less than a quarter of the samples is steady: measure longer.
    Unsteady,
}

/// Where the steady part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Steady {
    /// Index of the first steady sample; if nothing is steady, of the best that could be found.
    pub start: usize,
    /// What was seen.
    pub class: WarmupClass,
}

/// Finds the steady part of consecutive samples, given as logarithms of times.
///
/// Series under 20 values can only show a cold start, in their first half.
///
/// # Errors
/// [`NoInterval::NotFinite`], [`NoInterval::TooFewSamples`] for none at all.
pub fn steady_state(log_times: &[f64]) -> Result<Steady, NoInterval> {
    finite(log_times)?;
    match log_times.len() {
        0 => Err(NoInterval::TooFewSamples),
        1..SHORTEST_SERIES => Ok(after_cut(log_times, mser(log_times), 1)),
        _ => long_series(log_times),
    }
}

/// How many samples to discard from later processes, once the first three agree on where steady state begins: a
/// quarter more than their latest start.
///
/// Three starts agree when they lie within 10 samples (shorter segments cannot be distinguished) or within a quarter of
/// the latest. `None` with fewer than three, or if they disagree; later entries are ignored.
pub fn fixed_discard(first_three: &[usize]) -> Option<usize> {
    let starts = first_three.get(..3)?;
    let earliest = *starts.iter().min()?;
    let latest = *starts.iter().max()?;
    let agree = latest - earliest <= SAME_START.max(latest / 4);
    agree.then(|| (latest * 5).div_ceil(4))
}

fn long_series(log_times: &[f64]) -> Result<Steady, NoInterval> {
    let n = log_times.len();
    let parts = segments(log_times, CriticalValues::WarmUp, Alpha::Hundredth)?;
    let (by_level, refused) = steady_suffix(log_times, &parts);
    if too_short(by_level, n) {
        return Ok(Steady { start: by_level, class: WarmupClass::Unsteady });
    }
    // A single outlier near the beginning must not look like a warm-up.
    let calm = clipped(log_times, &log_times[by_level..], 6.0);
    let batches: Vec<f64> = calm.chunks_exact(MSER_BATCH).map(mean_of).collect();
    // Segments find steps, MSER slow exponentials that make no step: the later start satisfies both.
    let start = by_level.max(MSER_BATCH * mser(&batches));
    if too_short(start, n) {
        return Ok(Steady { start, class: WarmupClass::Unsteady });
    }
    if moving(log_times, by_level, start, refused.as_ref()) {
        return Ok(Steady { start, class: WarmupClass::Trend });
    }
    let Some(refused) = refused else { return Ok(after_cut(&calm, start, MSER_BATCH)) };
    let faster = median_of(&log_times[refused]) < median_of(&log_times[start..]);
    Ok(Steady { start, class: if faster { WarmupClass::Slowdown } else { WarmupClass::WarmUp } })
}

fn too_short(start: usize, n: usize) -> bool {
    ((n - start) as f64) < SMALLEST_STEADY * n as f64
}

/// Walks back from the last segment while levels agree: the start of the suffix, and the segment that stopped it.
fn steady_suffix(log_times: &[f64], parts: &[Range<usize>]) -> (usize, Option<Range<usize>>) {
    let last = parts.last().map_or(0..0, Range::clone);
    let steady = SegmentLevel::of(&log_times[last]);
    let refused = parts.iter().rev().find(|part| {
        let level = SegmentLevel::of(&log_times[(*part).clone()]);
        let error = level.error.hypot(steady.error);
        (level.median - steady.median).abs() > SAME_LEVEL.max(2.0 * error)
    });
    (refused.map_or(0, |part| part.end), refused.cloned())
}

/// Whether the steady part is still moving: a line through it clearly rises or falls; or it may well go on as the
/// level did before, from the refused segment (the segments are then the treads of a staircase) or in what MSER cut.
fn moving(
    log_times: &[f64],
    by_level: usize,
    start: usize,
    refused: Option<&Range<usize>>,
) -> bool {
    let steady = TrendLine::through(&log_times[start..]);
    let whole = TrendLine::through(&log_times[by_level..]);
    let tread = refused.map(|refused| {
        let rise = median_of(&log_times[by_level..]) - median_of(&log_times[refused.clone()]);
        2.0 * rise / (log_times.len() - refused.start) as f64
    });
    let before = whole.is_clear().then_some(whole.slope);
    steady.is_clear() || [tread, before].into_iter().flatten().any(|slope| steady.goes_on(slope))
}

/// Judges a cut that no segment asked for: if nothing that it cuts off differs, nothing is cut off. Looks at the
/// first `step` values, twice as many, and so on.
fn after_cut(calm: &[f64], start: usize, step: usize) -> Steady {
    let (early, steady) = calm.split_at(start);
    // Too little is left to judge by, so nothing is cut off.
    let Ok(noise) = long_run_with(steady, FEWEST_BATCHES) else {
        return Steady { start: 0, class: WarmupClass::Flat };
    };
    let level = mean_of(steady);
    let deviations = two_sided_t(THREE_SIGMA, noise.df);
    let first_different = (step..=start).step_by(step).find_map(|length| {
        let difference = mean_of(&early[..length]) - level;
        let error = (noise.variance * (1.0 / length as f64 + 1.0 / steady.len() as f64)).sqrt();
        (difference.abs() > SAME_LEVEL.max(deviations * error)).then_some(difference)
    });
    match first_different {
        Some(difference) if difference > 0.0 => Steady { start, class: WarmupClass::WarmUp },
        Some(_) => Steady { start, class: WarmupClass::Slowdown },
        None => Steady { start: 0, class: WarmupClass::Flat },
    }
}

/// The cut, at most half, that minimises the variance of what is left over its number.
fn mser(values: &[f64]) -> usize {
    let mut best = (0, f64::INFINITY);
    let mut count = 0.0;
    let mut mean = 0.0;
    let mut squares = 0.0;
    for (cut, value) in values.iter().enumerate().rev() {
        count += 1.0;
        // Welford's update, which loses no digits to cancellation.
        let delta = value - mean;
        mean += delta / count;
        squares += delta * (value - mean);
        let criterion = squares / (count * count);
        // Near the end the criterion rests on a few values and is small by chance, so no cut beyond half is considered.
        if cut <= values.len() / 2 && criterion <= best.1 {
            best = (cut, criterion);
        }
    }
    best.0
}

/// The median of a stretch of the series with its standard error.
struct SegmentLevel {
    median: f64,
    error: f64,
}

impl SegmentLevel {
    fn of(values: &[f64]) -> Self {
        let variance = long_run_variance(&clipped(values, values, 3.0));
        Self {
            median: median_of(values),
            error: MEDIAN_COST * (variance / values.len() as f64).sqrt(),
        }
    }
}

/// A least-squares line through a stretch of the series, clipped.
struct TrendLine {
    /// The change per sample.
    slope: f64,
    /// How many samples the stretch has.
    length: f64,
    /// Over the whole stretch.
    change: f64,
    /// The standard error of the change.
    error: f64,
}

impl TrendLine {
    fn through(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let calm = clipped(values, values, 3.0);
        let middle = 0.5 * (n - 1.0);
        // Times around the middle of the stretch: the slope then needs no mean.
        let times: Vec<f64> = (0..calm.len()).map(|index| index as f64 - middle).collect();
        let products: f64 = times.iter().zip(&calm).map(|(time, value)| time * value).sum();
        // n (n² − 1) / 12 is the sum of the squared times.
        let slope = products * 12.0 / (n * (n * n - 1.0));
        let rest: Vec<f64> =
            times.iter().zip(&calm).map(|(time, value)| value - slope * time).collect();
        Self {
            slope,
            length: n,
            change: slope * n,
            error: (12.0 * long_run_variance(&rest) / n).sqrt(),
        }
    }

    fn is_clear(&self) -> bool {
        self.change.abs() > SAME_LEVEL.max(2.5 * self.error)
    }

    /// Whether a slope seen before would matter here and cannot be excluded.
    fn goes_on(&self, slope: f64) -> bool {
        let expected = self.length * slope;
        expected.abs() > SAME_LEVEL && (self.change - expected).abs() < 2.0 * self.error
    }
}

/// The long-run variance of a short stretch; 0 for a single value.
fn long_run_variance(values: &[f64]) -> f64 {
    long_run_with(values, FEWEST_BATCHES).map_or(0.0, |long_run| long_run.variance)
}

/// Values clipped to so many robust standard deviations around the median of `reference`.
fn clipped(values: &[f64], reference: &[f64], deviations: f64) -> Vec<f64> {
    let centre = median_of(reference);
    let reach = deviations * MAD_TO_SD * mad_around(reference, centre);
    values.iter().map(|value| value.clamp(centre - reach, centre + reach)).collect()
}

#[cfg(test)]
mod tests {
    use super::{Steady, WarmupClass, fixed_discard, steady_state};
    use crate::NoInterval;
    use crate::rng::Rng;

    /// Log times with 1 % noise around levels.
    fn noisy(levels: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut rng = Rng::new(seed);
        let level = |&(count, level): &(usize, f64)| {
            (0..count).map(|_| level + 0.01 * rng.normal()).collect::<Vec<_>>()
        };
        levels.iter().flat_map(level).collect()
    }

    #[test]
    fn flat_needs_no_discard() {
        assert_eq!(
            steady_state(&noisy(&[(200, 0.0)], 1)),
            Ok(Steady { start: 0, class: WarmupClass::Flat })
        );
    }

    #[test]
    fn a_slow_start_is_cut_where_it_ends() {
        let found = steady_state(&noisy(&[(50, 0.2), (150, 0.0)], 2)).unwrap();
        assert_eq!(found.class, WarmupClass::WarmUp);
        assert!((50..60).contains(&found.start), "{found:?}");
    }

    #[test]
    fn a_fast_start_is_a_slowdown() {
        let found = steady_state(&noisy(&[(50, -0.1), (150, 0.0)], 3)).unwrap();
        assert_eq!(found.class, WarmupClass::Slowdown);
    }

    #[test]
    fn a_burst_in_the_middle_cuts_what_is_before_it() {
        let found = steady_state(&noisy(&[(50, 0.0), (20, 0.3), (130, 0.0)], 4)).unwrap();
        assert_eq!(found.class, WarmupClass::WarmUp);
        assert!((70..85).contains(&found.start), "{found:?}");
    }

    #[test]
    fn a_change_near_the_end_is_unsteady() {
        assert_eq!(
            steady_state(&noisy(&[(170, 0.0), (30, 0.1)], 5)).unwrap().class,
            WarmupClass::Unsteady
        );
    }

    #[test]
    fn a_slope_is_not_steady() {
        let slope: Vec<f64> = noisy(&[(200, 0.0)], 6)
            .iter()
            .zip(0..)
            .map(|(y, at)| y + 2e-4 * f64::from(at))
            .collect();
        assert!(matches!(
            steady_state(&slope).unwrap().class,
            WarmupClass::Trend | WarmupClass::Unsteady
        ));
    }

    #[test]
    fn five_samples_show_a_cold_start_and_nothing_else() {
        let cold = steady_state(&[0.2, 0.01, 0.0, -0.01, 0.003]).unwrap();
        assert!(cold.class == WarmupClass::WarmUp && (1..=2).contains(&cold.start), "{cold:?}");
        let warm = [0.02, 0.01, 0.0, -0.01, 0.003];
        assert_eq!(steady_state(&warm), Ok(Steady { start: 0, class: WarmupClass::Flat }));
        assert_eq!(steady_state(&[0.0]), Ok(Steady { start: 0, class: WarmupClass::Flat }));
    }

    #[test]
    fn constants_are_flat_and_nonsense_is_refused() {
        assert_eq!(steady_state(&[1.0; 50]), Ok(Steady { start: 0, class: WarmupClass::Flat }));
        assert_eq!(steady_state(&[]), Err(NoInterval::TooFewSamples));
        assert_eq!(steady_state(&[f64::NEG_INFINITY; 3]), Err(NoInterval::NotFinite));
    }

    #[test]
    fn three_starts_that_agree_make_a_discard() {
        assert_eq!(fixed_discard(&[10, 12, 8]), Some(15));
        assert_eq!(fixed_discard(&[100, 90, 80]), Some(125));
        assert_eq!(fixed_discard(&[0, 0, 0, 99]), Some(0));
        assert_eq!(fixed_discard(&[100, 70, 80]), None);
        assert_eq!(fixed_discard(&[10, 10]), None);
    }
}
