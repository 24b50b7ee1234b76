//! One invocation: a fresh process that is ready is sampled and ended.

use plumb_model::{
    Id, Interference, InvocationEnd, Measurement, Outcome, Plan, PlannedPoint, Ready, Role,
    SampleIs, Samples, Sampling, SearchGoal, Usage, trials,
};
use plumb_stats::search::{LoadSearch, NextTrial};

use crate::calibration::{Calibration, calibrated};
use crate::draws::Draws;
use crate::error::EngineError;
use crate::exclusion::rules;
use crate::history::{Observation, PointHistory};
use crate::monitoring::Monitoring;
use crate::sampling::{self, METHOD, SampleCounts};
use crate::schedule::Finished;
use crate::stream::{EventStream, RunPosition, StartedProcess};
use plumb_launch::{InvocationSession, LaunchRefusal, MOST_OF_SUPPLY, valid_supply, valid_trial};

/// A stream reports once in this time, in nanoseconds.
const STREAM_INTERVAL_NS: u64 = 1_000_000_000;
/// What is asked for at once lasts about this long, or is one sample, in nanoseconds: more would be lost if its process did not
/// answer within the time of the run.
const MESSAGE_NS: u64 = 1_000_000_000;
/// Longest log of a worker that is kept, in bytes.
const LOG_BYTES: usize = 2000;

/// An invocation's end without its own samples.
pub fn end_of(outcome: Outcome, steady_start: usize, warmup: &str) -> InvocationEnd {
    InvocationEnd {
        outcome,
        steady_start,
        warmup: warmup.to_owned(),
        method: METHOD,
        peak_memory_bytes: 0,
        log: String::new(),
    }
}

/// What was sampled in an invocation, all batches joined.
#[derive(Default)]
struct Sampled {
    samples: Samples,
    usage: Vec<Usage>,
    counts: SampleCounts,
}

impl Sampled {
    fn append(&mut self, samples: Samples, usage: Usage) -> Result<(), LaunchRefusal> {
        self.usage.push(usage);
        self.samples.append(samples).map_err(|error| LaunchRefusal::Failed(error.to_string()))
    }
}

/// Why an invocation was not sampled to its end: only it ends by a refusal, the run by an error.
enum Broken {
    Refused(LaunchRefusal),
    Run(EngineError),
}

impl From<LaunchRefusal> for Broken {
    fn from(refusal: LaunchRefusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<EngineError> for Broken {
    fn from(error: EngineError) -> Self {
        Self::Run(error)
    }
}

/// A process that is to be measured, with the parts of the run that it needs.
pub struct EngineInvocation<'a, 'r> {
    pub plan: &'r Plan,
    pub point: usize,
    pub at: RunPosition,
    pub known: &'a mut PointHistory,
    pub draws: &'a mut Draws,
    pub stream: &'a mut EventStream<'r>,
    pub monitoring: &'a mut Monitoring<'r>,
    /// When it was begun, before its process was started.
    pub began_ns: u64,
    /// When the time of the run is over, in nanoseconds of its segment.
    pub end_ns: Option<u64>,
}

impl EngineInvocation<'_, '_> {
    /// Measures the process of a session, which said that it is ready. None when it did not end well:
    /// whatever happens to it is in the events.
    pub fn measure(
        &mut self,
        session: Box<dyn InvocationSession + '_>,
        started: StartedProcess,
    ) -> Result<Option<Finished>, EngineError> {
        let invocation = started.invocation;
        let ready = started.ready.clone();
        self.stream.started(self.at, started)?;
        match self.sample_and_end(session, invocation, &ready) {
            Ok(finished) => Ok(Some(finished)),
            Err(Broken::Run(error)) => Err(error),
            Err(Broken::Refused(
                LaunchRefusal::Failed(why) | LaunchRefusal::Unsupported { why, .. },
            )) => fail(self.stream, self.known, invocation, Outcome::Failed(why)).map(|()| None),
            // A machine that computes wrongly once does so for ever, whatever other invocations give.
            Err(Broken::Refused(LaunchRefusal::WrongResult(why))) => {
                self.known.wrong_results += 1;
                let outcome = Outcome::WrongResult(why);
                fail(self.stream, self.known, invocation, outcome).map(|()| None)
            }
            // Its samples stay in the record, without an end.
            Err(Broken::Refused(LaunchRefusal::Interrupted)) => Ok(None),
            Err(Broken::Refused(LaunchRefusal::OutOfTime)) => {
                let name = self.planned().name();
                let text = format!(
                    "{name}: its process was busy when the time of the run was over, so plumb ended it; what it had not reported is lost"
                );
                self.stream.log(text).map(|()| None)
            }
            Err(Broken::Refused(LaunchRefusal::Fatal(why))) => Err(EngineError::Fatal(why)),
        }
    }

    fn sample_and_end(
        &mut self,
        mut session: Box<dyn InvocationSession + '_>,
        invocation: Id,
        ready: &Ready,
    ) -> Result<Finished, Broken> {
        let (sampled, found) = match ready.supply {
            // Its samples are of earlier times: nothing that runs now disturbs them.
            Some(supply) => (self.sample_supply(session.as_mut(), invocation, supply)?, Vec::new()),
            None => self.sample_with_monitors(session.as_mut(), invocation, ready)?,
        };
        let Sampled { samples, usage, counts } = sampled;
        // Before the observation: peak memory is known only when the process has been waited for.
        let stopped = session.stop()?;
        let (steady_start, warmup) =
            sampling::steady_start(self.planned(), self.known, counts, &samples);
        let measured = Measurement {
            samples: &samples,
            usage: &usage,
            work: &ready.work,
            steady_start: steady_start.min(samples.len()),
            peak_memory_bytes: Some(stopped.peak_memory_bytes),
        };
        let observation = Observation::of(self.plan, self.point, self.at.round, measured);
        self.known.supply = ready.supply;
        // What is left is spawn, set-up and stop: what one more invocation costs apart from its samples.
        let sampling_ns: u64 = samples.elapsed_ns.iter().sum();
        let lasted_ns = self.stream.elapsed_ns() - self.began_ns;
        self.known.setup_ns = lasted_ns.saturating_sub(sampling_ns);
        let end = InvocationEnd {
            peak_memory_bytes: stopped.peak_memory_bytes,
            log: last_bytes(&stopped.log),
            ..end_of(Outcome::Done, steady_start, warmup)
        };
        self.stream.ended(invocation, end)?;
        Ok(Finished { invocation, point: self.point, rules: rules(&found), observation })
    }

    /// Takes the samples of this invocation while the monitors read, and finds what disturbed it.
    fn sample_with_monitors(
        &mut self,
        session: &mut dyn InvocationSession,
        invocation: Id,
        ready: &Ready,
    ) -> Result<(Sampled, Vec<Interference>), Broken> {
        self.monitoring.begin(self.point, session.pid());
        let sampled = self.sample(session, invocation, ready);
        // Also after a failure: monitors must not read on into the next invocation.
        let readings = self.monitoring.end();
        let sampled = sampled?;
        let found = self.monitoring.tell(self.stream, invocation, readings, &sampled.samples)?;
        Ok((sampled, found))
    }

    /// Takes every sample that the workload has.
    fn sample_supply(
        &mut self,
        session: &mut dyn InvocationSession,
        invocation: Id,
        supply: u64,
    ) -> Result<Sampled, Broken> {
        let keep =
            valid_supply(&self.planned().description, supply).map_err(LaunchRefusal::Failed)?;
        let mut sampled =
            Sampled { counts: SampleCounts { discard: 0, keep }, ..Sampled::default() };
        for batch in vec![1; keep].chunks(MOST_OF_SUPPLY) {
            self.more(session, invocation, batch, 0, &mut sampled)?;
        }
        Ok(sampled)
    }

    fn planned(&self) -> &PlannedPoint {
        &self.plan.points[self.point]
    }

    /// Takes the samples of this invocation: the trials of a search, fresh processes, or stretches of its work, for which
    /// it calibrates where that is still to be done.
    fn sample(
        &mut self,
        session: &mut dyn InvocationSession,
        invocation: Id,
        ready: &Ready,
    ) -> Result<Sampled, Broken> {
        let planned = &self.plan.points[self.point];
        if let Some(Sampling::Stream { length_ns }) = planned.sampling {
            let left_ns =
                self.left_ns().map_or(length_ns, |left_ns| left_ns.max(STREAM_INTERVAL_NS));
            return self.sample_stream(session, invocation, length_ns.min(left_ns));
        }
        if let Some(goal) = planned.description.searched() {
            return self.search(session, invocation, goal);
        }
        if planned.description.sample_is == SampleIs::Process {
            return self.sample_processes(session, invocation);
        }
        let mut sampled = Sampled::default();
        if ready.fixed_iterations && self.known.iterations.is_none() {
            // The first pass counts, and shows how long one is: it is no calibration, which would be thrown away.
            self.more(session, invocation, &[1], 0, &mut sampled)?;
            self.known.iterations = Some(1);
            self.known.sample_ns = sampled.samples.elapsed_ns.first().map(|ns| (*ns).max(1));
        }
        let clock = ready.clock.as_ref();
        let Calibration { iterations, sample_ns } =
            calibrated(session, planned, self.known, clock, &mut |text| {
                self.stream.progress(self.point, text);
            })?;
        sampled.counts = sampling::counts(planned, self.known, sample_ns);
        let iterations = self.draws.iterations(sampled.counts, iterations, self.at.round);
        let missing = iterations.get(sampled.samples.len()..).unwrap_or_default();
        match (planned.sampling, ready.shared_start) {
            (Some(Sampling::Batch { length_ns }), Some(start)) => {
                let end_ns = start.at_ns.saturating_add(length_ns);
                self.more_until(end_ns, session, invocation, &iterations, sample_ns, &mut sampled)?;
            }
            // What a suite wants without pause is asked for at once, as far as the time goes.
            (Some(_), _) => {
                let fits = self.left_ns().map_or(u64::MAX, |left_ns| left_ns / sample_ns.max(1));
                let fits = usize::try_from(fits).unwrap_or(usize::MAX).max(1);
                let wanted = &missing[..missing.len().min(fits)];
                self.more(session, invocation, wanted, sample_ns, &mut sampled)?;
            }
            (None, _) => {
                self.more_while_time(session, invocation, missing, sample_ns, &mut sampled)?
            }
        }
        Ok(sampled)
    }

    /// What is left of the time of the run, in nanoseconds.
    fn left_ns(&self) -> Option<u64> {
        self.end_ns.map(|end_ns| end_ns.saturating_sub(self.stream.elapsed_ns()))
    }

    /// Takes samples with so many iterations, until the time of the run is over; one in any case. Those that take long are asked for
    /// one by one.
    fn more_while_time(
        &mut self,
        session: &mut dyn InvocationSession,
        invocation: Id,
        iterations: &[u64],
        sample_ns: u64,
        sampled: &mut Sampled,
    ) -> Result<(), Broken> {
        let at_once = usize::try_from(MESSAGE_NS / sample_ns.max(1)).unwrap_or(usize::MAX).max(1);
        for wanted in iterations.chunks(at_once) {
            if !sampled.samples.is_empty() && self.left_ns() == Some(0) {
                break;
            }
            match self.more(session, invocation, wanted, sample_ns, sampled) {
                // What was taken before counts.
                Err(Broken::Refused(LaunchRefusal::OutOfTime)) if !sampled.samples.is_empty() => {
                    break;
                }
                taken => taken?,
            }
        }
        Ok(())
    }

    /// Takes samples with so many iterations, again and again, until CLOCK_MONOTONIC shows `end_ns`: machines that measure together end
    /// together, too, though they slow each other down.
    fn more_until(
        &mut self,
        end_ns: u64,
        session: &mut dyn InvocationSession,
        invocation: Id,
        iterations: &[u64],
        sample_ns: u64,
        sampled: &mut Sampled,
    ) -> Result<(), Broken> {
        let length_ns = end_ns.saturating_sub(self.stream.monotonic_ns());
        let mut left_ns = length_ns;
        // A workload may check its answers after each part, so there are few. The first shows how long samples take next to others.
        let mut part_ns = length_ns / 10;
        let mut sample_ns = sample_ns.max(1);
        let mut all = iterations.iter().copied().cycle();
        while left_ns > length_ns / 20 || sampled.samples.is_empty() {
            let at_once = usize::try_from(part_ns / sample_ns).unwrap_or(usize::MAX).max(1);
            let wanted: Vec<u64> = all.by_ref().take(at_once).collect();
            if !sampled.samples.is_empty() && self.left_ns() == Some(0) {
                break;
            }
            self.more(session, invocation, &wanted, sample_ns, sampled)?;
            let took_ns: u64 = sampled.samples.elapsed_ns.iter().sum();
            sample_ns = (took_ns / sampled.samples.len() as u64).max(1);
            left_ns = end_ns.saturating_sub(self.stream.monotonic_ns());
            // If samples get slower, it does not end late.
            part_ns = left_ns / 4 * 3;
        }
        Ok(())
    }

    /// Takes samples with so many iterations at once; `sample_ns` is how long one should take, 0 if that is not known.
    fn more(
        &mut self,
        session: &mut dyn InvocationSession,
        invocation: Id,
        iterations: &[u64],
        sample_ns: u64,
        sampled: &mut Sampled,
    ) -> Result<(), Broken> {
        if iterations.is_empty() {
            return Ok(());
        }
        let expected_ns = sample_ns.saturating_mul(iterations.len() as u64);
        let reply = session.sample(iterations, expected_ns, &mut |text| {
            self.stream.progress(self.point, text);
        })?;
        let (samples, usage) = self.stream.acknowledge(invocation, reply)?;
        Ok(sampled.append(samples, usage)?)
    }

    /// One stretch without pause, a sample a second, each in the record before the next: what was taken counts, also
    /// when somebody ends it early.
    fn sample_stream(
        &mut self,
        session: &mut dyn InvocationSession,
        invocation: Id,
        length_ns: u64,
    ) -> Result<Sampled, Broken> {
        let mut sampled = Sampled::default();
        session.begin_stream(STREAM_INTERVAL_NS, length_ns)?;
        loop {
            match session.streamed(&mut |text| self.stream.progress(self.point, text)) {
                Ok(Some(reply)) => {
                    let (samples, usage) = self.stream.acknowledge(invocation, reply)?;
                    sampled.append(samples, usage)?;
                }
                Ok(None) => return Ok(sampled),
                Err(LaunchRefusal::Interrupted | LaunchRefusal::OutOfTime)
                    if !sampled.samples.is_empty() =>
                {
                    return Ok(sampled);
                }
                Err(refusal) => return Err(refusal.into()),
            }
        }
    }

    /// Searches for the highest load at which the goal holds. Each trial is told as it is done.
    fn search(
        &mut self,
        session: &mut dyn InvocationSession,
        invocation: Id,
        goal: &SearchGoal,
    ) -> Result<Sampled, Broken> {
        let mut sampled = Sampled::default();
        // Without a shift every search would try the same loads, and their grid would show in the result.
        let shift = self.draws.search_shift(self.at.round);
        let loads = goal.loads().shifted(&goal.goal(), shift);
        let mut search = LoadSearch::new(goal.goal(), loads)
            .map_err(|error| LaunchRefusal::Failed(format!("it can't be searched: {error}")))?;
        while let Some(NextTrial { load, duration_ns }) = search.next_trial() {
            let reply = session.trial(load, duration_ns, &mut |text| {
                self.stream.progress(self.point, text);
            })?;
            let reply = valid_trial(reply, load, duration_ns)?;
            let (samples, usage) = self.stream.acknowledge(invocation, reply)?;
            let done = trials(&samples.values, &samples.elapsed_ns).unwrap_or_default();
            let Some(trial) = done.first() else {
                return Err(LaunchRefusal::Failed("its trial contains no samples".into()).into());
            };
            search.take(*trial);
            sampled.append(samples, usage)?;
        }
        Ok(sampled)
    }

    /// Where a sample is a process: the first invocation takes one, to learn how long it is, and goes
    /// on from there.
    fn sample_processes(
        &mut self,
        session: &mut dyn InvocationSession,
        invocation: Id,
    ) -> Result<Sampled, Broken> {
        let mut sampled = Sampled::default();
        let known_ns = self.known.sample_ns;
        if known_ns.is_none() {
            self.more(session, invocation, &[1], 0, &mut sampled)?;
        }
        let sampled_ns = sampled.samples.elapsed_ns.first().copied();
        let length_ns = known_ns.or(sampled_ns).unwrap_or(1);
        sampled.counts = sampling::process_counts(self.plan, self.planned(), self.known, length_ns);
        let wanted = sampled.counts.discard + sampled.counts.keep;
        let missing = wanted.saturating_sub(sampled.samples.len());
        self.more_while_time(session, invocation, &vec![1; missing], length_ns, &mut sampled)?;
        Ok(sampled)
    }
}

/// A process that failed before it was ready still leaves its reason in the record.
pub fn failed_before_ready(
    stream: &mut EventStream<'_>,
    at: RunPosition,
    point: usize,
    known: &mut PointHistory,
    why: String,
) -> Result<(), EngineError> {
    let invocation = plumb_machine::fresh_id();
    let ready = Ready::default();
    let role = Role::Workload;
    stream.started(at, StartedProcess { invocation, point, role, position: 0, seed: 0, ready })?;
    fail(stream, known, invocation, Outcome::Failed(why))
}

fn fail(
    stream: &mut EventStream<'_>,
    known: &mut PointHistory,
    invocation: Id,
    outcome: Outcome,
) -> Result<(), EngineError> {
    known.add_failure();
    stream.ended(invocation, end_of(outcome, 0, ""))
}

fn last_bytes(text: &str) -> String {
    let mut start = text.len().saturating_sub(LOG_BYTES);
    // A slice that begins inside a UTF-8 character would panic.
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}
