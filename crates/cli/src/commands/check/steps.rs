//! The steps of a check: screening, confirmation and controls. Several machines take each step at the same time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use plumb_analysis::{Caveats, CheckFinding, Checker, ConfirmingSessions, FreshRun, canary_shift};
use plumb_model::{
    By, Goal, Plan, PlannedPoint, RunRecord, SampleIs, StoppingRules, Value, Verdict, VerdictGoal,
};
use plumb_stats::regression_gate::CONFIRM_RUNS;
use plumb_store::Store;
use plumb_text::counted;

use crate::error::{CommandError, Result};
use crate::measuring::waiting::wait_until;
use crate::planning::{catalogue, points};
use crate::ui::Ui;

/// The longest time that the machine is compared with itself, in nanoseconds.
const NULL_NS: u64 = 30_000_000_000;

/// Work that nothing changes: what the CPU computes, and what the memory gives.
const CANARIES: [(&str, &str, &str); 2] =
    [("cpu.sieve", "limit", "100000"), ("memory.latency", "size", "1MiB")];
/// Fresh processes of each canary.
const CANARY_RUNS: usize = 3;
/// What the user reads while they are measured.
const CANARY_STEP: &str = "measuring an unchanged control workload";

/// Carries out the plans of a step.
pub(super) trait StepRunner {
    /// Carries out a plan on each of these machines, all at the same time; `what` is shown to the user. The records are in the
    /// order of the plans. An inner error is of one machine.
    ///
    /// # Errors
    /// When the check cannot go on for any machine, such as after Ctrl-C.
    fn measure(&self, plans: &[MachinePlan], what: &str) -> Result<Vec<Result<RunRecord>>>;

    /// The name of a machine in messages; None if there is only this one.
    fn name(&self, machine: usize) -> Option<&str>;
}

/// What one machine measures in a step.
pub(super) struct MachinePlan {
    /// The index of the machine.
    pub(super) machine: usize,
    /// The plan, which the machine carries out in a fresh folder.
    pub(super) plan: Plan,
}

/// The check of one machine, as far as it has come.
pub(super) struct MachineCheck<'c> {
    /// The index of the machine.
    pub(super) machine: usize,
    /// What it is compared with.
    pub(super) checker: &'c Checker<'c>,
    /// What the baseline measured.
    pub(super) plan: Plan,
    /// Reasons to doubt its alerts.
    pub(super) doubts: Caveats,
    screened: Option<FreshRun>,
    canaries: Option<FreshRun>,
    /// The points that look different.
    flagged: Vec<PlannedPoint>,
    confirming: ConfirmingSessions,
    /// Why it could not be checked.
    pub(super) error: Option<CommandError>,
}

impl<'c> MachineCheck<'c> {
    /// A check that has not begun.
    pub(super) fn new(machine: usize, checker: &'c Checker<'c>, plan: Plan) -> Self {
        Self {
            machine,
            checker,
            plan,
            doubts: Caveats::default(),
            screened: None,
            canaries: None,
            flagged: Vec::new(),
            confirming: ConfirmingSessions::default(),
            error: None,
        }
    }

    /// The plan with the points that look different; None if none does.
    fn flagged_plan(&self) -> Option<Plan> {
        if self.flagged.is_empty() {
            return None;
        }
        Some(Plan { points: self.flagged.clone(), ..self.plan.clone() })
    }

    /// Whether it has points to confirm.
    fn is_flagged(&self) -> bool {
        self.error.is_none() && !self.flagged.is_empty()
    }

    /// What the steps found.
    ///
    /// # Errors
    /// Why this machine could not be checked, or when the store cannot be read.
    pub(super) fn finding(&self, store: &Store, by: By) -> Result<CheckFinding> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        let screened = self
            .screened
            .as_ref()
            .ok_or_else(|| CommandError::bug("a check without a screening run"))?;
        let doubts = self.doubts.clone();
        Ok(plumb_query::of_check(store, self.checker, screened, &self.confirming, doubts, by)?)
    }
}

/// Takes the steps, each on all machines at the same time.
pub(super) struct CheckSteps<'s> {
    /// Measures on this machine, or on others.
    pub(super) runner: &'s dyn StepRunner,
    /// The number of confirming sessions.
    pub(super) sessions: u16,
    /// The pause before each of them.
    pub(super) apart: Duration,
    /// How plumb talks to the user.
    pub(super) ui: &'s Ui,
}

impl CheckSteps<'_> {
    /// Measures everything once, after work that nothing changes.
    ///
    /// # Errors
    /// When the check cannot go on for any machine.
    pub(super) fn screen(&self, checks: &mut [MachineCheck<'_>]) -> Result<()> {
        let canaries = canary_points()?;
        let plan = |check: &MachineCheck<'_>| Some(canary_plan(check, &canaries));
        self.take(checks, CANARY_STEP, plan, |check, record| {
            check.canaries = Some(FreshRun::of(record));
        })?;
        let most = checks.iter().map(|check| check.plan.points.len()).max().unwrap_or_default();
        let what = format!("screening {}", counted(most, "point", "points"));
        let keep = |check: &mut MachineCheck<'_>, record: &RunRecord| {
            let screened = FreshRun::of(record);
            let flagged = check.checker.screen(&screened);
            check.flagged =
                flagged.iter().map(|&point| record.plan.points[point].clone()).collect();
            check.screened = Some(screened);
        };
        self.take(checks, &what, |check| Some(check.plan.clone()), keep)
    }

    /// Measures what looks different again, and then the controls. After a clean screening they are not needed: they can only
    /// take back alerts.
    ///
    /// # Errors
    /// When the check cannot go on for any machine.
    pub(super) fn confirm(&self, checks: &mut [MachineCheck<'_>]) -> Result<()> {
        if !checks.iter().any(MachineCheck::is_flagged) {
            return Ok(());
        }
        for session in 1..=self.sessions {
            // All machines may be lost by now.
            if checks.iter().any(MachineCheck::is_flagged) {
                self.confirm_once(checks, session)?;
            }
        }
        self.null_control(checks)?;
        // How far work that nothing has changed moves is what the machine itself does meanwhile.
        let canaries = canary_points()?;
        let plan =
            |check: &MachineCheck<'_>| check.is_flagged().then(|| canary_plan(check, &canaries));
        self.take_control(checks, CANARY_STEP, plan, |check, record| {
            let before = check.canaries.as_ref().map(|canaries| canaries.series.as_slice());
            let now = FreshRun::of(record);
            check.doubts.canary_shift = canary_shift(before.unwrap_or_default(), &now.series);
        })
    }

    /// One confirming session of several runs.
    fn confirm_once(&self, checks: &mut [MachineCheck<'_>], session: u16) -> Result<()> {
        let of = match self.sessions {
            1 => String::new(),
            all => format!(", session {session} of {all}"),
        };
        if !self.apart.is_zero() {
            let wait = plumb_units::length(self.apart.as_secs_f64());
            for check in checks.iter().filter(|check| check.is_flagged()) {
                let names: Vec<String> = check.flagged.iter().map(PlannedPoint::name).collect();
                let names = names.join(", ");
                let machine = self.runner.name(check.machine);
                let lead = machine.map(|name| format!("{name}: ")).unwrap_or_default();
                self.ui.say(&format!(
                    "{lead}possible change in {names}; measuring again in {wait}{of} (--apart 0s skips the wait)"
                ));
            }
            wait_until(Instant::now() + self.apart, "before measuring again", self.ui)?;
        }
        for check in checks.iter_mut().filter(|check| check.is_flagged()) {
            check.confirming.apart_s = self.apart.as_secs_f64();
            check.confirming.sessions.push(Vec::with_capacity(CONFIRM_RUNS));
        }
        let most = checks.iter().map(|check| check.flagged.len()).max().unwrap_or_default();
        let points = counted(most, "point", "points");
        for number in 1..=CONFIRM_RUNS {
            let what = format!("confirming {points}{of}: run {number} of {CONFIRM_RUNS}");
            let keep = |check: &mut MachineCheck<'_>, record: &RunRecord| {
                if let Some(session) = check.confirming.sessions.last_mut() {
                    session.push(FreshRun::of(record));
                }
            };
            self.take(checks, &what, |check| check.flagged_plan(), keep)?;
        }
        Ok(())
    }

    /// Compares the first point with itself: a verdict other than equal says that this machine, now, makes differences where
    /// there are none.
    fn null_control(&self, checks: &mut [MachineCheck<'_>]) -> Result<()> {
        let flagged = checks.iter().filter(|check| check.is_flagged());
        let names: BTreeSet<String> =
            flagged.filter_map(control_point).map(PlannedPoint::name).collect();
        let names: Vec<String> = names.into_iter().collect();
        let what = format!("comparing {} with itself", names.join(", "));
        let keep = |check: &mut MachineCheck<'_>, record: &RunRecord| {
            let finding = plumb_analysis::summarise(record);
            let verdict =
                finding.against_first.first().and_then(|comparison| comparison.found.verdict.ok());
            let name = control_point(check).map(PlannedPoint::name).unwrap_or_default();
            if let Some(verdict @ (Verdict::Faster | Verdict::Slower)) = verdict {
                check.doubts.vetoes.push(format!("{name} appeared {} than itself", verdict.word()));
            }
        };
        self.take_control(checks, &what, control_plan, keep)
    }

    /// Takes a step of controls. A machine that is lost meanwhile keeps what its confirming runs found, with a doubt.
    fn take_control(
        &self,
        checks: &mut [MachineCheck<'_>],
        what: &str,
        plan: impl Fn(&MachineCheck<'_>) -> Option<Plan>,
        keep: impl Fn(&mut MachineCheck<'_>, &RunRecord),
    ) -> Result<()> {
        let had_error: Vec<bool> = checks.iter().map(|check| check.error.is_some()).collect();
        self.take(checks, what, plan, keep)?;
        for (check, had_error) in checks.iter_mut().zip(had_error) {
            if !had_error && let Some(error) = check.error.take() {
                check.doubts.vetoes.push(format!("a control could not be measured: {error}"));
            }
        }
        Ok(())
    }

    /// Takes a step on all machines that have no error and a plan for it.
    fn take(
        &self,
        checks: &mut [MachineCheck<'_>],
        what: &str,
        plan: impl Fn(&MachineCheck<'_>) -> Option<Plan>,
        keep: impl Fn(&mut MachineCheck<'_>, &RunRecord),
    ) -> Result<()> {
        let mut plans = Vec::new();
        let mut measured = Vec::new();
        for check in checks.iter_mut().filter(|check| check.error.is_none()) {
            if let Some(plan) = plan(check) {
                plans.push(MachinePlan { machine: check.machine, plan });
                measured.push(check);
            }
        }
        if plans.is_empty() {
            return Ok(());
        }
        let records = self.runner.measure(&plans, what)?;
        for (check, record) in measured.into_iter().zip(records) {
            match record {
                Ok(record) => keep(check, &record),
                Err(error) => check.error = Some(error),
            }
        }
        Ok(())
    }
}

/// The points that nothing has changed.
fn canary_points() -> Result<Vec<PlannedPoint>> {
    let mut canaries = Vec::new();
    for (id, parameter, value) in CANARIES {
        let Some(entry) = catalogue::builtin(id)? else { continue };
        let settings = [(parameter.to_owned(), Value::Text(value.to_owned()))].into();
        canaries.push(points::planned(&entry, &settings, 1)?);
    }
    Ok(canaries)
}

fn canary_plan(check: &MachineCheck<'_>, canaries: &[PlannedPoint]) -> Plan {
    let rules = StoppingRules::fixed(CANARY_RUNS);
    Plan {
        points: canaries.to_vec(),
        goal: Goal::Rules(StoppingRules { max_time_ns: Some(NULL_NS), ..rules }),
        budget_ns: Some(NULL_NS),
        suite: None,
        ..check.plan.clone()
    }
}

/// The point that is compared with itself: one whose samples need no process of their own, if there is one.
fn control_point<'c>(check: &'c MachineCheck<'_>) -> Option<&'c PlannedPoint> {
    let mut in_process =
        check.flagged.iter().filter(|planned| planned.description.sample_is == SampleIs::Iteration);
    in_process.next().or(check.flagged.first())
}

fn control_plan(check: &MachineCheck<'_>) -> Option<Plan> {
    let point = control_point(check)?;
    let metric = point.description.primary()?;
    Some(Plan {
        points: vec![point.clone(), point.clone()],
        goal: Goal::Verdict(VerdictGoal::new(&metric.name, plumb_model::MARGIN, 40)),
        budget_ns: Some(NULL_NS),
        suite: None,
        ..check.plan.clone()
    })
}
