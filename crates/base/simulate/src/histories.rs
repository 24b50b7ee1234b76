//! A series that gets one more run repeatedly: false alarms, and steps found soon.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::NoInterval;
use plumb_stats::history::{StretchStep, WINDOW, certain, suspects};
use plumb_stats::rng::Rng;

/// Runs of a history without a step.
const LONG: usize = 200;
/// Runs before a step, its size in standard deviations, and the runs in which it is to be found.
const BEFORE: usize = 50;
const STEP: f64 = 3.0;
const SOON: usize = 10;
/// Runs after a step whose size is to be known.
const AFTER: usize = 30;

/// The noise of a history, in its standard deviations.
#[derive(Debug, Clone, Copy)]
struct HistoryNoise {
    name: &'static str,
    rho: f64,
    /// Share of values and their size: outliers, or a second mode.
    other: (f64, f64),
    /// The share of steps that is to be found soon.
    finds: Bar,
}

const PLAIN: HistoryNoise =
    HistoryNoise { name: "independent", rho: 0.0, other: (0.0, 0.0), finds: Bar::AtLeast(0.9) };
const UNDERESTIMATED: Bar = Bar::Exempt("80 runs are too few to estimate autocorrelation");
const HIDDEN: Bar = Bar::Exempt("too similar to the noise");

const NOISES: [HistoryNoise; 5] = [
    PLAIN,
    HistoryNoise { name: "AR(.3)", rho: 0.3, finds: HIDDEN, ..PLAIN },
    HistoryNoise { name: "AR(.6)", rho: 0.6, finds: HIDDEN, ..PLAIN },
    HistoryNoise { name: "5 % outliers of 6 sd", other: (0.05, 6.0), ..PLAIN },
    HistoryNoise {
        name: "20 % in a second mode at 3 sd",
        other: (0.2, 3.0),
        finds: HIDDEN,
        ..PLAIN
    },
];

impl HistoryNoise {
    fn draw(&self, count: usize, rng: &mut Rng) -> Vec<f64> {
        let mut state = rng.normal();
        (0..count)
            .map(|_| {
                state = self.rho * state + (1.0 - self.rho * self.rho).sqrt() * rng.normal();
                state + if rng.uniform() < self.other.0 { self.other.1 } else { 0.0 }
            })
            .collect()
    }
}

/// Runs the bars of this file; long histories count for several replications.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let histories = replications.div_ceil(4);
    for noise in NOISES {
        let promise = "false alarms (certain) in 1000 runs of a history";
        report(false_alarms(noise, CERTAIN, promise, Bar::AtMost(1.0), histories));
    }
    for noise in NOISES {
        let promise = "false alarms (suspected) in 1000 runs of a history";
        let bar = Bar::Exempt("suspects are measured again");
        report(false_alarms(noise, SUSPECTS, promise, bar, histories));
    }
    for noise in NOISES {
        report(found_soon(noise, replications));
    }
    for noise in NOISES {
        report(size_known(noise, replications));
    }
}

/// What finds the steps of a window.
type FindSteps = fn(&[f64]) -> Result<Vec<StretchStep>, NoInterval>;

const SUSPECTS: FindSteps = |window| suspects(window, &[]);
const CERTAIN: FindSteps = |window| certain(window, &[], 0.0);

/// How often something is found that is not there, looking after each run; a found step begins a new history.
fn alarms(history: &[f64], search: FindSteps) -> f64 {
    let mut since = 0;
    let mut count = 0.0;
    for end in 1..=history.len() {
        let start = since.max(end.saturating_sub(WINDOW));
        let found = search(&history[start..end]).unwrap_or_default();
        if let Some(last) = found.last() {
            // As in use, nothing before a found step is looked at again.
            since = start + last.at;
            count += 1.0;
        }
    }
    count
}

fn false_alarms(
    noise: HistoryNoise,
    search: FindSteps,
    promise: &'static str,
    bar: Bar,
    histories: u64,
) -> ValidationRow {
    let rates: Vec<f64> = (0..histories.max(2))
        .map(|seed| {
            let history = noise.draw(LONG, &mut Rng::new(seed));
            alarms(&history, search) * 1000.0 / LONG as f64
        })
        .collect();
    ValidationRow {
        promise,
        setting: noise.name.to_owned(),
        bar,
        measured: BarSeries::mean(&rates),
        note: String::new(),
    }
}

/// A history that gets slower by [`STEP`] after [`BEFORE`] runs.
fn stepped(noise: HistoryNoise, after: usize, rng: &mut Rng) -> Vec<f64> {
    let mut history = noise.draw(BEFORE + after, rng);
    history[BEFORE..].iter_mut().for_each(|value| *value += STEP);
    history
}

/// Whether a step that was found is the one that is there: noise may move it by a few runs.
fn is_the_step(step: &StretchStep) -> bool {
    step.at.abs_diff(BEFORE) <= 3
}

fn found_soon(noise: HistoryNoise, replications: u64) -> ValidationRow {
    let mut hits = 0;
    for seed in 0..replications {
        let history = stepped(noise, SOON, &mut Rng::new(seed));
        let is_found = (BEFORE + 1..=history.len()).any(|end| {
            let found = SUSPECTS(&history[..end]).unwrap_or_default();
            found.iter().any(is_the_step)
        });
        hits += u64::from(is_found);
    }
    ValidationRow {
        promise: "a step of 3 sd suspected within 10 runs",
        setting: noise.name.to_owned(),
        bar: noise.finds,
        measured: BarSeries::Share { hits, trials: replications },
        note: String::new(),
    }
}

fn size_known(noise: HistoryNoise, replications: u64) -> ValidationRow {
    let covered: Vec<bool> = (0..replications)
        .filter_map(|seed| {
            let history = stepped(noise, AFTER, &mut Rng::new(seed));
            let all = SUSPECTS(&history).unwrap_or_default();
            Some(all.iter().find(|step| is_the_step(step))?.interval.ok()?.contains(STEP))
        })
        .collect();
    ValidationRow {
        promise: "95 % interval of the size of a step that was found",
        setting: noise.name.to_owned(),
        bar: if noise.rho > 0.0 { UNDERESTIMATED } else { Bar::AtLeast(0.94) },
        measured: BarSeries::Share {
            hits: covered.iter().filter(|&&is| is).count() as u64,
            trials: covered.len() as u64,
        },
        note: format!("{} found", covered.len()),
    }
}
