//! The loop: ask the schedule, carry the round out, tell the listeners.

use plumb_model::{
    AFTER_PAUSE, Event, EventSink, Missing, Plan, PreparationSlot, Role, RunRecord, StopReason,
};

use crate::calibration::{calibrate_alone, is_shared, share};
use crate::companions::Companions;
use crate::context::{Ended, Identity, RunContext, SharedGate};
use crate::draws::Draws;
use crate::error::EngineError;
use crate::invocation::{EngineInvocation, failed_before_ready};
use crate::monitoring::Monitoring;
use crate::pacing::{AfterPauses, Pacing};
use crate::schedule::RoundSchedule;
use crate::slots::{self, Slots};
use crate::stream::{EventStream, RunPosition, StartedProcess};
use plumb_launch::{LaunchRefusal, Launcher, StartSpec};

/// While it pauses, a run looks this often whether it should stop, in nanoseconds.
const SLICE_NS: u64 = 20_000_000;
/// So long after the end of its budget a run still waits for an answer, and for one sample, in nanoseconds. With what it takes to
/// end all programs the run is then over after five seconds.
const LATE_NS: u64 = 2_000_000_000;

/// Carries `plan` out, or what is left of it when `before` is the record of an interrupted run.
///
/// # Errors
/// [`EngineError::Sink`] when a listener fails, [`EngineError::Fatal`] when nothing more can be
/// started. Failing workloads are no errors: they are in the events.
pub fn run<'r>(
    plan: &'r Plan,
    before: Option<&RunRecord>,
    identity: &Identity,
    context: RunContext<'r>,
    launcher: &mut dyn Launcher,
    sink: &'r mut dyn EventSink,
) -> Result<Ended, EngineError> {
    let mut run = EngineRun::new(plan, before, identity, context, sink);
    run.begin(before, identity)?;
    let worked = run.work(launcher);
    // Also after an error: no program and no fixture may outlive the run.
    let unclean = match launcher.finish() {
        Err(
            LaunchRefusal::Failed(why)
            | LaunchRefusal::WrongResult(why)
            | LaunchRefusal::Fatal(why),
        ) => Some(why),
        Ok(())
        | Err(
            LaunchRefusal::Interrupted
            | LaunchRefusal::OutOfTime
            | LaunchRefusal::Unsupported { .. },
        ) => None,
    };
    let logged = match &unclean {
        Some(why) => run.stream.log(format!("could not clean up: {why}")),
        None => Ok(()),
    };
    // The run's own error first: that its log can't be written either would hide the cause.
    worked.map_err(|error| error.with(unclean.as_deref()))?;
    logged?;
    // The settings go last, so that all that ends finds the machine on which it began.
    run.slots.undo(launcher, &mut run.stream, PreparationSlot::Run)?;
    Ok(Ended { unclean, ..run.end()? })
}

/// A run under way; each part knows its own concern alone.
struct EngineRun<'r> {
    plan: &'r Plan,
    interrupted: &'r dyn Fn() -> bool,
    gate: Option<&'r dyn SharedGate>,
    at: RunPosition,
    stream: EventStream<'r>,
    schedule: RoundSchedule<'r>,
    pacing: Pacing,
    /// How long the pause before this round was, in nanoseconds.
    paused_ns: u64,
    after_pauses: AfterPauses,
    draws: Draws,
    monitoring: Monitoring<'r>,
    slots: Slots<'r>,
    companions: Companions,
}

impl<'r> EngineRun<'r> {
    fn new(
        plan: &'r Plan,
        before: Option<&RunRecord>,
        who: &Identity,
        context: RunContext<'r>,
        sink: &'r mut dyn EventSink,
    ) -> Self {
        let RunContext { clock, monitors, interrupted, gate } = context;
        let at = position_after(before);
        Self {
            plan,
            interrupted,
            gate,
            at,
            stream: EventStream::begin(sink, clock),
            schedule: RoundSchedule::of(plan, before),
            pacing: Pacing::of(plan),
            paused_ns: 0,
            after_pauses: AfterPauses::default(),
            draws: Draws::of(plan, at.segment),
            monitoring: Monitoring::by(monitors),
            slots: Slots::on(plan, who.target.clone()),
            companions: Companions::default(),
        }
    }

    fn begin(&mut self, before: Option<&RunRecord>, who: &Identity) -> Result<(), EngineError> {
        let started_unix_ns = self.stream.unix_ns();
        if before.is_none() {
            self.stream.emit(Event::RunStarted {
                run: who.run,
                started_unix_ns,
                plumb: who.plumb.clone(),
                command: who.command.clone(),
                plan: Box::new(self.plan.clone()),
            })?;
        }
        self.stream.emit(Event::SegmentStarted {
            run: who.run,
            segment: self.at.segment,
            started_unix_ns,
            monotonic_ns: self.stream.origin_ns(),
            owner: who.owner.clone(),
        })?;
        let description = Box::new(who.target.clone());
        self.stream.emit(Event::TargetReady { target: 0, description })?;
        slots::tell(&mut self.stream, who.prepared.clone())?;
        match before.and_then(|record| record.targets.first()) {
            Some(was) if was.environment != who.target.environment => {
                self.stream.log("the environment has changed since the run was interrupted")
            }
            _ => Ok(()),
        }
    }

    fn work(&mut self, launcher: &mut dyn Launcher) -> Result<(), EngineError> {
        if let Some(end_ns) = self.schedule.end_ns() {
            let left_ns = end_ns.saturating_sub(self.stream.elapsed_ns());
            launcher.end_within(left_ns.saturating_add(LATE_NS));
        }
        // Fixtures first: the run's actions (drop-caches, cooldown) then remove what laying them out left behind.
        self.lay_out(launcher)?;
        self.slots.apply(launcher, &mut self.stream, PreparationSlot::Run, None)?;
        self.companions.start(launcher, &mut self.stream, self.plan, self.at)?;
        // Next to the companions: the load that they make changes how long an iteration takes.
        self.share_iterations(launcher)?;
        while !(self.interrupted)() {
            let elapsed_ns = self.stream.elapsed_ns();
            let (decisions, points) = self.schedule.next_round(elapsed_ns, &mut self.draws);
            for decision in decisions {
                self.stream.emit(Event::Decided(Box::new(decision)))?;
            }
            if points.is_empty() {
                return Ok(());
            }
            self.paused_ns = self.pause();
            self.one_round(launcher, &self.in_turn(points))?;
        }
        self.stream.log("interrupted by a signal")
    }

    /// The points of this round in their order. Machines that measure together all have the same one, also if some of them cannot
    /// measure a point: each round begins one point later.
    fn in_turn(&self, mut points: Vec<usize>) -> Vec<usize> {
        if self.gate.is_some() {
            points.sort_by_key(|&point| self.turn(point));
        }
        points
    }

    /// The position of a point in this round, among all points of the plan.
    fn turn(&self, point: usize) -> u32 {
        let count = self.plan.points.len().max(1);
        let turn = (point + self.at.round as usize) % count;
        u32::try_from(turn).unwrap_or(u32::MAX)
    }

    /// Waits as long as the plan wants between rounds, or until somebody wants the run to stop. How long that was, in
    /// nanoseconds.
    fn pause(&mut self) -> u64 {
        let began_ns = self.stream.elapsed_ns();
        let until_ns = began_ns + self.pacing.pause_ns(began_ns);
        self.after_pauses.round(until_ns > began_ns);
        loop {
            let left_ns = until_ns.saturating_sub(self.stream.elapsed_ns());
            if left_ns == 0 || (self.interrupted)() {
                return self.stream.elapsed_ns() - began_ns;
            }
            self.stream.sleep(left_ns.min(SLICE_NS));
        }
    }

    fn one_round(
        &mut self,
        launcher: &mut dyn Launcher,
        points: &[usize],
    ) -> Result<(), EngineError> {
        self.stream.emit(Event::RoundStarted { round: self.at.round, points: points.to_vec() })?;
        self.slots.apply(launcher, &mut self.stream, PreparationSlot::Round, None)?;
        for (position, &point) in points.iter().enumerate() {
            // A round of many points can outlast the budget, so it is looked at within the round, too.
            let is_over = self.schedule.budget_is_spent(self.stream.elapsed_ns());
            if (self.interrupted)() || is_over {
                break;
            }
            self.invoke(launcher, point, u32::try_from(position).unwrap_or(u32::MAX))?;
        }
        self.at.round += 1;
        // Only now: whether an invocation counts can depend on what disturbed the other side of its pair.
        for (invocation, by) in self.schedule.settle_round() {
            self.stream.emit(Event::Excluded { invocation, by })?;
        }
        self.slots.undo(launcher, &mut self.stream, PreparationSlot::Round)
    }

    /// Carries out one invocation of a point; whatever happens to it is in the events.
    fn invoke(
        &mut self,
        launcher: &mut dyn Launcher,
        point: usize,
        position: u32,
    ) -> Result<(), EngineError> {
        let began_ns = self.stream.elapsed_ns();
        self.slots.apply(launcher, &mut self.stream, PreparationSlot::Invocation, Some(point))?;
        let of = (self.plan, point);
        let beside = self.companions.start_of_point(launcher, &mut self.stream, of, self.at)?;
        let measured = match beside {
            Ok(()) => self.measure(launcher, point, position, began_ns)?,
            refused => refused,
        };
        match measured {
            Ok(()) => {}
            Err(LaunchRefusal::Failed(why) | LaunchRefusal::WrongResult(why)) => {
                self.failed(point, why)?;
            }
            Err(refusal) => self.refuse(point, refusal)?,
        }
        // Before they are ended: a load is killed, with what it has reported and nobody has read.
        self.companions.collect(launcher, &mut self.stream)?;
        self.companions.end_of_point(launcher, &mut self.stream)?;
        self.slots.undo(launcher, &mut self.stream, PreparationSlot::Invocation)?;
        self.schedule.known(point).spent_ns += self.stream.elapsed_ns() - began_ns;
        Ok(())
    }

    /// Starts the process of an invocation and measures it; why it can't be started.
    fn measure(
        &mut self,
        launcher: &mut dyn Launcher,
        point: usize,
        position: u32,
        began_ns: u64,
    ) -> Result<Result<(), LaunchRefusal>, EngineError> {
        let planned = &self.plan.points[point];
        let role = Role::Workload;
        let seed = self.draws.invocation_seed(planned.description.sample_is, self.at.round);
        let stream = &mut self.stream;
        let spec = StartSpec { planned, role, seed };
        let started = launcher.start(spec, &mut |text| stream.progress(point, text));
        let (session, mut ready) = match started {
            Ok(started) => started,
            Err(refusal) => return Ok(Err(refusal)),
        };
        // Only the first of a round runs right after the pause.
        ready.paused_ns =
            self.plan.spread_ns.map(|_| if position == 0 { self.paused_ns } else { 0 });
        ready.shared_start = None;
        let waits_from_ns = self.stream.elapsed_ns();
        if let Some(gate) = self.gate {
            let Some(start) = gate.wait(self.at.round, self.turn(point)) else {
                return Ok(Err(LaunchRefusal::Interrupted));
            };
            ready.shared_start = Some(start);
        }
        // To wait for others is no cost of this invocation.
        let began_ns = began_ns + (self.stream.elapsed_ns() - waits_from_ns);
        let invocation = plumb_machine::fresh_id();
        let started = StartedProcess { invocation, point, role, position, seed, ready };
        let finished = self.invocation(point, began_ns).measure(session, started)?;
        if let Some(finished) = finished {
            if let Some(seen) = &finished.observation
                && self.plan.spread_ns.is_some()
            {
                self.after_pauses.take(invocation, point, position, seen);
            }
            self.schedule.finished(finished);
        }
        Ok(Ok(()))
    }

    fn invocation(&mut self, point: usize, began_ns: u64) -> EngineInvocation<'_, 'r> {
        EngineInvocation {
            plan: self.plan,
            point,
            at: self.at,
            end_ns: self.schedule.end_ns(),
            known: self.schedule.known(point),
            draws: &mut self.draws,
            stream: &mut self.stream,
            monitoring: &mut self.monitoring,
            began_ns,
        }
    }

    /// Lays every fixture out before anything is measured.
    fn lay_out(&mut self, launcher: &mut dyn Launcher) -> Result<(), EngineError> {
        for (point, planned) in self.plan.points.iter().enumerate() {
            if (self.interrupted)() || self.schedule.budget_is_spent(self.stream.elapsed_ns()) {
                return Ok(());
            }
            let stream = &mut self.stream;
            match launcher.prepare(planned, &mut |text| stream.progress(point, text)) {
                Ok(None) => {}
                Ok(Some((key, ready))) => self.stream.emit(Event::FixtureReady {
                    workload: planned.point.workload.clone(),
                    key,
                    bytes_on_disk: ready.bytes_on_disk,
                    notes: ready.notes,
                    start_up: ready.start_up.map(Box::new),
                })?,
                Err(refusal) => self.refuse(point, refusal)?,
            }
        }
        Ok(())
    }

    /// Gives all sides of a comparison the same number of iterations a sample. If other machines measure at the same time, each point
    /// gets its number now, because to look for it takes each machine another time.
    fn share_iterations(&mut self, launcher: &mut dyn Launcher) -> Result<(), EngineError> {
        let is_shared = is_shared(self.plan);
        if !is_shared && self.gate.is_none() {
            return Ok(());
        }
        let mut target_ns = 0;
        for (point, planned) in self.plan.points.iter().enumerate() {
            let is_process = planned.description.sample_is == plumb_model::SampleIs::Process;
            let is_searched = planned.description.searched().is_some();
            if is_process || is_searched || self.schedule.known(point).stopped.is_some() {
                continue;
            }
            let seed = self.draws.invocation_seed(planned.description.sample_is, self.at.round);
            let stream = &mut self.stream;
            let known = self.schedule.known(point);
            let progress = &mut |text: &str| stream.progress(point, text);
            match calibrate_alone(launcher, planned, known, seed, progress) {
                Ok(wanted_ns) => target_ns = target_ns.max(wanted_ns),
                // It will fail again in the first round, where its reason is kept.
                Err(
                    LaunchRefusal::Failed(_)
                    | LaunchRefusal::WrongResult(_)
                    | LaunchRefusal::Interrupted
                    | LaunchRefusal::OutOfTime,
                ) => {}
                Err(refusal) => self.refuse(point, refusal)?,
            }
        }
        if is_shared {
            share(self.schedule.all_known(), target_ns);
        }
        Ok(())
    }

    /// Takes note of a point that can't be measured at all, or no longer.
    fn refuse(&mut self, point: usize, refusal: LaunchRefusal) -> Result<(), EngineError> {
        let known = self.schedule.known(point);
        let could_run = known.invocations + known.failures > 0;
        match refusal {
            // A server has ended, or a file was removed.
            LaunchRefusal::Unsupported { why, fix } if could_run => {
                known.stopped = Some(StopReason::Failed);
                self.failed(point, format!("{why} (it could run before); fix: {fix}"))
            }
            LaunchRefusal::Unsupported { why, fix } => {
                self.schedule.known(point).stopped = Some(StopReason::Unsupported);
                self.stream.emit(Event::Unsupported(Missing { point, why, fix }))
            }
            LaunchRefusal::Failed(why) | LaunchRefusal::WrongResult(why) => {
                self.schedule.known(point).stopped = Some(StopReason::Failed);
                self.failed(point, why)
            }
            LaunchRefusal::Interrupted => Ok(()),
            LaunchRefusal::OutOfTime => self.stream.log(format!(
                "{} was not ready {} s after the end of the time for this run, so plumb ended it",
                self.plan.points[point].name(),
                LATE_NS / 1_000_000_000
            )),
            LaunchRefusal::Fatal(why) => Err(EngineError::Fatal(why)),
        }
    }

    fn failed(&mut self, point: usize, why: String) -> Result<(), EngineError> {
        failed_before_ready(&mut self.stream, self.at, point, self.schedule.known(point), why)
    }

    fn end(mut self) -> Result<Ended, EngineError> {
        self.companions.end(&mut self.stream)?;
        for invocation in self.after_pauses.left_out(self.plan) {
            self.stream.emit(Event::Excluded { invocation, by: AFTER_PAUSE.to_owned() })?;
        }
        let interrupted = (self.interrupted)();
        let ended_unix_ns = self.stream.unix_ns();
        self.stream.emit(Event::RunEnded { ended_unix_ns, interrupted })?;
        Ok(self.schedule.ended(interrupted))
    }
}

/// Where a run begins, or goes on.
fn position_after(before: Option<&RunRecord>) -> RunPosition {
    let Some(record) = before else { return RunPosition { segment: 0, round: 0 } };
    // A round that was begun keeps its number, as both sides of its pairs have drawn the seeds of that.
    let rounds = record.invocations.iter().map(|invocation| invocation.round + 1);
    RunPosition {
        segment: u32::try_from(record.segments.len()).unwrap_or(u32::MAX),
        round: rounds.max().unwrap_or(0),
    }
}
