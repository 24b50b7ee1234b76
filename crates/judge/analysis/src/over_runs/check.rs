//! A fresh run against a baseline of earlier ones: docs/method.md, *Regression gate*.
//!
//! One run screens every series; those that differ are measured in three further runs, and these alone
//! decide, with Holm's correction over all series of the check. What runs differ by themselves is learnt
//! from the baseline, each series' variance drawn towards what they have in common.

use std::collections::BTreeSet;
use std::sync::Arc;

use plumb_model::{Better, By, Id, PointFacts, RunOfSeries, SeriesInRun, Verdict};
use plumb_stats::describe::{mean, variance};
use plumb_stats::multiple::common_shift;
use plumb_stats::regression_gate::{RegressionGate, Shift};
use plumb_stats::stored_runs::FEWEST_RUNS;
use plumb_stats::verdict::judge;

use crate::asked::Asked;
use crate::comparison::covariates::{Covariate, facts_that_differ};
use crate::estimate::{Estimate, estimate};
use crate::method::METHOD_VERSION;
use crate::one_run::fresh_run::{FreshRun, NotMeasured};
use crate::over_runs::costs::{run_cost, value_of_log};
use crate::over_runs::environment_diff::{Difference, differences};
use crate::run_reader::RunReader;

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
    pub runs: Vec<Arc<RunOfSeries>>,
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
    fn of(baseline: &[Arc<RunOfSeries>], now_unix_ns: i64) -> Option<Self> {
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
    pub point: Arc<PointFacts>,
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
    /// The run with which the change began: not asked unless the change is confirmed.
    pub since: Asked<ChangedSince>,
    /// What else changed: not asked unless the change is confirmed.
    pub covariates: Asked<Vec<Covariate>>,
}

/// The run with which a change began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedSince {
    /// The run's id.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
}

/// Finds with which run the last change of a series began; None if its history has no certain step.
pub type SinceOf<'q, E> = &'q dyn Fn(&str) -> Result<Option<ChangedSince>, E>;

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
pub fn canary_shift(before: &[SeriesInRun], after: &[SeriesInRun]) -> Option<f64> {
    let mut largest = None;
    for series in before.iter().filter(|series| series.primary) {
        let mut first_metrics = after.iter().filter(|other| other.primary);
        let Some(again) = first_metrics.find(|other| other.is_comparable(series)) else { continue };
        let Some((was, is)) = run_cost(series).zip(run_cost(again)) else { continue };
        let shift = (is - was).abs().exp_m1();
        largest = Some(largest.map_or(shift, |largest: f64| largest.max(shift)));
    }
    largest
}

/// A baseline, ready to check runs against.
#[derive(Debug)]
pub struct Checker<'b> {
    name: String,
    runs: &'b [Arc<RunOfSeries>],
    margin: f64,
    times: Option<BaselineTimes>,
    gate: RegressionGate,
    series: Vec<BaselineSeries<'b>>,
    uncalibrated: Vec<(String, usize)>,
}

/// A first metric in the runs of a baseline.
#[derive(Debug)]
struct BaselineSeries<'b> {
    name: String,
    in_runs: Vec<&'b SeriesInRun>,
    /// Log cost of every run that has one.
    logs: Vec<f64>,
}

impl<'b> Checker<'b> {
    /// Of the runs of a baseline and their series, for a check at this moment, in nanoseconds since 1970 (UTC).
    ///
    /// # Errors
    /// Why nothing can be checked against it: too few runs, or values that are no numbers.
    pub fn new(
        name: &str,
        runs: &'b [Arc<RunOfSeries>],
        series: &'b [SeriesInRun],
        margin: f64,
        now_unix_ns: i64,
    ) -> Result<Self, String> {
        let all = baseline_series(series);
        let (series, few): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|series| series.logs.len() >= FEWEST_RUNS);
        let uncalibrated = few.into_iter().map(|series| (series.name, series.logs.len())).collect();
        if series.is_empty() {
            let have = runs.len();
            return Err(format!(
                "a check needs {FEWEST_RUNS} runs of a series; `{name}` has {have}"
            ));
        }
        let logs: Vec<&[f64]> = series.iter().map(|series| series.logs.as_slice()).collect();
        let fresh = RegressionGate::new(&logs).map_err(|reason| reason.to_string())?;
        let known_times = BaselineTimes::of(runs, now_unix_ns);
        let gate = match known_times {
            Some(times) => fresh.after(times.span_s, times.age_s),
            None => fresh,
        };
        let widened = gate.widened(runs.len());
        let times = known_times.map(|times| BaselineTimes { widened, ..times });
        Ok(Self { name: name.to_owned(), runs, margin, times, gate, series, uncalibrated })
    }

    /// The smallest relative change that matters.
    #[must_use]
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// The points of the run's plan whose series differ from the baseline.
    #[must_use]
    pub fn screen(&self, run: &FreshRun) -> Vec<usize> {
        let mut points = BTreeSet::new();
        for index in self.flagged(run) {
            let series = self.in_run(index, run);
            points.extend(series.and_then(|series| Some(series.points.first()?.point)));
        }
        points.into_iter().collect()
    }

    /// The series that the screening run flags.
    fn flagged(&self, run: &FreshRun) -> Vec<usize> {
        let mut flagged = Vec::new();
        for index in 0..self.series.len() {
            let Some(cost) = self.in_run(index, run).and_then(run_cost) else { continue };
            if self.gate.shift(index, &[cost]).is_ok_and(|shift| shift.is_flagged()) {
                flagged.push(index);
            }
        }
        flagged
    }

    /// What came of the screening run and the confirming ones. With `since`, confirmed changes are dated; `reader` is
    /// asked what else changed with them.
    ///
    /// # Errors
    /// When `since` or `reader` cannot read a run.
    pub fn finish<E>(
        &self,
        screen: &FreshRun,
        confirming: &[FreshRun],
        doubts: Caveats,
        since: Option<SinceOf<'_, E>>,
        reader: &mut RunReader<'_, E>,
    ) -> Result<CheckFinding, E> {
        let fresh: Vec<&FreshRun> = std::iter::once(screen).chain(confirming).collect();
        let flagged = self.flagged(screen);
        let confirmed = self.confirmed(&flagged, confirming);
        let differences = self.differences(&fresh);
        let mut series: Vec<CheckedSeries> = Vec::new();
        for index in 0..self.series.len() {
            let state = match (flagged.contains(&index), confirmed.contains(&index)) {
                (false, _) => CheckState::Clean,
                (true, false) => CheckState::Unconfirmed,
                (true, true) => CheckState::Confirmed,
            };
            let Some(found) = self.in_run(index, screen) else { continue };
            let deciding =
                if state == CheckState::Clean { std::slice::from_ref(screen) } else { confirming };
            let Some(mut checked) = self.checked(index, found, deciding, state) else { continue };
            if state == CheckState::Confirmed {
                if let Some(since) = since {
                    checked.since = since(&checked.stored)?.into();
                }
                checked.covariates = self.also_changed(index, confirming, &differences, reader)?;
            }
            series.push(checked);
        }
        // What matters most comes first: confirmed changes before others, large ones before small ones.
        series.sort_by(|a, b| a.state.cmp(&b.state).then(b.change().total_cmp(&a.change())));
        Ok(CheckFinding {
            method: METHOD_VERSION,
            baseline: self.name.clone(),
            baseline_runs: self.runs.len(),
            baseline_times: self.times,
            margin: self.margin,
            machines_differ: self.runs.iter().any(|run| !run.is_one_machine(&screen.run, By::Host)),
            differences,
            runs: fresh.iter().map(|fresh| Arc::clone(&fresh.run)).collect(),
            series,
            uncalibrated: self.uncalibrated.clone(),
            not_measured: self.not_measured(screen, confirming, &flagged),
            common_shift: self.common_shift(screen),
            vetoes: doubts.vetoes,
            canary_shift: doubts.canary_shift,
        })
    }

    /// The flagged series that the confirming runs find changed, too.
    fn confirmed(&self, flagged: &[usize], confirming: &[FreshRun]) -> Vec<usize> {
        let mut again: Vec<(usize, Shift)> = Vec::new();
        for &index in flagged {
            let shift = self.gate.shift(index, &self.logs_of(index, confirming));
            again.extend(shift.ok().map(|shift| (index, shift)));
        }
        self.gate.confirm(&again)
    }

    /// What differs between baseline and fresh runs besides what is checked.
    fn differences(&self, fresh: &[&FreshRun]) -> Vec<Difference> {
        let baseline: Vec<&RunOfSeries> = self.runs.iter().map(Arc::as_ref).collect();
        let now: Vec<&RunOfSeries> = fresh.iter().map(|fresh| fresh.run.as_ref()).collect();
        differences(&[baseline, now])
    }

    /// What else changed with a series.
    fn also_changed<E>(
        &self,
        index: usize,
        confirming: &[FreshRun],
        differences: &[Difference],
        reader: &mut RunReader<'_, E>,
    ) -> Result<Asked<Vec<Covariate>>, E> {
        if !reader.asks_what_changed() {
            return Ok(Asked::NotAsked);
        }
        let again = confirming.iter().filter_map(|run| self.in_run(index, run));
        let mut changed = facts_that_differ(differences, 0, 1);
        changed.extend(reader.rates(&self.series[index].in_runs, &again.collect::<Vec<_>>())?);
        Ok(Asked::list(changed))
    }

    /// The series that the screening run lacks, and those that it flags and every confirming run lacks.
    fn not_measured(
        &self,
        screen: &FreshRun,
        confirming: &[FreshRun],
        flagged: &[usize],
    ) -> Vec<NotMeasured> {
        let mut found = Vec::new();
        for (index, series) in self.series.iter().enumerate() {
            if self.logs_of(index, std::slice::from_ref(screen)).is_empty() {
                found.push(screen.why_not(&series.name));
            } else if flagged.contains(&index) && self.logs_of(index, confirming).is_empty() {
                found.push(confirming.last().unwrap_or(screen).why_not(&series.name));
            }
        }
        found
    }

    /// How far all series of a run moved, where they did so together.
    fn common_shift(&self, run: &FreshRun) -> Option<f64> {
        let mut shifts = Vec::new();
        for index in 0..self.series.len() {
            let logs = self.logs_of(index, std::slice::from_ref(run));
            let shift = self.gate.shift(index, &logs).ok();
            shifts.extend(shift.map(|shift| shift.interval.estimate));
        }
        common_shift(&shifts).map(f64::exp_m1)
    }

    /// A series of the baseline in a fresh run.
    fn in_run<'f>(&self, index: usize, run: &'f FreshRun) -> Option<&'f SeriesInRun> {
        let name = &self.series[index].name;
        let mut first_metrics = run.series.iter().filter(|series| series.primary);
        first_metrics.find(|series| series.comparable_name() == *name)
    }

    fn logs_of(&self, index: usize, runs: &[FreshRun]) -> Vec<f64> {
        runs.iter().filter_map(|run| run_cost(self.in_run(index, run)?)).collect()
    }

    fn checked(
        &self,
        index: usize,
        found: &SeriesInRun,
        deciding: &[FreshRun],
        state: CheckState,
    ) -> Option<CheckedSeries> {
        let logs = self.logs_of(index, deciding);
        let before = &self.series[index].logs;
        let shift = self.gate.shift(index, &logs).ok()?;
        let judged = judge(&shift.interval, 0, self.margin);
        Some(CheckedSeries {
            series: self.series[index].name.clone(),
            stored: found.name.clone(),
            point: Arc::clone(&found.point),
            unit: found.unit.clone(),
            better: found.better,
            baseline: value_of_log(mean(before)?, found.better),
            now: value_of_log(mean(&logs)?, found.better),
            fresh_runs: logs.len(),
            ratio: estimate(shift.interval.estimate.exp(), Ok(shift.interval.map(f64::exp))),
            state,
            verdict: judged.verdict,
            run_sd: variance(before).map_or(0.0, f64::sqrt),
            since: Asked::NotAsked,
            covariates: Asked::NotAsked,
        })
    }
}

/// The first metrics of a baseline by their names among comparable ones, in the order in which they first occur.
fn baseline_series(series: &[SeriesInRun]) -> Vec<BaselineSeries<'_>> {
    let mut found: Vec<BaselineSeries> = Vec::new();
    for one in series.iter().filter(|series| series.primary) {
        let name = one.comparable_name();
        let log = run_cost(one);
        match found.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.in_runs.push(one);
                known.logs.extend(log);
            }
            None => found.push(BaselineSeries {
                name,
                in_runs: vec![one],
                logs: log.into_iter().collect(),
            }),
        }
    }
    found
}
