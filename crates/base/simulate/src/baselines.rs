//! A check long after its baseline, if noise is partly slow: any alarm of a machine that did not change.

use super::bars::{Bar, BarSeries, ValidationRow};
use super::checks::SERIES;
use plumb_stats::regression_gate::{CONFIRM_RUNS, PER_DOUBLING, RegressionGate, Shift};
use plumb_stats::rng::Rng;

/// Runs of a baseline.
const RUNS: usize = 8;
/// Standard deviation of neighbouring runs, relative.
const SD: f64 = 0.01;
/// A run, and the pause to the next where runs follow each other, in seconds.
pub(crate) const RUN_S: f64 = 150.0;
/// Slow noise has parts an octave apart, the first as long as a run, the last of over three months.
const OCTAVES: usize = 16;
pub(crate) const HOUR_S: f64 = 3600.0;
pub(crate) const DAY_S: f64 = 24.0 * HOUR_S;

/// When a baseline and a check are taken.
#[derive(Debug, Clone, Copy)]
struct BaselineTiming {
    name: &'static str,
    /// From a run of the baseline to the next, in seconds.
    every_s: f64,
    /// From the last of them to the check, in seconds.
    later_s: f64,
}

const AT_ONCE: BaselineTiming =
    BaselineTiming { name: "runs in 20 min, checked at once", every_s: RUN_S, later_s: RUN_S };

const SETTINGS: [BaselineTiming; 6] = [
    AT_ONCE,
    BaselineTiming { name: "runs in 20 min, checked an hour later", later_s: HOUR_S, ..AT_ONCE },
    BaselineTiming { name: "runs in 20 min, checked a day later", later_s: DAY_S, ..AT_ONCE },
    BaselineTiming {
        name: "runs in 20 min, checked a week later",
        later_s: 7.0 * DAY_S,
        ..AT_ONCE
    },
    BaselineTiming {
        name: "one run per hour, checked a week later",
        every_s: HOUR_S,
        later_s: 7.0 * DAY_S,
    },
    BaselineTiming {
        name: "one run per day, checked a week later",
        every_s: DAY_S,
        later_s: 7.0 * DAY_S,
    },
];

/// The level of one series: independent noise, and slow noise, which adds to the variance of a difference with every
/// doubling of time.
pub(crate) struct SeriesLevel {
    parts: [f64; OCTAVES],
    white: f64,
    octave: f64,
}

impl SeriesLevel {
    /// A doubling of time adds this share of the variance of neighbours; 0 if no noise is slow.
    pub(crate) fn new(per_doubling: f64, rng: &mut Rng) -> Self {
        // Half of the mean square difference of neighbours is SD²; each octave has half of what a doubling adds.
        let octave = (0.5 * per_doubling).sqrt() * SD;
        let fast: f64 = (0..OCTAVES).map(|at| 1.0 - (-RUN_S / memory_s(at)).exp()).sum();
        let white = (SD * SD - octave * octave * fast).max(0.0).sqrt();
        Self { parts: std::array::from_fn(|_| rng.normal()), white, octave }
    }

    /// The log cost of a run so long after the one before.
    pub(crate) fn run(&mut self, after_s: f64, rng: &mut Rng) -> f64 {
        for (at, part) in self.parts.iter_mut().enumerate() {
            let keep = (-after_s / memory_s(at)).exp();
            *part = keep * *part + (1.0 - keep * keep).sqrt() * rng.normal();
        }
        self.octave * self.parts.iter().sum::<f64>() + self.white * rng.normal()
    }
}

/// The time after which an octave of slow noise has forgotten its level, in seconds.
fn memory_s(octave: usize) -> f64 {
    RUN_S * 2f64.powi(octave as i32)
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let trials = replications.div_ceil(2);
    for setting in SETTINGS {
        report(clean(setting, true, trials));
    }
    report(clean(SETTINGS[3], false, trials));
    report(slower(AT_ONCE, Bar::AtLeast(0.95), trials));
    let few = Bar::Exempt("runs within 20 min are too close together to promise it");
    report(slower(SETTINGS[3], few, trials));
    report(slower(SETTINGS[5], Bar::AtLeast(0.95), trials));
}

/// The series that a check confirms; of the first, work takes longer by `effect`.
fn check(
    setting: BaselineTiming,
    (slow, widened): (bool, bool),
    effect: f64,
    rng: &mut Rng,
) -> Vec<usize> {
    let per_doubling = if slow { PER_DOUBLING } else { 0.0 };
    let mut levels: Vec<SeriesLevel> =
        (0..SERIES).map(|_| SeriesLevel::new(per_doubling, rng)).collect();
    let baseline = measure(&mut levels, RUNS, (0.0, setting.every_s), rng);
    let mut screen = measure(&mut levels, 1, (setting.later_s, RUN_S), rng);
    let mut again = measure(&mut levels, CONFIRM_RUNS, (RUN_S, RUN_S), rng);
    for fresh in [&mut screen, &mut again] {
        fresh[0].iter_mut().for_each(|value| *value += effect.ln_1p());
    }
    let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
    let Ok(gate) = RegressionGate::new(&views) else { return Vec::new() };
    let span_s = (RUNS - 1) as f64 * setting.every_s;
    // The age counts from the middle of the baseline.
    let age_s = 0.5 * span_s + setting.later_s;
    let gate = if widened { gate.after(span_s, age_s) } else { gate };
    let screened = shifts(&gate, &screen);
    let flagged: Vec<(usize, Shift)> = shifts(&gate, &again)
        .into_iter()
        .enumerate()
        .filter(|(series, _)| screened[*series].is_flagged())
        .collect();
    gate.confirm(&flagged)
}

/// The log costs of all series in so many runs: seconds to the first of them, and from each to the next.
fn measure(
    levels: &mut [SeriesLevel],
    runs: usize,
    (first_s, next_s): (f64, f64),
    rng: &mut Rng,
) -> Vec<Vec<f64>> {
    levels
        .iter_mut()
        .map(|level| {
            (0..runs).map(|run| level.run(if run == 0 { first_s } else { next_s }, rng)).collect()
        })
        .collect()
}

fn shifts(gate: &RegressionGate, fresh: &[Vec<f64>]) -> Vec<Shift> {
    (0..).zip(fresh).filter_map(|(series, runs)| gate.shift(series, runs).ok()).collect()
}

fn count(trials: u64, happens: impl Fn(&mut Rng) -> bool) -> BarSeries {
    let hits = (0..trials).filter(|&seed| happens(&mut Rng::new(seed))).count() as u64;
    BarSeries::Share { hits, trials }
}

fn clean(setting: BaselineTiming, widened: bool, trials: u64) -> ValidationRow {
    ValidationRow {
        promise: "any alarm in a check of an unchanged machine, with slow noise",
        setting: format!("{}{}", setting.name, if widened { "" } else { ", not widened" }),
        bar: if widened { Bar::AtMost(0.06) } else { Bar::Exempt("shows why widening is needed") },
        measured: count(trials, |rng| !check(setting, (true, widened), 0.0, rng).is_empty()),
        note: String::new(),
    }
}

/// What widening costs if noise is not slow.
fn slower(setting: BaselineTiming, bar: Bar, trials: u64) -> ValidationRow {
    ValidationRow {
        promise: "a 5 % slow-down of one series, found by a check that allows for slow noise when there is none",
        setting: setting.name.to_owned(),
        bar,
        measured: count(trials, |rng| check(setting, (false, true), 0.05, rng).contains(&0)),
        note: String::new(),
    }
}
