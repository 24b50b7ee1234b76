//! Where a regression comes from, if the baseline kept what it measured: how often a check names the true cause.

use super::bars::{Bar, BarSeries, ValidationRow};
use super::baselines::{DAY_S, RUN_S, SeriesLevel};
use plumb_stats::code_or_environment::{RegressionCause, cause};
use plumb_stats::describe::mean_of;
use plumb_stats::regression_gate::{
    CONFIRM_ALPHA, CONFIRM_APART_S, CONFIRM_RUNS, PER_DOUBLING, RegressionGate,
};
use plumb_stats::rng::Rng;
use plumb_stats::verdict::{MARGIN, interval_of_pairs};

/// Promised: no more checks name a wrong cause, and so many regressions of 5 % get the right one.
const WRONG: f64 = 0.05;
const RIGHT: f64 = 0.8;
/// Why this is not promised of slow noise.
const SLOW_NOISE: &str = "missed 0.8: slow noise could be as large as the regression";
/// What the code, the machine, or each of them adds to the cost, relative.
const EFFECT: f64 = 0.05;
/// Runs of the baseline, one a day.
const RUNS: usize = 8;
/// From the last of them to the check, in seconds.
const LATER_S: f64 = 7.0 * DAY_S;
/// Turns of the kept program and the present one, and the deviation of the log ratio of a pair: that of two invocations
/// that vary by 1 %.
const PAIRS: usize = 20;
const PAIR_SD: f64 = 0.014;

/// The first seed. The rule's threshold was chosen by simulations with seeds below this one: its bars are measured with others.
const FIRST_SEED: u64 = 1_000_000;

/// The true causes, none of them included.
const TRUTHS: [Truth; 4] = [
    Truth { name: "nothing changed", code: 0.0, environment: 0.0, cause: None },
    Truth {
        name: "code 5 % slower",
        code: EFFECT,
        environment: 0.0,
        cause: Some(RegressionCause::Code),
    },
    Truth {
        name: "machine 5 % slower",
        code: 0.0,
        environment: EFFECT,
        cause: Some(RegressionCause::Environment),
    },
    Truth {
        name: "both 5 % slower",
        code: EFFECT,
        environment: EFFECT,
        cause: Some(RegressionCause::Both),
    },
];

/// What is true.
#[derive(Debug, Clone, Copy)]
struct Truth {
    name: &'static str,
    code: f64,
    environment: f64,
    cause: Option<RegressionCause>,
}

/// A check of a machine whose runs vary by 1 %.
#[derive(Debug, Clone, Copy)]
struct CauseCheck {
    truth: Truth,
    series: usize,
    /// Whether some of the noise is slow.
    is_slow: bool,
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let settings = [(1, false), (15, false), (15, true)];
    for is_right in [false, true] {
        for (series, is_slow) in settings {
            for truth in TRUTHS.into_iter().filter(|truth| !is_right || truth.cause.is_some()) {
                report(CauseCheck { truth, series, is_slow }.row(is_right, replications));
            }
        }
    }
}

impl CauseCheck {
    fn row(self, is_right: bool, trials: u64) -> ValidationRow {
        let mut confirmed = 0;
        let mut right = 0;
        let mut wrong = 0;
        for seed in 0..trials {
            let Some(found) = self.check(&mut Rng::new(FIRST_SEED + seed)) else { continue };
            confirmed += 1;
            right += u64::from(Some(found) == self.truth.cause);
            let is_named = found != RegressionCause::Undecided;
            wrong += u64::from(is_named && Some(found) != self.truth.cause);
        }
        // If nothing changed, most checks find nothing to explain.
        let of = if self.truth.cause.is_some() { confirmed } else { trials };
        let measured = if is_right { right } else { wrong };
        ValidationRow {
            promise: match is_right {
                true => "regressions whose true cause a check names",
                false => "checks that name a wrong cause of a regression",
            },
            setting: self.name(),
            bar: match (is_right, self.is_slow && self.truth.environment == 0.0) {
                (true, true) => Bar::Exempt(SLOW_NOISE),
                (true, false) => Bar::AtLeast(RIGHT),
                (false, _) => Bar::AtMost(WRONG),
            },
            measured: BarSeries::Share { hits: measured, trials: of },
            note: format!("{} confirmed, {} undecided", confirmed, confirmed - right - wrong),
        }
    }

    fn name(self) -> String {
        let slow = if self.is_slow { ", with slow noise" } else { "" };
        let series = if self.series == 1 { "1 series" } else { "15 series" };
        format!("{}, {series}, sd 1 %{slow}", self.truth.name)
    }

    /// The cause that a check names; None if it confirms no regression of the first series.
    fn check(self, rng: &mut Rng) -> Option<RegressionCause> {
        let per_doubling = if self.is_slow { PER_DOUBLING } else { 0.0 };
        let Truth { code, environment, .. } = self.truth;
        let mut baseline = Vec::with_capacity(self.series);
        let mut levels = Vec::with_capacity(self.series);
        for _ in 0..self.series {
            let mut level = SeriesLevel::new(per_doubling, rng);
            baseline.push((0..RUNS).map(|_| level.run(DAY_S, rng)).collect::<Vec<f64>>());
            levels.push(level);
        }
        let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
        let span_s = (RUNS - 1) as f64 * DAY_S;
        let gate = RegressionGate::new(&views).ok()?.after(span_s, 0.5 * span_s + LATER_S);
        let slower = code.ln_1p() + environment.ln_1p();
        // Only the first series changes, and only its regression is explained.
        let level = &mut levels[0];
        let screen = gate.shift(0, &[level.run(LATER_S, rng) + slower]).ok()?;
        let session: Vec<f64> = (0..CONFIRM_RUNS)
            .map(|run| level.run(if run == 0 { CONFIRM_APART_S } else { RUN_S }, rng) + slower)
            .collect();
        let again = gate.shift_of_sessions(0, &[mean_of(&session)], CONFIRM_APART_S).ok()?;
        let is_slower = again.interval.estimate >= MARGIN.ln_1p();
        if !screen.is_flagged()
            || !is_slower
            || gate.confirm(&[(0, again)], CONFIRM_ALPHA).is_empty()
        {
            return None;
        }
        let kept = level.run(RUN_S, rng) + environment.ln_1p();
        let pairs: Vec<f64> = (0..PAIRS).map(|_| code.ln_1p() + PAIR_SD * rng.normal()).collect();
        let of_code = interval_of_pairs(&pairs, 0.95).ok()?;
        Some(cause(&of_code, &gate.environment(0, kept).ok()?, MARGIN))
    }
}
