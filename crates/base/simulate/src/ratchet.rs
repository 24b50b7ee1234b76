//! A baseline that is set again after every release: small steps that no check sees, and their sum.

use super::bars::{Bar, BarSeries, ValidationRow};
use super::baselines::{DAY_S, RUN_S, SeriesLevel};
use plumb_stats::describe::mean_of;
use plumb_stats::regression_gate::{
    CONFIRM_ALPHA, CONFIRM_APART_S, CONFIRM_RUNS, PER_DOUBLING, RegressionGate, Shift,
};
use plumb_stats::rng::Rng;

/// Series of a check, of which the first gets slower.
const SERIES: usize = 15;
const RELEASES: usize = 10;
/// What a release adds to the cost of the first series, relative.
const STEP: f64 = 0.005;
/// Runs of a baseline, an hour apart.
const RUNS: usize = 8;
const HOUR_S: f64 = 3600.0;
/// From a baseline to the next release, in seconds.
const RELEASE_S: f64 = 7.0 * DAY_S;

/// A project that sets its baseline again after each release.
#[derive(Debug, Clone, Copy)]
struct ReleasedProject {
    step: f64,
    /// Whether some of the noise is slow.
    is_slow: bool,
    /// Whether checks also compare with the first baseline.
    keeps_first: bool,
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let trials = replications.div_ceil(4);
    let steady = ReleasedProject { step: STEP, is_slow: false, keeps_first: true };
    report(found(steady, Bar::AtLeast(0.9), trials));
    let only_last = ReleasedProject { keeps_first: false, ..steady };
    report(found(only_last, Bar::Exempt("shows why the first baseline is kept"), trials));
    let slow = ReleasedProject { is_slow: true, ..steady };
    report(found(slow, Bar::Exempt("ten weeks of slow noise could be the sum"), trials));
    for is_slow in [false, true] {
        let unchanged = ReleasedProject { step: 0.0, is_slow, ..steady };
        report(false_alarm(unchanged, trials));
    }
}

impl ReleasedProject {
    /// The series that any of the checks of ten releases confirms.
    fn confirmed(self, rng: &mut Rng) -> Vec<usize> {
        let per_doubling = if self.is_slow { PER_DOUBLING } else { 0.0 };
        let mut levels: Vec<SeriesLevel> =
            (0..SERIES).map(|_| SeriesLevel::new(per_doubling, rng)).collect();
        let first = SeriesOfBaseline::measured(&mut levels, 0.0, rng);
        let mut last = first.clone();
        let mut confirmed = Vec::new();
        for release in 1..=RELEASES {
            let cost = release as f64 * self.step.ln_1p();
            let screen = session(&mut levels, (1, RELEASE_S), cost, rng);
            let again = session(&mut levels, (CONFIRM_RUNS, CONFIRM_APART_S), cost, rng);
            let ages = [(&last, 1), (&first, release)];
            let baselines = if self.keeps_first { &ages[..] } else { &ages[..1] };
            for (baseline, releases) in baselines {
                let level = CONFIRM_ALPHA / baselines.len() as f64;
                let gate = baseline.gate(*releases, self.is_slow);
                confirmed.extend(gate.map(|gate| check(&gate, &screen, &again, level)));
            }
            last = SeriesOfBaseline::measured(&mut levels, cost, rng);
        }
        confirmed.concat()
    }
}

/// The log costs of every series in the runs of a baseline.
#[derive(Clone)]
struct SeriesOfBaseline(Vec<Vec<f64>>);

impl SeriesOfBaseline {
    fn measured(levels: &mut [SeriesLevel], cost: f64, rng: &mut Rng) -> Self {
        let mut series: Vec<Vec<f64>> = levels
            .iter_mut()
            .map(|level| (0..RUNS).map(|_| level.run(HOUR_S, rng)).collect())
            .collect();
        series[0].iter_mut().for_each(|value| *value += cost);
        Self(series)
    }

    /// Ready for a check so many releases later.
    fn gate(&self, releases: usize, allows_for_time: bool) -> Option<RegressionGate> {
        let views: Vec<&[f64]> = self.0.iter().map(Vec::as_slice).collect();
        let gate = RegressionGate::new(&views).ok()?;
        let span_s = (RUNS - 1) as f64 * HOUR_S;
        Some(if allows_for_time { gate.after(span_s, releases as f64 * RELEASE_S) } else { gate })
    }
}

/// The mean log cost of every series in the runs of a session that begins so many seconds after the run before.
fn session(
    levels: &mut [SeriesLevel],
    (runs, later_s): (usize, f64),
    cost: f64,
    rng: &mut Rng,
) -> Vec<f64> {
    let mut means = Vec::with_capacity(levels.len());
    for level in levels {
        let logs: Vec<f64> =
            (0..runs).map(|run| level.run(if run == 0 { later_s } else { RUN_S }, rng)).collect();
        means.push(mean_of(&logs));
    }
    means[0] += cost;
    means
}

fn check(gate: &RegressionGate, screen: &[f64], again: &[f64], alpha: f64) -> Vec<usize> {
    let mut flagged: Vec<(usize, Shift)> = Vec::new();
    for (series, (screened, fresh)) in screen.iter().zip(again).enumerate() {
        let is_flagged = gate.shift(series, &[*screened]).is_ok_and(|shift| shift.is_flagged());
        if is_flagged && let Ok(shift) = gate.shift(series, &[*fresh]) {
            flagged.push((series, shift));
        }
    }
    gate.confirm(&flagged, alpha)
}

fn count(trials: u64, happens: impl Fn(&mut Rng) -> bool) -> BarSeries {
    let hits = (0..trials).filter(|&seed| happens(&mut Rng::new(seed))).count() as u64;
    BarSeries::Share { hits, trials }
}

fn found(project: ReleasedProject, bar: Bar, trials: u64) -> ValidationRow {
    ValidationRow {
        promise: "0.5 % per release, the baseline set again each time: found by the tenth release",
        setting: project.name(),
        bar,
        measured: count(trials, |rng| project.confirmed(rng).contains(&0)),
        note: String::new(),
    }
}

fn false_alarm(project: ReleasedProject, trials: u64) -> ValidationRow {
    ValidationRow {
        promise: "any alarm in the checks of ten releases that change nothing",
        setting: project.name(),
        bar: Bar::AtMost(0.06),
        measured: count(trials, |rng| !project.confirmed(rng).is_empty()),
        note: String::new(),
    }
}

impl ReleasedProject {
    fn name(self) -> String {
        let noise = if self.is_slow { "slow noise" } else { "sd 1 %" };
        let against = if self.keeps_first { "last and first baseline" } else { "last baseline" };
        format!("{SERIES} series, {noise}, {against}")
    }
}
