//! A check of many series against a baseline: false alarms of a clean machine, and slow-downs found.

use super::bars::{Bar, Measured, Row};
use crate::gate::{CONFIRM_RUNS, Gate};
use crate::rng::Rng;
use crate::unpaired::FEWEST_RUNS;

/// Series of a check of the standard suite.
const SERIES: usize = 45;
/// The spread of the standard deviations of unequal series: lognormal with this sigma.
const UNEQUAL: f64 = 0.7;

/// A machine whose series vary from run to run.
#[derive(Debug, Clone, Copy)]
struct Setting {
    series: usize,
    runs: usize,
    /// Standard deviation between runs, the typical one where they are unequal.
    sd: f64,
    unequal: bool,
}

const STANDARD: Setting = Setting { series: SERIES, runs: 8, sd: 0.01, unequal: false };

impl Setting {
    fn name(&self) -> String {
        let Self { series, runs, sd, unequal } = self;
        let kind = if *unequal { "about " } else { "" };
        format!("{series} series, {runs} runs, sd {kind}{} %", 100.0 * sd)
    }

    /// The standard deviation of every series.
    fn spread(&self, rng: &mut Rng) -> Vec<f64> {
        let sigma = if self.unequal { UNEQUAL } else { 0.0 };
        (0..self.series).map(|_| self.sd * (sigma * rng.normal()).exp()).collect()
    }
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(Row)) {
    for unequal in [false, true] {
        for runs in [FEWEST_RUNS, 8, 12] {
            report(clean(Setting { runs, unequal, ..STANDARD }, replications));
        }
        for series in [1, 5, 15] {
            report(clean(Setting { series, unequal, ..STANDARD }, replications));
        }
    }
    let unequal = Setting { unequal: true, ..STANDARD };
    let noisy = Setting { sd: 0.02, ..STANDARD };
    let fewest = Setting { runs: FEWEST_RUNS, ..STANDARD };
    let not_promised = Bar::Exempt("so much noise hides so much");
    report(slow(STANDARD, 0.05, Bar::AtLeast(0.95), replications));
    report(slow(fewest, 0.05, Bar::AtLeast(0.95), replications));
    report(slow(unequal, 0.05, not_promised, replications));
    report(slow(noisy, 0.05, not_promised, replications));
    report(slow(STANDARD, 0.03, not_promised, replications));
}

/// The series that a check confirms on a machine where the first is slower by `effect`.
fn check(setting: Setting, effect: f64, rng: &mut Rng) -> Vec<usize> {
    let spread = setting.spread(rng);
    let baseline: Vec<Vec<f64>> =
        spread.iter().map(|sd| (0..setting.runs).map(|_| sd * rng.normal()).collect()).collect();
    let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
    let Ok(gate) = Gate::new(&views) else { return Vec::new() };
    let mut fresh = |series: usize, runs: usize| {
        let level = if series == 0 { effect.ln_1p() } else { 0.0 };
        let measured: Vec<f64> = (0..runs).map(|_| level + spread[series] * rng.normal()).collect();
        gate.shift(series, &measured).ok()
    };
    let is_flagged = |&series: &usize| fresh(series, 1).is_some_and(|shift| shift.is_flagged());
    let flagged: Vec<usize> = (0..setting.series).filter(is_flagged).collect();
    let measured = |series| Some((series, fresh(series, CONFIRM_RUNS)?));
    let again: Vec<_> = flagged.into_iter().filter_map(measured).collect();
    gate.confirm(&again)
}

fn count(replications: u64, is: impl Fn(&mut Rng) -> bool) -> Measured {
    let hits = (0..replications).filter(|&seed| is(&mut Rng::new(seed))).count() as u64;
    Measured::Share { hits, trials: replications }
}

fn clean(setting: Setting, replications: u64) -> Row {
    Row {
        promise: "any alarm of a check of a machine that did not change",
        setting: setting.name(),
        bar: Bar::AtMost(0.06),
        measured: count(replications, |rng| !check(setting, 0.0, rng).is_empty()),
        note: String::new(),
    }
}

fn slow(setting: Setting, effect: f64, bar: Bar, replications: u64) -> Row {
    Row {
        promise: "a slow-down of one series found by a check",
        setting: format!("{} % in {}", 100.0 * effect, setting.name()),
        bar,
        measured: count(replications, |rng| check(setting, effect, rng).contains(&0)),
        note: String::new(),
    }
}
