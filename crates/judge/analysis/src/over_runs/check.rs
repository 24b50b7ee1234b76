//! A fresh run against a baseline of earlier ones: docs/method.md, *Regression gate*.
//!
//! One run screens every series; those that differ are measured in three further runs, and these alone
//! decide, with Holm's correction over all series of the check. What runs differ by themselves is learnt
//! from the baseline, each series' variance drawn towards what they have in common.

use std::collections::BTreeSet;

use plumb_model::{Better, By, RunRecord, SeriesInRun, Verdict};
use plumb_stats::describe::mean;
use plumb_stats::multiple::common_shift;
use plumb_stats::regression_gate::{RegressionGate, Shift};
use plumb_stats::stored_runs::FEWEST_RUNS;
use plumb_stats::verdict::judge;

use crate::comparison::covariates::Covariate;
use crate::estimate::{Estimate, estimate};
use crate::facts::{PointFacts, RunFacts, point_facts, run_facts};
use crate::method::METHOD_VERSION;
use crate::one_run::failures;
use crate::one_run::series_in_run::first_metrics;
use crate::over_runs::costs::{is_one_machine, run_cost, value_of_log};
use crate::over_runs::environment_diff::{Difference, differences};

/// What a check found.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckFinding {
    /// Version of the method that found it.
    pub method: u32,
    /// The baseline's name.
    pub baseline: String,
    /// Runs of the baseline.
    pub baseline_runs: usize,
    /// When they began, where that is known.
    pub baseline_times: Option<BaselineTimes>,
    /// The fresh runs: the one that screened, then those that confirmed.
    pub runs: Vec<RunFacts>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Whether this is another machine than the baseline's.
    pub machines_differ: bool,
    /// What differs between baseline and now besides what is checked.
    pub differences: Vec<Difference>,
    /// Every series, what matters most first.
    pub series: Vec<CheckedSeries>,
    /// Series that the baseline has in fewer than six runs, with the number.
    pub uncalibrated: Vec<(String, usize)>,
    /// Series of the baseline that could not be measured now: nobody knows whether they are slower.
    pub not_measured: Vec<NotMeasured>,
    /// The relative shift of all series, where they moved together: the machine or the build, not one of
    /// them.
    pub common_shift: Option<f64>,
    /// Why alerts do not count.
    pub vetoes: Vec<String>,
    /// By how much work that nothing has changed moved while the check ran, relative: smaller alerts do
    /// not count.
    pub canary_shift: Option<f64>,
}

/// When the runs of a baseline began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BaselineTimes {
    /// From the first to the last, in seconds.
    pub span_s: f64,
    /// From the middle of these to the check, in seconds.
    pub age_s: f64,
    /// How many times as wide the interval of one fresh run is as if the baseline covered the time since; 1 where
    /// it does.
    pub widened: f64,
}

impl BaselineTimes {
    /// Of runs with these starts and a check at this moment; None where a start or an order of them is not known.
    #[expect(clippy::cast_precision_loss, reason = "lengths of time")]
    fn of(baseline: &[RunRecord], now_unix_ns: i64) -> Option<Self> {
        let starts = || baseline.iter().map(|run| run.started_unix_ns);
        let first = starts().min()?;
        let last = starts().max()?;
        // Imports may not know when they were measured.
        if first <= 0 || now_unix_ns < last {
            return None;
        }
        let span_s = (last - first) as f64 * 1e-9;
        let age_s = (now_unix_ns - last) as f64 * 1e-9 + 0.5 * span_s;
        Some(Self { span_s, age_s, widened: 1.0 })
    }
}

/// One series of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedSeries {
    /// Name of the series.
    pub series: String,
    /// Its name in the store, without version and clock.
    pub stored: String,
    /// The measured point with its settings.
    pub point: PointFacts,
    /// Unit of the metric, an SI base unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// The geometric mean of the baseline's runs, as the ratio takes it.
    pub baseline: f64,
    /// That of the fresh runs that decided.
    pub now: f64,
    /// Fresh runs that decided.
    pub fresh_runs: usize,
    /// Cost over the baseline's cost: over 1 is slower.
    pub ratio: Estimate,
    /// What became of it.
    pub state: CheckState,
    /// What the interval says by itself.
    pub verdict: Verdict,
    /// The relative deviation between runs that was allowed for.
    pub run_sd: f64,
    /// The run with which the change began, and its start, where history was asked and tells.
    pub since: Option<(String, i64)>,
    /// What else changed, where the change is confirmed and counters were asked.
    pub covariates: Vec<Covariate>,
}

/// A series of the baseline that the fresh runs did not give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMeasured {
    /// Name of the series.
    pub series: String,
    /// Why it was not measured, in a sentence.
    pub why: String,
    /// Whether the workload failed.
    pub failed: bool,
}

/// What became of a series in a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckState {
    /// Further runs found the change too.
    Confirmed,
    /// Further runs did not.
    Unconfirmed,
    /// The first run was as usual.
    Clean,
}

impl CheckState {
    /// The word that is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Unconfirmed => "not confirmed",
            Self::Clean => "as usual",
        }
    }
}

impl CheckedSeries {
    /// How far it is from the baseline, in either direction.
    fn change(&self) -> f64 {
        self.ratio.value.ln().abs()
    }
}

impl CheckFinding {
    /// Confirmed changes for the worse, by the margin or more, that nothing vetoes.
    pub fn regressions(&self) -> impl Iterator<Item = &CheckedSeries> {
        self.alerts().filter(|alert| !self.is_doubted(alert))
    }

    /// Whether the series changed for the worse, but something else may be why.
    #[must_use]
    pub fn is_doubted(&self, series: &CheckedSeries) -> bool {
        let beyond_canaries = series.ratio.value - 1.0 > self.canary_shift.unwrap_or(0.0);
        self.is_alert(series) && !(self.vetoes.is_empty() && beyond_canaries)
    }

    /// Confirmed changes for the worse, by the margin or more.
    fn alerts(&self) -> impl Iterator<Item = &CheckedSeries> {
        self.series.iter().filter(|series| self.is_alert(series))
    }

    fn is_alert(&self, series: &CheckedSeries) -> bool {
        let slower = series.verdict == Verdict::Slower && series.ratio.value >= 1.0 + self.margin;
        series.state == CheckState::Confirmed && slower
    }

    /// Whether something looked worse, or could not be looked at, and no verdict came of it.
    #[must_use]
    pub fn is_inconclusive(&self) -> bool {
        let doubted = self.alerts().count() > self.regressions().count();
        self.series.is_empty() || !self.not_measured.is_empty() || doubted
    }
}

/// What speaks against alerts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Caveats {
    /// Reasons for none of them to count.
    pub vetoes: Vec<String>,
    /// How far canaries moved, relative.
    pub canary_shift: Option<f64>,
}

/// By how much canaries moved from one run to another, relative: the largest of their shifts, up or down.
#[must_use]
pub fn canary_shift(before: &RunRecord, after: &RunRecord) -> Option<f64> {
    let after = first_metrics(after);
    let mut largest = None;
    for series in first_metrics(before) {
        let Some(again) = after.iter().find(|other| other.is_comparable(&series)) else { continue };
        let Some((was, is)) = run_cost(&series).zip(run_cost(again)) else { continue };
        let shift = (is - was).abs().exp_m1();
        largest = Some(largest.map_or(shift, |largest: f64| largest.max(shift)));
    }
    largest
}

/// A baseline, ready to check runs against.
#[derive(Debug)]
pub struct Checker<'r> {
    name: String,
    baseline: &'r [RunRecord],
    margin: f64,
    times: Option<BaselineTimes>,
    gate: RegressionGate,
    series: Vec<BaselineSeries>,
    uncalibrated: Vec<(String, usize)>,
}

#[derive(Debug)]
struct BaselineSeries {
    name: String,
    /// Log cost of every run.
    logs: Vec<f64>,
}

impl<'r> Checker<'r> {
    /// Of the runs of a baseline, for a check at this moment, in nanoseconds since 1970 (UTC).
    ///
    /// # Errors
    /// Why nothing can be checked against it: too few runs, or values that are no numbers.
    pub fn new(
        name: &str,
        baseline: &'r [RunRecord],
        margin: f64,
        now_unix_ns: i64,
    ) -> Result<Self, String> {
        let mut series: Vec<BaselineSeries> = Vec::new();
        for record in baseline {
            for found in first_metrics(record) {
                let log = run_cost(&found);
                let name = found.comparable_name();
                match series.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.logs.extend(log),
                    None => {
                        let logs = log.into_iter().collect();
                        series.push(BaselineSeries { name, logs });
                    }
                }
            }
        }
        let (series, few): (Vec<_>, Vec<_>) =
            series.into_iter().partition(|series| series.logs.len() >= FEWEST_RUNS);
        let uncalibrated = few.into_iter().map(|series| (series.name, series.logs.len())).collect();
        if series.is_empty() {
            let have = baseline.len();
            return Err(format!(
                "a check needs {FEWEST_RUNS} runs of a series; `{name}` has {have}"
            ));
        }
        let logs: Vec<&[f64]> = series.iter().map(|series| series.logs.as_slice()).collect();
        let gate = RegressionGate::new(&logs).map_err(|reason| reason.to_string())?;
        let times = BaselineTimes::of(baseline, now_unix_ns);
        let gate = match times {
            Some(times) => gate.after(times.span_s, times.age_s),
            None => gate,
        };
        let widened = gate.widened(baseline.len());
        let times = times.map(|times| BaselineTimes { widened, ..times });
        Ok(Self { name: name.to_owned(), baseline, margin, times, gate, series, uncalibrated })
    }

    /// The points of the run's plan whose series differ from the baseline.
    #[must_use]
    pub fn screen(&self, run: &RunRecord) -> Vec<usize> {
        let found = first_metrics(run);
        let mut points = BTreeSet::new();
        for index in self.flagged(run) {
            let series = named(&found, &self.series[index].name);
            points.extend(series.and_then(|series| Some(series.points.first()?.point)));
        }
        points.into_iter().collect()
    }

    /// The series that the screening run flags.
    fn flagged(&self, run: &RunRecord) -> Vec<usize> {
        let found = first_metrics(run);
        let mut flagged = Vec::new();
        for (index, series) in self.series.iter().enumerate() {
            let Some(cost) = named(&found, &series.name).and_then(run_cost) else { continue };
            if self.gate.shift(index, &[cost]).is_ok_and(|shift| shift.is_flagged()) {
                flagged.push(index);
            }
        }
        flagged
    }

    /// What came of the screening run and the confirming ones.
    #[must_use]
    pub fn finish(
        &self,
        screen: &RunRecord,
        confirming: &[RunRecord],
        doubts: Caveats,
    ) -> CheckFinding {
        let fresh: Vec<&RunRecord> = std::iter::once(screen).chain(confirming).collect();
        let flagged = self.flagged(screen);
        let again: Vec<(usize, Shift)> = flagged
            .iter()
            .filter_map(|&index| {
                let logs = self.logs_of(index, confirming);
                self.gate.shift(index, &logs).ok().map(|shift| (index, shift))
            })
            .collect();
        let confirmed = self.gate.confirm(&again);
        let first_run = std::slice::from_ref(screen);
        let first = first_metrics(screen);
        let mut series: Vec<CheckedSeries> = (0..self.series.len())
            .filter_map(|index| {
                let name = &self.series[index].name;
                let found = named(&first, name)?;
                let state = match (flagged.contains(&index), confirmed.contains(&index)) {
                    (false, _) => CheckState::Clean,
                    (true, false) => CheckState::Unconfirmed,
                    (true, true) => CheckState::Confirmed,
                };
                let deciding = if state == CheckState::Clean { first_run } else { confirming };
                let logs = self.logs_of(index, deciding);
                self.checked(index, screen, found, &logs, state)
            })
            .collect();
        // What matters most comes first: confirmed changes before others, large ones before small ones.
        series.sort_by(|a, b| a.state.cmp(&b.state).then(b.change().total_cmp(&a.change())));
        let baseline: Vec<&RunRecord> = self.baseline.iter().collect();
        CheckFinding {
            method: METHOD_VERSION,
            baseline: self.name.clone(),
            baseline_runs: self.baseline.len(),
            baseline_times: self.times,
            margin: self.margin,
            machines_differ: self.baseline.iter().any(|run| differs(run, screen)),
            differences: differences(&[&baseline, &fresh]),
            runs: fresh.into_iter().map(run_facts).collect(),
            series,
            uncalibrated: self.uncalibrated.clone(),
            not_measured: self.not_measured(screen, confirming, &flagged),
            common_shift: self.common_shift(screen),
            vetoes: doubts.vetoes,
            canary_shift: doubts.canary_shift,
        }
    }

    /// The series that the screening run lacks, and those that it flags and every confirming run lacks.
    fn not_measured(
        &self,
        screen: &RunRecord,
        confirming: &[RunRecord],
        flagged: &[usize],
    ) -> Vec<NotMeasured> {
        let mut found = Vec::new();
        for (index, series) in self.series.iter().enumerate() {
            if self.logs_of(index, std::slice::from_ref(screen)).is_empty() {
                found.push(why_not(&series.name, screen));
            } else if flagged.contains(&index) && self.logs_of(index, confirming).is_empty() {
                found.push(why_not(&series.name, confirming.last().unwrap_or(screen)));
            }
        }
        found
    }

    /// How far all series of a run moved, where they did so together.
    fn common_shift(&self, run: &RunRecord) -> Option<f64> {
        let one = std::slice::from_ref(run);
        let shifts: Vec<f64> = (0..self.series.len())
            .filter_map(|index| self.gate.shift(index, &self.logs_of(index, one)).ok())
            .map(|moved| moved.interval.estimate)
            .collect();
        common_shift(&shifts).map(f64::exp_m1)
    }

    fn logs_of(&self, index: usize, runs: &[RunRecord]) -> Vec<f64> {
        let name = &self.series[index].name;
        runs.iter().filter_map(|run| log_of(run, name)).collect()
    }

    fn checked(
        &self,
        index: usize,
        screen: &RunRecord,
        found: &SeriesInRun,
        logs: &[f64],
        state: CheckState,
    ) -> Option<CheckedSeries> {
        let before = &self.series[index].logs;
        let shift = self.gate.shift(index, logs).ok()?;
        let judged = judge(&shift.interval, 0, self.margin);
        let point = found.points.first()?.point;
        Some(CheckedSeries {
            series: self.series[index].name.clone(),
            stored: found.name.clone(),
            point: point_facts(point, screen.plan.points.get(point)?),
            unit: found.unit.clone(),
            better: found.better,
            baseline: value_of_log(mean(before)?, found.better),
            now: value_of_log(mean(logs)?, found.better),
            fresh_runs: logs.len(),
            ratio: estimate(shift.interval.estimate.exp(), Ok(shift.interval.map(f64::exp))),
            state,
            verdict: judged.verdict,
            run_sd: plumb_stats::describe::variance(before).map_or(0.0, f64::sqrt),
            since: None,
            covariates: Vec::new(),
        })
    }
}

fn differs(one: &RunRecord, other: &RunRecord) -> bool {
    !is_one_machine(one, other, By::Host)
}

/// Why a run does not give a series.
fn why_not(series: &str, run: &RunRecord) -> NotMeasured {
    let index = run.plan.points.iter().position(|planned| gives(planned, series));
    let failure =
        failures::failed(run).into_iter().find(|failure| Some(failure.point.index) == index);
    let missing = failures::unsupported(run)
        .into_iter()
        .find(|unsupported| Some(unsupported.point.index) == index);
    let failed = failure.is_some();
    let why = failure
        .map(|failure| failure.why)
        .or(missing.map(|unsupported| unsupported.why))
        .unwrap_or_else(|| "the newest run of the baseline does not measure it".to_owned());
    NotMeasured { series: series.to_owned(), why, failed }
}

/// Whether the first metric of a point is the series.
fn gives(planned: &plumb_model::PlannedPoint, series: &str) -> bool {
    let Some(metric) = planned.description.primary() else { return false };
    let rest = series.strip_prefix(&planned.point.series(&metric.name));
    // Version and clock may follow the name, after a space.
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// The series of this name among comparable ones.
fn named<'s>(all: &'s [SeriesInRun], name: &str) -> Option<&'s SeriesInRun> {
    all.iter().find(|series| series.comparable_name() == name)
}

/// The log cost of a series in a run.
fn log_of(run: &RunRecord, name: &str) -> Option<f64> {
    named(&first_metrics(run), name).and_then(run_cost)
}
