//! One invocation: a fresh process is started, set up, sampled and ended.

use plumb_model::{
    ClockSource, Event, Id, InvocationEnd, InvocationRecord, Outcome, Ready, Role, SampleIs,
    Samples, Slot, Usage,
};
use plumb_protocol::SampleReply;

use crate::launch::{Launcher, Order, Refusal, Session};
use crate::run::{EngineError, Runner};
use crate::sampling::{self, METHOD, Take};

/// Longest log of a worker that is kept, in bytes.
const LOG_BYTES: usize = 2000;

/// An invocation's end without samples of its own.
pub(crate) fn end_of(outcome: Outcome, steady_start: usize, warmup: &str) -> InvocationEnd {
    InvocationEnd {
        outcome,
        steady_start,
        warmup: warmup.to_owned(),
        method: METHOD,
        peak_memory_bytes: 0,
        log: String::new(),
    }
}

/// What came out of an invocation that went well.
struct Sampled {
    samples: Samples,
    usage: Vec<Usage>,
    take: Take,
}

impl Sampled {
    fn append(&mut self, samples: Samples, usage: Usage) -> Result<(), Refusal> {
        self.usage.push(usage);
        self.samples.append(samples).map_err(|error| Refusal::Failed(error.to_string()))
    }
}

impl Runner<'_> {
    /// Carries out one invocation of a point; whatever happens to it is in the events.
    pub(crate) fn invoke(
        &mut self,
        launcher: &mut dyn Launcher,
        point: usize,
        position: u32,
    ) -> Result<(), EngineError> {
        let planned = &self.plan.points[point];
        let began_ns = self.since_start_ns();
        let seed = self.next_seed(point);
        self.apply(launcher, Slot::Invocation, Some(point))?;
        match launcher.start(Order { planned, role: Role::Workload, seed }) {
            Ok((session, ready)) => {
                let invocation = plumb_machine::fresh_id();
                self.started(invocation, point, Role::Workload, position, seed, ready.clone())?;
                self.measure(session, point, invocation, ready, began_ns)?;
            }
            Err(Refusal::Failed(why)) => self.failed_invocation(point, why)?,
            Err(refusal) => self.refuse(point, refusal)?,
        }
        self.undo(launcher, Slot::Invocation)?;
        self.history.points[point].spent_ns += self.since_start_ns() - began_ns;
        Ok(())
    }

    /// A process that failed before it was ready still leaves its reason in the record.
    pub(crate) fn failed_invocation(
        &mut self,
        point: usize,
        why: String,
    ) -> Result<(), EngineError> {
        let invocation = plumb_machine::fresh_id();
        self.started(invocation, point, Role::Workload, 0, 0, Ready::default())?;
        self.fail(point, invocation, why)
    }

    fn fail(&mut self, point: usize, invocation: Id, why: String) -> Result<(), EngineError> {
        self.history.points[point].failures += 1;
        self.history.points[point].failures_in_a_row += 1;
        let end = Box::new(end_of(Outcome::Failed(why), 0, ""));
        self.emit(Event::InvocationEnded { invocation, end })
    }

    fn measure(
        &mut self,
        mut session: Box<dyn Session + '_>,
        point: usize,
        invocation: Id,
        ready: Ready,
        began_ns: u64,
    ) -> Result<(), EngineError> {
        let planned = &self.plan.points[point];
        self.watch.begin(point, session.pid());
        let sampled = self.sample(session.as_mut(), point, invocation, ready.clock.as_ref());
        let readings = self.watch.end();
        let sampled = match sampled? {
            Ok(sampled) => sampled,
            Err(refusal) => return self.failed_while_sampling(point, invocation, refusal),
        };
        let interference = self.monitored(invocation, readings, &sampled.samples)?;
        let stopped = match session.stop() {
            Ok(stopped) => stopped,
            Err(refusal) => return self.failed_while_sampling(point, invocation, refusal),
        };
        let known = &self.history.points[point];
        let (start, warmup) =
            sampling::steady_start(planned, known, sampled.take, &sampled.samples);
        let end = InvocationEnd {
            peak_memory_bytes: stopped.peak_memory_bytes,
            log: last_bytes(&stopped.log),
            ..end_of(Outcome::Done, start, warmup)
        };
        let sampling_ns: u64 = sampled.samples.elapsed_ns.iter().sum();
        let record = InvocationRecord {
            invocation,
            point,
            role: Role::Workload,
            round: self.round,
            position: 0,
            segment: self.segment,
            target: 0,
            environment: 0,
            seed: 0,
            ready,
            samples: sampled.samples,
            usage: sampled.usage,
            flags: Vec::new(),
            interference,
            excluded_by: None,
            end: Some(end.clone()),
        };
        let lasted_ns = self.since_start_ns() - began_ns;
        let known = &mut self.history.points[point];
        known.setup_ns = lasted_ns.saturating_sub(sampling_ns);
        self.unsettled.push(record);
        self.emit(Event::InvocationEnded { invocation, end: Box::new(end) })
    }

    fn failed_while_sampling(
        &mut self,
        point: usize,
        invocation: Id,
        refusal: Refusal,
    ) -> Result<(), EngineError> {
        match refusal {
            Refusal::Failed(why) | Refusal::Unsupported { why, .. } => {
                self.fail(point, invocation, why)
            }
            // Its samples stay in the record, without an end.
            Refusal::Interrupted => Ok(()),
            Refusal::Fatal(why) => Err(EngineError::Fatal(why)),
        }
    }

    /// Calibrates where that is still to be done, then takes the samples of this invocation. The
    /// outer error ends the run, the inner one only the invocation.
    fn sample(
        &mut self,
        session: &mut dyn Session,
        point: usize,
        invocation: Id,
        clock: Option<&ClockSource>,
    ) -> Result<Result<Sampled, Refusal>, EngineError> {
        let planned = &self.plan.points[point];
        if planned.description.sample_is == SampleIs::Process {
            return self.sample_processes(session, point, invocation);
        }
        let (k, sample_ns) = match self.calibrated(session, point, clock) {
            Ok(calibrated) => calibrated,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let take = sampling::take(&self.history.points[point], sample_ns);
        let iterations = self.draw_iterations(take, k);
        let expected_ns = sample_ns.saturating_mul(iterations.len() as u64);
        match session.sample(&iterations, expected_ns) {
            Ok(reply) => {
                let (samples, usage) = self.acknowledge(invocation, reply)?;
                Ok(Ok(Sampled { samples, usage: vec![usage], take }))
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    pub(crate) fn calibrated(
        &mut self,
        session: &mut dyn Session,
        point: usize,
        clock: Option<&ClockSource>,
    ) -> Result<(u64, u64), Refusal> {
        let known = &self.history.points[point];
        if let (Some(k), Some(sample_ns)) = (known.iterations, known.sample_ns) {
            return Ok((k, sample_ns));
        }
        let target_ns = sampling::target_ns(&self.plan.points[point], clock);
        let (iterations, elapsed_ns) = session.calibrate(target_ns)?;
        let known = &mut self.history.points[point];
        known.iterations = Some(iterations);
        // A workload may need longer samples than were asked for.
        let sample_ns = elapsed_ns.max(if iterations == 1 { 1 } else { target_ns });
        known.sample_ns = Some(sample_ns);
        Ok((iterations, sample_ns))
    }

    /// Where a sample is a process: the first invocation takes one, to learn how long it is, and goes
    /// on from there.
    fn sample_processes(
        &mut self,
        session: &mut dyn Session,
        point: usize,
        invocation: Id,
    ) -> Result<Result<Sampled, Refusal>, EngineError> {
        let nothing = Take { discard: 0, keep: 0 };
        let mut sampled = Sampled { samples: Samples::default(), usage: Vec::new(), take: nothing };
        let known_ns = self.history.points[point].sample_ns;
        if known_ns.is_none()
            && let Err(refusal) = self.more_processes(session, invocation, 1, 0, &mut sampled)?
        {
            return Ok(Err(refusal));
        }
        let length_ns = known_ns.or_else(|| sampled.samples.elapsed_ns.first().copied());
        let length_ns = length_ns.unwrap_or(1);
        let take = sampling::take_processes(self.plan, &self.history.points[point], length_ns);
        let missing = (take.discard + take.keep).saturating_sub(sampled.samples.len());
        let taken = self.more_processes(session, invocation, missing, length_ns, &mut sampled)?;
        Ok(taken.map(|()| Sampled { take, ..sampled }))
    }

    fn more_processes(
        &mut self,
        session: &mut dyn Session,
        invocation: Id,
        count: usize,
        length_ns: u64,
        sampled: &mut Sampled,
    ) -> Result<Result<(), Refusal>, EngineError> {
        if count == 0 {
            return Ok(Ok(()));
        }
        match session.sample(&vec![1; count], length_ns.saturating_mul(count as u64)) {
            Ok(reply) => {
                let (samples, usage) = self.acknowledge(invocation, reply)?;
                Ok(sampled.append(samples, usage))
            }
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Hands a batch to the listeners; when they return, it is stored.
    fn acknowledge(
        &mut self,
        invocation: Id,
        reply: SampleReply,
    ) -> Result<(Samples, Usage), EngineError> {
        let SampleReply { samples, usage, flags } = reply;
        let copy = (samples.clone(), usage.clone());
        self.emit(Event::Batch { invocation, samples: Box::new(samples), usage, flags })?;
        Ok(copy)
    }
}

fn last_bytes(text: &str) -> String {
    let mut start = text.len().saturating_sub(LOG_BYTES);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text[start..].to_owned()
}
