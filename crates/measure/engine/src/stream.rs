//! The events of a run on their way to who listens: every one is stamped here.

use plumb_model::{Event, EventSink, Id, InvocationEnd, Ready, Role, Samples, Stamped, Usage};
use plumb_protocol::SampleReply;

use crate::clock::Clock;
use crate::error::EngineError;

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunPosition {
    /// Its stretch without interruption.
    pub segment: u32,
    /// The round, from 0, of this run or of the one that it resumes.
    pub round: u32,
}

/// A process that was started.
#[derive(Debug, Clone)]
pub struct StartedProcess {
    /// Id of the invocation.
    pub invocation: Id,
    /// Index of its point, or of its companion, in the plan.
    pub point: usize,
    /// Whether it is the workload, its server or a load next to it.
    pub role: Role,
    /// Its place in the round.
    pub position: u32,
    /// Seed of its random numbers.
    pub seed: u64,
    /// Its reply before the first sample.
    pub ready: Ready,
}

/// The events of a run.
pub struct EventStream<'r> {
    sink: &'r mut dyn EventSink,
    clock: &'r dyn Clock,
    origin_ns: u64,
}

impl<'r> EventStream<'r> {
    /// From now on.
    pub fn begin(sink: &'r mut dyn EventSink, clock: &'r dyn Clock) -> Self {
        Self { sink, clock, origin_ns: clock.now().monotonic_ns }
    }

    /// Tells every listener.
    pub fn emit(&mut self, event: Event) -> Result<(), EngineError> {
        self.hand_out(event).map(|_| ())
    }

    /// Writes a line into the run's log.
    pub fn log(&mut self, text: impl Into<String>) -> Result<(), EngineError> {
        self.emit(Event::Log { text: text.into() })
    }

    /// Tells what the program of a point says that it is doing.
    pub fn progress(&mut self, point: usize, text: &str) {
        // A listener that fails here fails again at the next event, which is one of the record: there the run ends.
        let _ = self.emit(Event::Progress { point, text: text.to_owned() });
    }

    /// Tells that a process was started.
    pub fn started(&mut self, at: RunPosition, started: StartedProcess) -> Result<(), EngineError> {
        let StartedProcess { invocation, point, role, position, seed, ready } = started;
        self.emit(Event::InvocationStarted {
            invocation,
            point,
            role,
            round: at.round,
            position,
            segment: at.segment,
            target: 0,
            seed,
            ready: Box::new(ready),
        })
    }

    /// Tells that a process has ended.
    pub fn ended(&mut self, invocation: Id, end: InvocationEnd) -> Result<(), EngineError> {
        self.emit(Event::InvocationEnded { invocation, end: Box::new(end) })
    }

    /// Hands a batch to the listeners; when they return, it is acknowledged: stored. The samples come
    /// back as they went, not copied.
    pub fn acknowledge(
        &mut self,
        invocation: Id,
        reply: SampleReply,
    ) -> Result<(Samples, Usage), EngineError> {
        let SampleReply { samples, usage, flags } = reply;
        let batch = Event::Batch { invocation, samples: Box::new(samples), usage, flags };
        match self.hand_out(batch)? {
            Event::Batch { samples, usage, .. } => Ok((*samples, usage)),
            _ => Err(EngineError::Fatal("the reply to a batch was not a batch".into())),
        }
    }

    /// Time since the beginning.
    pub fn elapsed_ns(&self) -> u64 {
        self.clock.now().monotonic_ns.saturating_sub(self.origin_ns)
    }

    /// CLOCK_MONOTONIC now, in nanoseconds.
    pub fn monotonic_ns(&self) -> u64 {
        self.clock.now().monotonic_ns
    }

    /// Lets so many nanoseconds pass.
    pub fn sleep(&self, ns: u64) {
        self.clock.sleep(ns);
    }

    /// When it began, on the monotonic clock.
    pub fn origin_ns(&self) -> u64 {
        self.origin_ns
    }

    /// Now, on the wall clock.
    pub fn unix_ns(&self) -> i64 {
        self.clock.now().unix_ns
    }

    fn hand_out(&mut self, event: Event) -> Result<Event, EngineError> {
        let stamped = Stamped { at_ns: self.elapsed_ns(), event };
        self.sink.take(&stamped)?;
        Ok(stamped.event)
    }
}
