//! Where steady state begins inside a process, if it ever does: METHOD section 1.2.
//!
//! Segments are found by Huber-max and joined from the end backwards while they differ by less than half a percent or
//! their own noise; a trend guard and MSER-5 (White 1997) catch the slow changes that make no step. A caller also
//! discards at least one batch and 100 ms of native code, whatever this says.

use std::ops::Range;

use crate::NoInterval;
use crate::changes::{Alpha, Table, segments};
use crate::describe::{MAD_TO_SD, finite, mad_around, median_of};
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
/// Starts of processes closer than this cannot be told apart: the shortest segment.
const SAME_START: usize = 10;

/// What the samples of a process do over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
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
    /// Index of the first steady sample; where nothing is steady, of the best that could be found.
    pub start: usize,
    /// What was seen.
    pub class: Class,
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
        1..SHORTEST_SERIES => Ok(cold_start(log_times)),
        _ => long_series(log_times),
    }
}

/// How many samples to discard from later processes, once the first three agree on where steady state begins: a
/// quarter more than their latest start.
///
/// Three starts agree when they lie within 10 samples (shorter segments cannot be told apart) or within a quarter of
/// the latest. `None` with fewer than three, or where they disagree; later entries are ignored.
pub fn fixed_discard(first_three: &[usize]) -> Option<usize> {
    let starts = first_three.get(..3)?;
    let (earliest, latest) = (*starts.iter().min()?, *starts.iter().max()?);
    let agree = latest - earliest <= SAME_START.max(latest / 4);
    agree.then(|| (latest * 5).div_ceil(4))
}

fn long_series(log_times: &[f64]) -> Result<Steady, NoInterval> {
    let parts = segments(log_times, Table::WarmUp, Alpha::Hundredth)?;
    let (by_level, refused) = steady_suffix(log_times, &parts);
    if too_short(by_level, log_times.len()) {
        return Ok(Steady { start: by_level, class: Class::Unsteady });
    }
    if trend(&log_times[by_level..]) {
        return Ok(Steady { start: by_level, class: Class::Trend });
    }
    let start = by_level.max(slow_start(log_times, by_level));
    if too_short(start, log_times.len()) {
        return Ok(Steady { start, class: Class::Unsteady });
    }
    let before = refused.unwrap_or(0..start);
    Ok(Steady { start, class: class_of(log_times, before, start) })
}

fn too_short(start: usize, n: usize) -> bool {
    ((n - start) as f64) < SMALLEST_STEADY * n as f64
}

/// Walks back from the last segment while levels agree: the start of the suffix, and the segment that stopped it.
fn steady_suffix(log_times: &[f64], parts: &[Range<usize>]) -> (usize, Option<Range<usize>>) {
    let last = parts.last().map_or(0..0, Range::clone);
    let steady = Level::of(&log_times[last.clone()]);
    let refused = parts.iter().rev().find(|part| {
        let level = Level::of(&log_times[(*part).clone()]);
        level.distance(&steady) > SAME_LEVEL.max(2.0 * level.joint_error(&steady))
    });
    (refused.map_or(0, |part| part.end), refused.cloned())
}

/// Whether the first and the last third differ.
fn trend(suffix: &[f64]) -> bool {
    let third = suffix.len() / 3;
    if third == 0 {
        return false;
    }
    let (first, last) = (Level::of(&suffix[..third]), Level::of(&suffix[suffix.len() - third..]));
    first.distance(&last) > SAME_LEVEL.max(2.5 * first.joint_error(&last))
}

/// The cut by MSER-5, which sees slow exponentials that make no step.
fn slow_start(log_times: &[f64], by_level: usize) -> usize {
    let clipped = clipped(log_times, &log_times[by_level..], 6.0);
    let batches: Vec<f64> =
        clipped.chunks_exact(MSER_BATCH).map(crate::describe::mean_of).collect();
    MSER_BATCH * mser(&batches)
}

fn class_of(log_times: &[f64], before: Range<usize>, start: usize) -> Class {
    if start == 0 {
        return Class::Flat;
    }
    let (early, steady) = (Level::of(&log_times[before]), Level::of(&log_times[start..]));
    if early.distance(&steady) <= SAME_LEVEL.max(2.0 * early.joint_error(&steady)) {
        Class::Flat
    } else if early.median > steady.median {
        Class::WarmUp
    } else {
        Class::Slowdown
    }
}

/// The rule for a handful of samples: cut by MSER on single values, and only where it makes a difference.
fn cold_start(log_times: &[f64]) -> Steady {
    let start = mser(log_times);
    let class = class_of(log_times, 0..start, start);
    Steady { start: if class == Class::Flat { 0 } else { start }, class }
}

/// The cut, at most half, that minimises the variance of what is left over its number.
fn mser(values: &[f64]) -> usize {
    let mut best = (0, f64::INFINITY);
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for (cut, value) in values.iter().enumerate().rev() {
        count += 1.0;
        let delta = value - mean;
        mean += delta / count;
        squares += delta * (value - mean);
        let criterion = squares / (count * count);
        if cut <= values.len() / 2 && criterion <= best.1 {
            best = (cut, criterion);
        }
    }
    best.0
}

/// The median of a stretch of the series with its standard error.
struct Level {
    median: f64,
    error: f64,
}

impl Level {
    fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self { median: 0.0, error: f64::INFINITY };
        }
        let calm = clipped(values, values, 3.0);
        let variance =
            long_run_with(&calm, FEWEST_BATCHES).map_or(0.0, |long_run| long_run.variance);
        Self {
            median: median_of(values),
            error: MEDIAN_COST * (variance / values.len() as f64).sqrt(),
        }
    }

    fn distance(&self, other: &Self) -> f64 {
        (self.median - other.median).abs()
    }

    fn joint_error(&self, other: &Self) -> f64 {
        self.error.hypot(other.error)
    }
}

/// Values clipped to so many robust standard deviations around the median of `reference`.
fn clipped(values: &[f64], reference: &[f64], deviations: f64) -> Vec<f64> {
    let centre = median_of(reference);
    let reach = deviations * MAD_TO_SD * mad_around(reference, centre);
    values.iter().map(|value| value.clamp(centre - reach, centre + reach)).collect()
}
