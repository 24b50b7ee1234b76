//! A check of many series against a baseline: false alarms of a clean machine, and slow-downs found.

use super::bars::{Bar, BarSeries, ValidationRow};
use super::traces::checked;
use plumb_stats::describe::mean_of;
use plumb_stats::regression_gate::{CONFIRM_ALPHA, CONFIRM_RUNS, RegressionGate, Shift, SlowDown};
use plumb_stats::rng::Rng;
use plumb_stats::stored_runs::FEWEST_RUNS;
use plumb_stats::verdict::MARGIN;

/// Promised: no more checks of an unchanged machine confirm anything.
pub(super) const FALSE_ALARMS: f64 = 0.01;
/// Promised: the probability of finding a slow-down that a check gives is that far off at most, over all checks.
const CALIBRATED: f64 = 0.05;
/// Series of a check of the standard suite.
pub(super) const SERIES: usize = 45;
/// The spread of the standard deviations of unequal series: lognormal with this sigma.
const UNEQUAL: f64 = 0.7;

/// A machine whose series vary from run to run.
#[derive(Debug, Clone, Copy)]
struct VaryingMachine {
    series: usize,
    runs: usize,
    /// Standard deviation between runs, the typical one if they are unequal.
    sd: f64,
    unequal: bool,
    noise: RunVariation,
}

/// The variation between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum RunVariation {
    /// Every series by itself, normally.
    Normal,
    /// The same, but with the heavy tails of Student's t with 3 degrees of freedom.
    Heavy,
    /// Nine tenths of the variance is common to all series of a run.
    Common,
}

impl RunVariation {
    /// How far a series is off in a run, in its standard deviations; all series of a run have `common`.
    fn draw(self, common: f64, rng: &mut Rng) -> f64 {
        match self {
            Self::Normal => rng.normal(),
            Self::Heavy => {
                let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
                rng.normal() / squares.sqrt()
            }
            Self::Common => COMMON.sqrt() * common + (1.0 - COMMON).sqrt() * rng.normal(),
        }
    }
}

/// The share of variance that is common.
const COMMON: f64 = 0.9;

const STANDARD: VaryingMachine = VaryingMachine {
    series: SERIES,
    runs: 8,
    sd: 0.01,
    unequal: false,
    noise: RunVariation::Normal,
};

impl VaryingMachine {
    fn name(&self) -> String {
        let Self { series, runs, sd, unequal, noise } = self;
        let kind = if *unequal { "about " } else { "" };
        let noise = match noise {
            RunVariation::Normal => "",
            RunVariation::Heavy => ", heavy tails",
            RunVariation::Common => ", series move together",
        };
        format!("{series} series, {runs} runs, sd {kind}{} %{noise}", 100.0 * sd)
    }

    /// The log estimates of all series in so many runs, series by series.
    fn measure(&self, spread: &[f64], runs: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
        let common: Vec<f64> = (0..runs).map(|_| rng.normal()).collect();
        let mut series = Vec::new();
        for sd in spread {
            series.push(common.iter().map(|common| sd * self.noise.draw(*common, rng)).collect());
        }
        series
    }

    /// The standard deviation of every series.
    fn spread(&self, rng: &mut Rng) -> Vec<f64> {
        let sigma = if self.unequal { UNEQUAL } else { 0.0 };
        (0..self.series).map(|_| self.sd * (sigma * rng.normal()).exp()).collect()
    }
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for unequal in [false, true] {
        for runs in [FEWEST_RUNS, 8, 12] {
            report(clean(VaryingMachine { runs, unequal, ..STANDARD }, replications));
        }
        for series in [1, 5, 15] {
            report(clean(VaryingMachine { series, unequal, ..STANDARD }, replications));
        }
    }
    for noise in [RunVariation::Heavy, RunVariation::Common] {
        for series in [5, SERIES] {
            report(clean(VaryingMachine { series, noise, ..STANDARD }, replications));
        }
    }
    let unequal = VaryingMachine { unequal: true, ..STANDARD };
    let noisy = VaryingMachine { sd: 0.02, ..STANDARD };
    let fewest = VaryingMachine { runs: FEWEST_RUNS, ..STANDARD };
    let not_promised = Bar::Exempt("too much noise to promise it");
    report(slow(STANDARD, 0.05, Bar::AtLeast(0.95), replications));
    report(slow(fewest, 0.05, Bar::AtLeast(0.95), replications));
    report(slow(unequal, 0.05, not_promised, replications));
    report(slow(noisy, 0.05, not_promised, replications));
    report(slow(STANDARD, 0.03, not_promised, replications));
    for effect in [0.03, 0.05] {
        report(foretold(STANDARD, effect, Bar::AtLeast(-CALIBRATED), replications));
        report(foretold(STANDARD, effect, Bar::AtMost(CALIBRATED), replications));
    }
    checked::run(report);
}

/// The series that a check confirms on a machine where the first is slower by `effect`.
fn check(setting: VaryingMachine, effect: f64, rng: &mut Rng) -> Vec<usize> {
    let spread = setting.spread(rng);
    let baseline = setting.measure(&spread, setting.runs, rng);
    let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
    let Ok(gate) = RegressionGate::new(&views) else { return Vec::new() };
    let mut shifts = |runs| -> Vec<Shift> {
        let mut fresh = setting.measure(&spread, runs, rng);
        fresh[0].iter_mut().for_each(|value| *value += effect.ln_1p());
        (0..)
            .zip(&fresh)
            .filter_map(|(series, runs)| gate.shift(series, &[mean_of(runs)]).ok())
            .collect()
    };
    let screened = shifts(1);
    // Fresh runs alone confirm: the screening chose the series, so that its runs would speak for them.
    let flagged: Vec<(usize, Shift)> = shifts(CONFIRM_RUNS)
        .into_iter()
        .enumerate()
        .filter(|(series, _)| screened[*series].is_flagged())
        .collect();
    gate.confirm(&flagged, CONFIRM_ALPHA)
}

fn count(replications: u64, happens: impl Fn(&mut Rng) -> bool) -> BarSeries {
    let hits = (0..replications).filter(|&seed| happens(&mut Rng::new(seed))).count() as u64;
    BarSeries::Share { hits, trials: replications }
}

fn clean(setting: VaryingMachine, replications: u64) -> ValidationRow {
    ValidationRow {
        promise: "any alarm in a check of an unchanged machine",
        setting: setting.name(),
        bar: Bar::AtMost(FALSE_ALARMS),
        measured: count(replications, |rng| !check(setting, 0.0, rng).is_empty()),
        note: String::new(),
    }
}

/// How much more often a check finds a slow-down of one series than the power that `check --prove` gives says.
fn foretold(setting: VaryingMachine, effect: f64, bar: Bar, replications: u64) -> ValidationRow {
    let differences: Vec<f64> = (0..replications.div_ceil(10).max(2))
        .map(|seed| foretold_in(setting, effect, &mut Rng::new(seed)))
        .collect();
    ValidationRow {
        promise: "how often a check finds a slow-down, less the probability that it gives",
        setting: format!("{} % in {}", 100.0 * effect, setting.name()),
        bar,
        measured: BarSeries::mean(&differences),
        note: String::new(),
    }
}

fn foretold_in(setting: VaryingMachine, effect: f64, rng: &mut Rng) -> f64 {
    let spread = setting.spread(rng);
    let baseline = setting.measure(&spread, setting.runs, rng);
    let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
    let Ok(gate) = RegressionGate::new(&views) else { return 0.0 };
    let slow_down = SlowDown { effect: effect.ln_1p(), alpha: CONFIRM_ALPHA, margin: MARGIN };
    let power = gate.power(0, slow_down, rng).probability;
    let mut cost = || spread[0] * setting.noise.draw(rng.normal(), rng) + effect.ln_1p();
    let fresh = [cost(), cost()].map(|cost| gate.shift(0, &[cost]));
    let [Ok(screen), Ok(session)] = fresh else { return 0.0 };
    let is_found = screen.is_flagged() && !gate.confirm(&[(0, session)], CONFIRM_ALPHA).is_empty();
    f64::from(u8::from(is_found)) - power
}

fn slow(setting: VaryingMachine, effect: f64, bar: Bar, replications: u64) -> ValidationRow {
    ValidationRow {
        promise: "a slow-down of one series found by a check",
        setting: format!("{} % in {}", 100.0 * effect, setting.name()),
        bar,
        measured: count(replications, |rng| check(setting, effect, rng).contains(&0)),
        note: String::new(),
    }
}
