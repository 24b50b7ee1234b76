//! The loop: ask the strategy, carry the round out, tell the listeners.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use plumb_model::{
    Event, EventSink, Id, InvocationRecord, Missing, Outcome, Owner, Plan, Ready, Role, RunRecord,
    SinkError, Slot, Stamped, StopReason, Target,
};
use plumb_stats::rng::Rng;

use crate::Clock;
use crate::history::{History, PointHistory};
use crate::launch::{Done, Launcher, Refusal};
use crate::strategy::{self, Strategy};
use crate::watch::Watch;

/// Who carries the run out, and where.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The run.
    pub run: Id,
    /// Version of plumb.
    pub plumb: String,
    /// The command line.
    pub command: Vec<String>,
    /// The process.
    pub owner: Owner,
    /// The machine, as it is prepared.
    pub target: Target,
    /// What was prepared for the whole run.
    pub done: Done,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ended {
    /// Whether somebody stopped it before it was done.
    pub interrupted: bool,
    /// Points with at least one good invocation.
    pub measured: usize,
    /// Points that were given up because the workload failed, or of which every invocation failed.
    pub failed: usize,
    /// Points that can't be measured here.
    pub unsupported: usize,
    /// What could not be cleaned up: a fixture, a preparation.
    pub unclean: Option<String>,
}

/// Why a run could not go on. What was acknowledged is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EngineError {
    /// A listener could not do its work.
    Sink(String),
    /// The keeper is gone.
    Fatal(String),
    /// What was to run beside failed.
    Companion(String),
    /// What was to run beside can't run here.
    Unsupported {
        /// Why not.
        why: String,
        /// What would mend it.
        fix: String,
    },
}

impl EngineError {
    /// A companion that failed may leave something behind, too.
    fn with(self, unclean: Option<&str>) -> Self {
        match (self, unclean) {
            (Self::Companion(why), Some(unclean)) => {
                Self::Companion(format!("{why}; could not clean up: {unclean}"))
            }
            (error, _) => error,
        }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sink(why)
            | Self::Fatal(why)
            | Self::Companion(why)
            | Self::Unsupported { why, .. } => f.write_str(why),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<SinkError> for EngineError {
    fn from(error: SinkError) -> Self {
        Self::Sink(error.0)
    }
}

/// What a run goes by, besides its launcher.
pub struct Means<'r> {
    /// Tells the time.
    pub clock: &'r dyn Clock,
    /// Reads beside invocations.
    pub watch: &'r mut dyn Watch,
    /// Whether somebody wants the run to stop; asked between messages.
    pub interrupted: &'r dyn Fn() -> bool,
}

/// Carries `plan` out, or what is left of it when `before` is the record of an interrupted run.
///
/// # Errors
/// [`EngineError::Sink`] when a listener fails, [`EngineError::Fatal`] when nothing more can be
/// started. Failing workloads are no errors: they are in the events.
pub fn run<'r>(
    plan: &'r Plan,
    before: Option<&RunRecord>,
    identity: &Identity,
    means: Means<'r>,
    launcher: &mut dyn Launcher,
    sink: &'r mut dyn EventSink,
) -> Result<Ended, EngineError> {
    let mut runner = Runner::new(plan, before, identity, means, sink);
    runner.begin(before, identity)?;
    let worked = runner.work(launcher);
    let unclean = match launcher.finish() {
        Err(Refusal::Failed(why) | Refusal::Fatal(why)) => Some(why),
        Ok(()) | Err(Refusal::Interrupted | Refusal::Unsupported { .. }) => None,
    };
    let logged = match &unclean {
        Some(why) => runner.log(format!("could not clean up: {why}")),
        None => Ok(()),
    };
    worked.map_err(|error| error.with(unclean.as_deref()))?;
    logged?;
    runner.undo(launcher, Slot::Run)?;
    Ok(Ended { unclean, ..runner.end()? })
}

/// Everything that the loop needs to know between invocations.
pub(crate) struct Runner<'r> {
    pub(crate) plan: &'r Plan,
    pub(crate) clock: &'r dyn Clock,
    pub(crate) history: History,
    pub(crate) rng: Rng,
    pub(crate) segment: u32,
    pub(crate) round: u32,
    pub(crate) invocations: u64,
    pub(crate) watch: &'r mut dyn Watch,
    /// Monitors whose first gap was told.
    pub(crate) gaps: BTreeSet<String>,
    /// Invocations of this round that ended well.
    pub(crate) unsettled: Vec<InvocationRecord>,
    sink: &'r mut dyn EventSink,
    interrupted: &'r dyn Fn() -> bool,
    strategy: Box<dyn Strategy>,
    origin_ns: u64,
    elapsed_before_ns: u64,
    companions: BTreeMap<usize, Id>,
    /// The machine, in the state in which it was told last.
    pub(crate) target: Target,
}

impl<'r> Runner<'r> {
    fn new(
        plan: &'r Plan,
        before: Option<&RunRecord>,
        who: &Identity,
        means: Means<'r>,
        sink: &'r mut dyn EventSink,
    ) -> Self {
        let Means { clock, watch, interrupted } = means;
        let history = before.map_or_else(|| History::empty(plan.points.len()), History::of);
        let segment = before.map_or(0, |record| record.segments.len());
        let invocations = before.map_or(0, |record| record.invocations.len());
        let round = before
            .and_then(|record| record.invocations.iter().map(|i| i.round + 1).max())
            .unwrap_or(0);
        let elapsed_before_ns = history.points.iter().map(|point| point.spent_ns).sum();
        Self {
            plan,
            clock,
            history,
            rng: Rng::new(plan.seed.wrapping_add(segment as u64)),
            segment: u32::try_from(segment).unwrap_or(u32::MAX),
            round,
            invocations: invocations as u64,
            watch,
            gaps: BTreeSet::new(),
            unsettled: Vec::new(),
            sink,
            interrupted,
            strategy: strategy::for_plan(plan),
            origin_ns: clock.now().monotonic_ns,
            elapsed_before_ns,
            companions: BTreeMap::new(),
            target: who.target.clone(),
        }
    }

    /// Tells every listener.
    pub(crate) fn emit(&mut self, event: Event) -> Result<(), EngineError> {
        let at_ns = self.since_start_ns();
        Ok(self.sink.take(&Stamped { at_ns, event })?)
    }

    pub(crate) fn log(&mut self, text: String) -> Result<(), EngineError> {
        self.emit(Event::Log { text })
    }

    pub(crate) fn since_start_ns(&self) -> u64 {
        self.clock.now().monotonic_ns.saturating_sub(self.origin_ns)
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        (self.interrupted)()
    }

    fn begin(&mut self, before: Option<&RunRecord>, who: &Identity) -> Result<(), EngineError> {
        let now = self.clock.now();
        if before.is_none() {
            self.emit(Event::RunStarted {
                run: who.run,
                started_unix_ns: now.unix_ns,
                plumb: who.plumb.clone(),
                command: who.command.clone(),
                plan: Box::new(self.plan.clone()),
            })?;
        }
        self.emit(Event::SegmentStarted {
            run: who.run,
            segment: self.segment,
            started_unix_ns: now.unix_ns,
            monotonic_ns: self.origin_ns,
            owner: who.owner.clone(),
        })?;
        self.emit(Event::TargetReady { target: 0, description: Box::new(who.target.clone()) })?;
        self.tell(who.done.clone())?;
        match before.and_then(|record| record.targets.first()) {
            Some(was) if was.environment != who.target.environment => {
                self.log("the environment has changed since the run was interrupted".into())
            }
            _ => Ok(()),
        }
    }

    fn work(&mut self, launcher: &mut dyn Launcher) -> Result<(), EngineError> {
        self.lay_out(launcher)?;
        self.apply(launcher, Slot::Run, None)?;
        self.start_companions(launcher)?;
        self.share_iterations(launcher)?;
        while !self.is_interrupted() {
            self.history.elapsed_ns = self.elapsed_before_ns + self.since_start_ns();
            let mut wanted = self.strategy.next(&mut self.history);
            for decision in std::mem::take(&mut wanted.decisions) {
                self.emit(Event::Decided(Box::new(decision)))?;
            }
            if wanted.points.is_empty() {
                return Ok(());
            }
            if !wanted.ordered {
                self.rng.shuffle(&mut wanted.points);
            }
            self.one_round(launcher, &wanted.points)?;
        }
        self.log("interrupted by a signal".into())
    }

    fn one_round(
        &mut self,
        launcher: &mut dyn Launcher,
        points: &[usize],
    ) -> Result<(), EngineError> {
        self.emit(Event::RoundStarted { round: self.round, points: points.to_vec() })?;
        self.apply(launcher, Slot::Round, None)?;
        for (position, &point) in points.iter().enumerate() {
            if self.is_interrupted() || self.budget_is_spent() {
                break;
            }
            self.invoke(launcher, point, u32::try_from(position).unwrap_or(u32::MAX))?;
            self.collect_companions(launcher)?;
        }
        self.round += 1;
        self.settle_round()?;
        self.undo(launcher, Slot::Round)
    }

    fn budget_is_spent(&self) -> bool {
        let elapsed = self.elapsed_before_ns + self.since_start_ns();
        self.plan.budget_ns.is_some_and(|budget| elapsed >= budget)
    }

    /// Lays every fixture out before anything is measured.
    fn lay_out(&mut self, launcher: &mut dyn Launcher) -> Result<(), EngineError> {
        for point in 0..self.plan.points.len() {
            if self.is_interrupted() {
                return Ok(());
            }
            let planned = &self.plan.points[point];
            match launcher.prepare(planned) {
                Ok(None) => {}
                Ok(Some((key, ready))) => self.emit(Event::FixtureReady {
                    workload: planned.point.workload.clone(),
                    key,
                    bytes_on_disk: ready.bytes_on_disk,
                    notes: ready.notes,
                })?,
                Err(refusal) => self.refuse(point, refusal)?,
            }
        }
        Ok(())
    }

    /// Takes note of a point that can't be measured at all.
    pub(crate) fn refuse(&mut self, point: usize, refusal: Refusal) -> Result<(), EngineError> {
        match refusal {
            Refusal::Unsupported { why, fix } => {
                self.history.points[point].stopped = Some(StopReason::Unsupported);
                self.emit(Event::Unsupported(Missing { point, why, fix }))
            }
            Refusal::Failed(why) => {
                self.history.points[point].stopped = Some(StopReason::Failed);
                self.failed_invocation(point, why)
            }
            Refusal::Interrupted => Ok(()),
            Refusal::Fatal(why) => Err(EngineError::Fatal(why)),
        }
    }

    fn start_companions(&mut self, launcher: &mut dyn Launcher) -> Result<(), EngineError> {
        for (point, ready) in unless_interrupted(launcher.start_companions())? {
            let invocation = plumb_machine::fresh_id();
            self.companions.insert(point, invocation);
            let role = self.plan.companions.get(point).map_or(Role::Load, |c| c.role);
            self.started(invocation, point, role, 0, 0, ready)?;
        }
        Ok(())
    }

    fn collect_companions(&mut self, launcher: &mut dyn Launcher) -> Result<(), EngineError> {
        for (index, reply) in unless_interrupted(launcher.companions())? {
            let Some(&invocation) = self.companions.get(&index) else { continue };
            let (samples, usage, flags) = (Box::new(reply.samples), reply.usage, reply.flags);
            self.emit(Event::Batch { invocation, samples, usage, flags })?;
        }
        Ok(())
    }

    /// Tells that a process was started.
    pub(crate) fn started(
        &mut self,
        invocation: Id,
        point: usize,
        role: Role,
        position: u32,
        seed: u64,
        ready: Ready,
    ) -> Result<(), EngineError> {
        self.emit(Event::InvocationStarted {
            invocation,
            point,
            role,
            round: self.round,
            position,
            segment: self.segment,
            target: 0,
            seed,
            ready: Box::new(ready),
        })
    }

    fn end(mut self) -> Result<Ended, EngineError> {
        for invocation in std::mem::take(&mut self.companions).into_values() {
            let end = Box::new(crate::invocation::end_of(Outcome::Done, 0, ""));
            self.emit(Event::InvocationEnded { invocation, end })?;
        }
        let interrupted = self.is_interrupted();
        let ended_unix_ns = self.clock.now().unix_ns;
        self.emit(Event::RunEnded { ended_unix_ns, interrupted })?;
        let count = |is: &dyn Fn(&PointHistory) -> bool| {
            self.history.points.iter().filter(|point| is(point)).count()
        };
        let stopped = |point: &PointHistory, word| point.stopped == Some(word);
        let without = |point: &PointHistory| point.invocations == 0 && point.failures > 0;
        Ok(Ended {
            interrupted,
            measured: count(&|point| point.invocations > 0),
            failed: count(&|point| stopped(point, StopReason::Failed) || without(point)),
            unsupported: count(&|point| stopped(point, StopReason::Unsupported)),
            unclean: None,
        })
    }
}

/// What companions answered; nothing when a signal came, after which the loop ends by itself.
fn unless_interrupted<T>(answer: Result<Vec<T>, Refusal>) -> Result<Vec<T>, EngineError> {
    answer.or_else(|refusal| match refusal {
        Refusal::Unsupported { why, fix } => {
            Err(EngineError::Unsupported { why: format!("--with {why}"), fix })
        }
        Refusal::Failed(why) => Err(EngineError::Companion(format!("--with {why}"))),
        Refusal::Fatal(why) => Err(EngineError::Fatal(why)),
        Refusal::Interrupted => Ok(Vec::new()),
    })
}
