//! A check long after its baseline, if noise is partly slow: any alarm of a machine that did not change.

use super::bars::{Bar, BarSeries, ValidationRow};
use super::checks::{FALSE_ALARMS, SERIES};
use plumb_stats::describe::mean_of;
use plumb_stats::regression_gate::{
    CONFIRM_ALPHA, CONFIRM_APART_S, CONFIRM_RUNS, PER_DOUBLING, RegressionGate, Shift,
};
use plumb_stats::rng::Rng;
use plumb_stats::stored_runs::{DatedRun, DifferenceNoise, noise_between_times};

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

/// A host that switches between two levels this far apart, each for an hour on average: a short baseline sees one.
const LEVELS_APART: f64 = 0.06;
/// A change that a host's noise between times does not reach.
const LARGE: f64 = 0.15;
const SMALL: f64 = 0.05;
/// Earlier runs as far apart as baseline and check.
const EARLIER: usize = 10;

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
const HOUR_LATER: BaselineTiming =
    BaselineTiming { name: "runs in 20 min, checked an hour later", later_s: HOUR_S, ..AT_ONCE };
const WEEK_LATER: BaselineTiming = BaselineTiming {
    name: "runs in 20 min, checked a week later",
    later_s: 7.0 * DAY_S,
    ..AT_ONCE
};
const DAILY: BaselineTiming = BaselineTiming {
    name: "one run per day, checked a week later",
    every_s: DAY_S,
    later_s: 7.0 * DAY_S,
};

const SETTINGS: [BaselineTiming; 6] = [
    AT_ONCE,
    HOUR_LATER,
    BaselineTiming { name: "runs in 20 min, checked a day later", later_s: DAY_S, ..AT_ONCE },
    WEEK_LATER,
    BaselineTiming {
        name: "one run per hour, checked a week later",
        every_s: HOUR_S,
        later_s: 7.0 * DAY_S,
    },
    DAILY,
];

/// A machine whose level changes with time, and a check of it.
#[derive(Debug, Clone, Copy)]
struct TimedCheck {
    timing: BaselineTiming,
    /// Whether some of the noise is slow.
    is_slow: bool,
    /// Whether the host switches between two levels.
    has_levels: bool,
    /// Earlier runs of the same distance in the store.
    earlier: usize,
    /// Sessions that confirm.
    sessions: usize,
    /// Whether the check allows for time.
    allows_for_time: bool,
}

const SLOW: TimedCheck = TimedCheck {
    timing: AT_ONCE,
    is_slow: true,
    has_levels: false,
    earlier: 0,
    sessions: 1,
    allows_for_time: true,
};

/// The level of one series: independent noise, and slow noise, which adds to the variance of a difference with every
/// doubling of time.
pub(crate) struct SeriesLevel {
    parts: [f64; OCTAVES],
    white: f64,
    octave: f64,
    /// Whether the host is on its upper level, if it has two.
    is_upper: Option<bool>,
}

impl SeriesLevel {
    /// A doubling of time adds this share of the variance of neighbours; 0 if no noise is slow.
    pub(crate) fn new(per_doubling: f64, rng: &mut Rng) -> Self {
        // Half of the mean square difference of neighbours is SD²; each octave has half of what a doubling adds.
        let octave = (0.5 * per_doubling).sqrt() * SD;
        let fast: f64 = (0..OCTAVES).map(|at| 1.0 - (-RUN_S / memory_s(at)).exp()).sum();
        let white = (SD * SD - octave * octave * fast).max(0.0).sqrt();
        Self { parts: std::array::from_fn(|_| rng.normal()), white, octave, is_upper: None }
    }

    /// The same on a host that switches between two levels.
    fn with_levels(self, rng: &mut Rng) -> Self {
        Self { is_upper: Some(rng.coin()), ..self }
    }

    /// The log cost of a run so long after the one before.
    pub(crate) fn run(&mut self, after_s: f64, rng: &mut Rng) -> f64 {
        for (at, part) in self.parts.iter_mut().enumerate() {
            let keep = (-after_s / memory_s(at)).exp();
            *part = keep * *part + (1.0 - keep * keep).sqrt() * rng.normal();
        }
        if let Some(is_upper) = &mut self.is_upper {
            // Two states that are left at equal rates: the chance of an odd number of changes.
            let has_switched = 0.5 * (1.0 - (-2.0 * after_s / HOUR_S).exp());
            *is_upper ^= rng.uniform() < has_switched;
        }
        let level = if self.is_upper == Some(true) { LEVELS_APART } else { 0.0 };
        level + self.octave * self.parts.iter().sum::<f64>() + self.white * rng.normal()
    }
}

/// The time after which an octave of slow noise has forgotten its level, in seconds.
fn memory_s(octave: usize) -> f64 {
    RUN_S * 2f64.powi(octave as i32)
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let trials = replications.div_ceil(2);
    let false_alarms = Bar::AtMost(FALSE_ALARMS);
    for timing in SETTINGS {
        report(clean(TimedCheck { timing, ..SLOW }, false_alarms, trials));
    }
    let not_allowed_for = TimedCheck { timing: WEEK_LATER, allows_for_time: false, ..SLOW };
    report(clean(not_allowed_for, Bar::Exempt("shows why time must be allowed for"), trials));
    let levels = TimedCheck { timing: HOUR_LATER, has_levels: true, ..SLOW };
    report(clean(levels, false_alarms, trials));
    report(clean(TimedCheck { earlier: EARLIER, ..levels }, false_alarms, trials));
    report(clean(TimedCheck { timing: DAILY, sessions: 3, ..SLOW }, false_alarms, trials));
    let not_allowed_for = TimedCheck { allows_for_time: false, ..levels };
    report(clean(not_allowed_for, Bar::Exempt("shows why time must be allowed for"), trials));

    let steady = TimedCheck { is_slow: false, ..SLOW };
    let hourly = TimedCheck { timing: HOUR_LATER, ..steady };
    let promised = Bar::AtLeast(0.95);
    // These were .95 when one in 16 checks of an unchanged machine was allowed to raise an alarm.
    let after_one_session = Bar::AtLeast(0.8);
    let daily = TimedCheck { timing: DAILY, ..steady };
    let with_history = TimedCheck { earlier: EARLIER, ..hourly };
    for check in [daily, with_history] {
        report(slower(check, SMALL, after_one_session, trials));
        report(slower(TimedCheck { sessions: 3, ..check }, SMALL, after_one_session, trials));
    }
    report(slower(hourly, LARGE, promised, trials));
    let too_close = Bar::Exempt("runs within 20 min are too close together to promise it");
    report(slower(hourly, SMALL, too_close, trials));
    report(slower(TimedCheck { timing: WEEK_LATER, ..steady }, LARGE, too_close, trials));
    report(undecided(hourly, trials));
}

/// The series that a check confirms, and those that it leaves undecided.
#[derive(Default)]
struct TimedOutcome {
    confirmed: Vec<usize>,
    undecided: Vec<usize>,
}

impl TimedCheck {
    fn levels(self, rng: &mut Rng) -> Vec<SeriesLevel> {
        let per_doubling = if self.is_slow { PER_DOUBLING } else { 0.0 };
        let mut levels = Vec::with_capacity(SERIES);
        for _ in 0..SERIES {
            let level = SeriesLevel::new(per_doubling, rng);
            levels.push(if self.has_levels { level.with_levels(rng) } else { level });
        }
        levels
    }

    /// A check if work of the first series takes longer by `effect`.
    fn check(self, effect: f64, rng: &mut Rng) -> TimedOutcome {
        let timing = self.timing;
        let mut levels = self.levels(rng);
        let span_s = (RUNS - 1) as f64 * timing.every_s;
        // The age counts from the middle of the baseline.
        let age_s = 0.5 * span_s + timing.later_s;
        // A run as long before the next as the check is after the baseline, so that neighbours show its noise.
        let earlier = measure(&mut levels, self.earlier, (age_s, age_s), rng);
        let baseline = measure(&mut levels, RUNS, (age_s, timing.every_s), rng);
        let mut screen = measure(&mut levels, 1, (timing.later_s, RUN_S), rng);
        let mut again = sessions(&mut levels, self.sessions, rng);
        for fresh in [&mut screen, &mut again] {
            fresh[0].iter_mut().for_each(|value| *value += effect.ln_1p());
        }
        let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
        let Ok(gate) = RegressionGate::new(&views) else { return TimedOutcome::default() };
        let gate = if self.allows_for_time {
            gate.after(span_s, age_s).with_noise_between_times(&noise_of(&earlier, age_s))
        } else {
            gate
        };
        outcome(&gate, &shifts(&gate, &screen), &shifts(&gate, &again))
    }
}

fn outcome(gate: &RegressionGate, screened: &[Shift], again: &[Shift]) -> TimedOutcome {
    let mut flagged: Vec<(usize, Shift)> = Vec::new();
    let mut undecided = Vec::new();
    for (series, (screen, shift)) in screened.iter().zip(again).enumerate() {
        if !screen.is_flagged() {
            continue;
        }
        if gate.could_be_the_time(series, screen) || gate.could_be_the_time(series, shift) {
            undecided.push(series);
        } else {
            flagged.push((series, *shift));
        }
    }
    TimedOutcome { confirmed: gate.confirm(&flagged, CONFIRM_ALPHA), undecided }
}

/// What earlier runs of every series show of the noise between times.
fn noise_of(earlier: &[Vec<f64>], age_s: f64) -> Vec<Option<DifferenceNoise>> {
    earlier.iter().map(|costs| noise_of_series(costs, age_s)).collect()
}

fn noise_of_series(costs: &[f64], age_s: f64) -> Option<DifferenceNoise> {
    let mut runs: Vec<DatedRun> = Vec::with_capacity(costs.len());
    for (at, cost) in costs.iter().enumerate() {
        runs.push(DatedRun { began_s: Some(at as f64 * age_s), cost: *cost });
    }
    // The sides only say how far apart baseline and check are.
    let end_s = costs.len() as f64 * age_s;
    let baseline = [DatedRun { began_s: Some(end_s), cost: 0.0 }];
    let check = [DatedRun { began_s: Some(end_s + age_s), cost: 0.0 }];
    noise_between_times(&baseline, &check, &runs).ok().flatten()
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

/// The log costs of all series in sessions that confirm, each the mean of its runs.
fn sessions(levels: &mut [SeriesLevel], sessions: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut means: Vec<Vec<f64>> = vec![Vec::with_capacity(sessions); levels.len()];
    for _ in 0..sessions {
        let runs = measure(levels, CONFIRM_RUNS, (CONFIRM_APART_S, RUN_S), rng);
        for (means, runs) in means.iter_mut().zip(&runs) {
            means.push(mean_of(runs));
        }
    }
    means
}

fn shifts(gate: &RegressionGate, fresh: &[Vec<f64>]) -> Vec<Shift> {
    (0..)
        .zip(fresh)
        .filter_map(|(series, sessions)| {
            gate.shift_of_sessions(series, sessions, CONFIRM_APART_S).ok()
        })
        .collect()
}

fn count(trials: u64, happens: impl Fn(&mut Rng) -> bool) -> BarSeries {
    let hits = (0..trials).filter(|&seed| happens(&mut Rng::new(seed))).count() as u64;
    BarSeries::Share { hits, trials }
}

fn clean(setting: TimedCheck, bar: Bar, trials: u64) -> ValidationRow {
    ValidationRow {
        promise: "any alarm in a check of an unchanged machine, with slow noise",
        setting: setting.name(),
        bar,
        measured: count(trials, |rng| !setting.check(0.0, rng).confirmed.is_empty()),
        note: String::new(),
    }
}

/// What allowing for slow noise costs if there is none.
fn slower(setting: TimedCheck, effect: f64, bar: Bar, trials: u64) -> ValidationRow {
    ValidationRow {
        promise: "a slow-down of one series, found by a check that allows for slow noise when there is none",
        setting: format!("{} %, {}", 100.0 * effect, setting.name()),
        bar,
        measured: count(trials, |rng| setting.check(effect, rng).confirmed.contains(&0)),
        note: String::new(),
    }
}

/// A rule that never decides would raise no false alarm.
fn undecided(setting: TimedCheck, trials: u64) -> ValidationRow {
    ValidationRow {
        promise: "an unchanged machine of which a check leaves a series undecided",
        setting: setting.name(),
        bar: Bar::AtMost(0.5),
        measured: count(trials, |rng| !setting.check(0.0, rng).undecided.is_empty()),
        note: String::new(),
    }
}

impl TimedCheck {
    fn name(self) -> String {
        let mut name = self.timing.name.to_owned();
        if self.has_levels {
            name.push_str(", levels of an hour, 6 % apart");
        }
        if self.earlier > 0 {
            name.push_str(", ten earlier runs as far apart");
        }
        if self.sessions > 1 {
            name.push_str(&format!(", confirmed by {} sessions", self.sessions));
        }
        if !self.allows_for_time {
            name.push_str(", time not allowed for");
        }
        name
    }
}
