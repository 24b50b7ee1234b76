//! A fresh run against a baseline of earlier ones: docs/method.md, *Regression gate*.
//!
//! One run screens every series; those that differ are measured in a further session or several, and these alone
//! decide, with Holm's correction over all series of the check. What runs differ by themselves is learnt
//! from the baseline, each series' variance drawn towards what they have in common. The first baseline of the same
//! name is compared, too, so that small steps from baseline to baseline add up to a change that is seen.

use std::collections::BTreeSet;
use std::sync::Arc;

use plumb_model::{Better, By, Id, PointFacts, RunOfSeries, SeriesInRun, Verdict};
use plumb_stats::describe::{mean, variance};
use plumb_stats::multiple::common_shift;
use plumb_stats::regression_gate::{CONFIRM_ALPHA, Shift};
use plumb_stats::verdict::judge;

use crate::asked::Asked;
use crate::comparison::covariates::{Covariate, facts_that_differ};
use crate::estimate::{Estimate, estimate};
use crate::method::METHOD_VERSION;
use crate::one_run::both_programs::BothPrograms;
use crate::one_run::fresh_run::{FreshRun, NotMeasured};
use crate::one_run::gate::PointControls;
use crate::over_runs::baseline_gate::{
    BaselineGate, BaselineRuns, BaselineTimes, ConfirmingSessions, FlaggedSeries, OtherRuns,
};
use crate::over_runs::check_proof::{CheckDoubt, CheckProof, check_proof};
use crate::over_runs::costs::{run_cost, value_of_log};
use crate::over_runs::environment_diff::{Difference, differences};
use crate::over_runs::regression_cause::{CauseFinding, cause_of};
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
    /// When the first baseline of this name was set, in nanoseconds since 1970 (UTC), if it is another and was compared.
    pub first_baseline_unix_ns: Option<i64>,
    /// The fresh runs: the one that screened, then those that confirmed.
    pub runs: Vec<Arc<RunOfSeries>>,
    /// Sessions that confirmed.
    pub sessions: usize,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Whether this is another machine than the baseline's.
    pub machines_differ: bool,
    /// What differs between baseline and now besides what is checked.
    pub differences: Vec<Difference>,
    /// Every series, what matters most first; also those that differ from the first baseline.
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
    /// Whether the check works; None if no proof was asked for.
    pub proof: Option<CheckProof>,
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
    /// The baseline that it is compared with.
    pub against: WhichBaseline,
    /// The geometric mean of the baseline's runs, as the ratio takes it.
    pub baseline: f64,
    /// That of the fresh runs that decided.
    pub now: f64,
    /// Fresh runs that decided.
    pub fresh_runs: usize,
    /// Sessions of these; 0 if the screening run decided.
    pub sessions: usize,
    /// Cost over the baseline's cost: over 1 is slower.
    pub ratio: Estimate,
    /// What became of it.
    pub state: CheckState,
    /// What the interval says by itself; inconclusive instead of equivalent if clients were busy.
    pub verdict: Verdict,
    /// Whether clients used most of their CPU time, in a fresh run or one of the baseline. If so, a slower server may not
    /// show.
    pub busy_clients: bool,
    /// The relative deviation between runs that was allowed for.
    pub run_sd: f64,
    /// The run with which the change began: not asked unless the change is confirmed.
    pub since: Asked<ChangedSince>,
    /// What else changed: not asked unless the change is confirmed.
    pub covariates: Asked<Vec<Covariate>>,
    /// Where it comes from: not asked unless it is a regression, and the baseline keeps what it measured.
    pub cause: Asked<CauseFinding>,
}

/// The baseline that a series is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WhichBaseline {
    /// The one that was asked for, as it is now.
    Current,
    /// The one that first had its name.
    First,
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
    /// Further sessions found the change too.
    Confirmed,
    /// The change is no larger than what may differ between times on such hosts, and the baseline is too short to show
    /// how much that is here.
    Undecided,
    /// Further sessions did not find it.
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
            Self::Undecided => "undecided",
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

    /// Why the check does not count, whatever it found.
    #[must_use]
    pub fn abstains(&self) -> Option<CheckDoubt> {
        self.proof.as_ref().and_then(|proof| proof.doubt)
    }

    /// The same with the cause of each series that `cause_of` knows.
    ///
    /// # Errors
    /// Those of `cause_of`.
    pub fn explained<E>(
        mut self,
        mut cause_of: impl FnMut(&CheckedSeries) -> Result<Asked<CauseFinding>, E>,
    ) -> Result<Self, E> {
        for series in &mut self.series {
            series.cause = cause_of(series)?;
        }
        Ok(self)
    }

    /// Whether something looked worse, or could not be looked at, and no verdict came of it.
    #[must_use]
    pub fn is_inconclusive(&self) -> bool {
        let doubted = self.alerts().count() > self.regressions().count();
        let undecided = self.undecided().any(|series| series.ratio.value > 1.0);
        self.series.is_empty() || !self.not_measured.is_empty() || doubted || undecided
    }

    /// Changes that could be what differs between times.
    pub fn undecided(&self) -> impl Iterator<Item = &CheckedSeries> {
        self.series.iter().filter(|series| series.state == CheckState::Undecided)
    }
}

/// What speaks against alerts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Caveats {
    /// Reasons for none of them to count.
    pub vetoes: Vec<String>,
    /// How far canaries moved, relative.
    pub canary_shift: Option<f64>,
    /// Whether the check works; None if no proof was asked for.
    pub proof: Option<CheckProof>,
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

/// What runs are checked against.
#[derive(Debug, Clone, Copy)]
pub struct CheckedAgainst<'b> {
    /// The baseline's name.
    pub name: &'b str,
    /// The baseline as it is now.
    pub current: BaselineRuns<'b>,
    /// As it was first set, if it was another then.
    pub first: Option<FirstBaseline<'b>>,
    /// Other runs of the same machine.
    pub earlier: OtherRuns<'b>,
}

/// A baseline as it was first set.
#[derive(Debug, Clone, Copy)]
pub struct FirstBaseline<'b> {
    /// The runs that it had then.
    pub runs: BaselineRuns<'b>,
    /// When it was set, in nanoseconds since 1970 (UTC).
    pub set_unix_ns: i64,
}

/// A baseline, ready to check runs against.
#[derive(Debug)]
pub struct Checker<'b> {
    name: String,
    margin: f64,
    current: BaselineGate<'b>,
    first: Option<(i64, BaselineGate<'b>)>,
}

impl<'b> Checker<'b> {
    /// For a check at this moment, in nanoseconds since 1970 (UTC).
    ///
    /// # Errors
    /// Why nothing can be checked against the baseline: too few runs, or values that are no numbers.
    pub fn new(against: CheckedAgainst<'b>, margin: f64, now_unix_ns: i64) -> Result<Self, String> {
        let current = BaselineGate::new(against.current, against.earlier, now_unix_ns)
            .map_err(|why| format!("the baseline `{}` {why}", against.name))?;
        // A first baseline of too few runs says nothing; the check is of the current one.
        let first = against.first.and_then(|first| {
            let gate = BaselineGate::new(first.runs, against.earlier, now_unix_ns).ok()?;
            Some((first.set_unix_ns, gate))
        });
        Ok(Self { name: against.name.to_owned(), margin, current, first })
    }

    /// The smallest relative change that matters.
    #[must_use]
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// The points of the run's plan whose series differ from a baseline by more than could be undecided anyway: measuring
    /// these again would be in vain.
    #[must_use]
    pub fn screen(&self, run: &FreshRun) -> Vec<usize> {
        let mut points = BTreeSet::new();
        for (_, gate) in self.gates() {
            for flagged in gate.flagged(run).iter().filter(|flagged| !flagged.could_be_the_time) {
                let series = gate.in_run(flagged.index, run);
                points.extend(series.and_then(|series| Some(series.points.first()?.point)));
            }
        }
        points.into_iter().collect()
    }

    fn gates(&self) -> impl Iterator<Item = (WhichBaseline, &BaselineGate<'b>)> {
        let first = self.first.iter().map(|(_, gate)| (WhichBaseline::First, gate));
        std::iter::once((WhichBaseline::Current, &self.current)).chain(first)
    }

    /// What came of the screening run and the confirming sessions. With `since`, confirmed changes are dated; `reader` is
    /// asked what else changed with them.
    ///
    /// # Errors
    /// When `since` or `reader` cannot read a run.
    pub fn finish<E>(
        &self,
        screen: &FreshRun,
        confirming: &ConfirmingSessions,
        doubts: Caveats,
        since: Option<SinceOf<'_, E>>,
        reader: &mut RunReader<'_, E>,
    ) -> Result<CheckFinding, E> {
        let fresh: Vec<&FreshRun> = std::iter::once(screen).chain(confirming.runs()).collect();
        let mut series: Vec<CheckedSeries> = Vec::new();
        // The chance of a false alarm is shared by all baselines.
        let alpha = CONFIRM_ALPHA / self.gates().count() as f64;
        for (which, gate) in self.gates() {
            let mut check =
                OneBaseline { gate, which, screen, confirming, margin: self.margin, reader };
            series.extend(check.checked(alpha, since)?);
        }
        // What matters most comes first: confirmed changes before others, large ones before small ones.
        series.sort_by(|a, b| a.state.cmp(&b.state).then(b.change().total_cmp(&a.change())));
        let runs = self.current.runs;
        Ok(CheckFinding {
            method: METHOD_VERSION,
            baseline: self.name.clone(),
            baseline_runs: runs.len(),
            baseline_times: self.current.times,
            first_baseline_unix_ns: self.first.as_ref().map(|(set, _)| *set),
            margin: self.margin,
            machines_differ: runs.iter().any(|run| !run.is_one_machine(&screen.run, By::Host)),
            differences: differences_from(&self.current, &fresh),
            runs: fresh.iter().map(|fresh| Arc::clone(&fresh.run)).collect(),
            sessions: confirming.sessions.len(),
            series,
            uncalibrated: self.current.uncalibrated.clone(),
            not_measured: not_measured(&self.current, screen, confirming),
            common_shift: self.common_shift(screen),
            vetoes: doubts.vetoes,
            canary_shift: doubts.canary_shift,
            proof: doubts.proof,
        })
    }

    /// Where the regression of a series against its baseline comes from.
    #[must_use]
    pub fn cause(&self, series: &CheckedSeries, both: &BothPrograms) -> CauseFinding {
        let gate = match (series.against, &self.first) {
            (WhichBaseline::First, Some((_, first))) => first,
            (WhichBaseline::Current | WhichBaseline::First, _) => &self.current,
        };
        cause_of(gate, &series.series, both, self.margin)
    }

    /// Whether the check works, by the controls of one of its points.
    #[must_use]
    pub fn proof(&self, controls: &PointControls) -> CheckProof {
        let alpha = CONFIRM_ALPHA / self.gates().count() as f64;
        check_proof(&self.current, controls, alpha, self.margin)
    }

    /// How far all series of a run moved, where they did so together.
    fn common_shift(&self, run: &FreshRun) -> Option<f64> {
        let mut shifts = Vec::new();
        for index in 0..self.current.series.len() {
            let shift = self.current.shift_of_run(index, run).ok();
            shifts.extend(shift.map(|shift| shift.interval.estimate));
        }
        common_shift(&shifts).map(f64::exp_m1)
    }
}

/// What differs between a baseline and fresh runs besides what is checked.
fn differences_from(gate: &BaselineGate<'_>, fresh: &[&FreshRun]) -> Vec<Difference> {
    let baseline: Vec<&RunOfSeries> = gate.runs.iter().map(Arc::as_ref).collect();
    let now: Vec<&RunOfSeries> = fresh.iter().map(|fresh| fresh.run.as_ref()).collect();
    differences(&[baseline, now])
}

/// The series that the screening run lacks, and those that it flags and every confirming run lacks.
fn not_measured(
    gate: &BaselineGate<'_>,
    screen: &FreshRun,
    confirming: &ConfirmingSessions,
) -> Vec<NotMeasured> {
    let flagged = gate.flagged(screen);
    let mut found = Vec::new();
    for (index, series) in gate.series.iter().enumerate() {
        let was_measured_again =
            flagged.iter().any(|flagged| flagged.index == index && !flagged.could_be_the_time);
        if let Some(why) = gate.ended_differently(index, screen) {
            found.push(NotMeasured { series: series.name.clone(), why, failed: true });
        } else if gate.costs_of(index, [screen]).is_empty() {
            found.push(screen.why_not(&series.name));
        } else if was_measured_again && gate.costs_of(index, confirming.runs()).is_empty() {
            found.push(confirming.runs().last().unwrap_or(screen).why_not(&series.name));
        }
    }
    found
}

/// A check against one baseline.
struct OneBaseline<'c, 'b, 'r, E> {
    gate: &'c BaselineGate<'b>,
    which: WhichBaseline,
    screen: &'c FreshRun,
    confirming: &'c ConfirmingSessions,
    margin: f64,
    reader: &'c mut RunReader<'r, E>,
}

impl<E> OneBaseline<'_, '_, '_, E> {
    /// All series, or if it is the first baseline those that differ from it.
    fn checked(
        &mut self,
        alpha: f64,
        since: Option<SinceOf<'_, E>>,
    ) -> Result<Vec<CheckedSeries>, E> {
        let flagged = self.gate.flagged(self.screen);
        let confirmed = self.gate.confirmed(&flagged, self.confirming, alpha);
        let mut found = Vec::new();
        for index in 0..self.gate.series.len() {
            let flagged = flagged.iter().find(|flagged| flagged.index == index);
            let state = self.state(flagged, confirmed.contains(&index));
            if self.which == WhichBaseline::First && state == CheckState::Clean {
                continue;
            }
            let Some(in_screen) = self.gate.in_run(index, self.screen) else { continue };
            let Some(mut series) = self.series(index, in_screen, state) else { continue };
            if state == CheckState::Confirmed {
                if let Some(since) = since {
                    series.since = since(&series.stored)?.into();
                }
                series.covariates = self.also_changed(index)?;
            }
            found.push(series);
        }
        Ok(found)
    }

    fn state(&self, flagged: Option<&FlaggedSeries>, is_confirmed: bool) -> CheckState {
        let Some(flagged) = flagged else { return CheckState::Clean };
        if flagged.could_be_the_time {
            return CheckState::Undecided;
        }
        if !is_confirmed {
            return CheckState::Unconfirmed;
        }
        let shift = self.gate.shift_of_sessions(flagged.index, self.confirming);
        match shift.is_ok_and(|shift| self.gate.could_be_the_time(flagged.index, &shift)) {
            true => CheckState::Undecided,
            false => CheckState::Confirmed,
        }
    }

    /// What else changed with a series.
    fn also_changed(&mut self, index: usize) -> Result<Asked<Vec<Covariate>>, E> {
        if !self.reader.asks_what_changed() {
            return Ok(Asked::NotAsked);
        }
        let fresh: Vec<&FreshRun> =
            std::iter::once(self.screen).chain(self.confirming.runs()).collect();
        let again: Vec<&SeriesInRun> =
            self.confirming.runs().filter_map(|run| self.gate.in_run(index, run)).collect();
        let mut changed = facts_that_differ(&differences_from(self.gate, &fresh), 0, 1);
        changed.extend(self.reader.rates(&self.gate.series[index].in_runs, &again)?);
        Ok(Asked::list(changed))
    }

    fn series(
        &self,
        index: usize,
        in_screen: &SeriesInRun,
        state: CheckState,
    ) -> Option<CheckedSeries> {
        // Sessions decide if they measured the series again.
        let again = self.gate.costs_of(index, self.confirming.runs());
        let sessions = match (state, again.is_empty()) {
            (CheckState::Clean, _) | (_, true) => 0,
            _ => self.confirming.sessions.len(),
        };
        let (logs, shift): (Vec<f64>, Shift) = if sessions == 0 {
            let cost = run_cost(in_screen)?;
            (vec![cost], self.gate.shift_of_run(index, self.screen).ok()?)
        } else {
            (again, self.gate.shift_of_sessions(index, self.confirming).ok()?)
        };
        let before = &self.gate.series[index].logs;
        let judged = judge(&shift.interval, 0, self.margin);
        let confirming = self.confirming.runs().filter_map(|run| self.gate.in_run(index, run));
        let in_baseline = self.gate.series[index].in_runs.iter().copied();
        let mut all = confirming.chain(in_baseline).chain([in_screen]);
        let busy_clients = all.any(|series| series.busy_clients);
        Some(CheckedSeries {
            series: self.gate.series[index].name.clone(),
            stored: in_screen.name.clone(),
            point: Arc::clone(&in_screen.point),
            unit: in_screen.unit.clone(),
            better: in_screen.better,
            against: self.which,
            baseline: value_of_log(mean(before)?, in_screen.better),
            now: value_of_log(mean(&logs)?, in_screen.better),
            fresh_runs: logs.len(),
            sessions,
            ratio: estimate(shift.interval.estimate.exp(), Ok(shift.interval.map(f64::exp))),
            state,
            verdict: match judged.verdict {
                Verdict::Equivalent if busy_clients => Verdict::Inconclusive,
                verdict => verdict,
            },
            busy_clients,
            run_sd: variance(before).map_or(0.0, f64::sqrt),
            since: Asked::NotAsked,
            covariates: Asked::NotAsked,
            cause: Asked::NotAsked,
        })
    }
}
