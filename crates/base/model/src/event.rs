//! Events: the only thing that comes out of the engine. Store, progress and live page listen.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::counter::{Interference, Readings};
use crate::decision::Decision;
use crate::flag::Flag;
use crate::id::Id;
use crate::machine::{Owner, Target};
use crate::plan::Plan;
use crate::preparation::Prepared;
use crate::record::Missing;
use crate::sample::{InvocationEnd, Ready, Samples, Usage};
use crate::start_up::StartUp;
use crate::workload::Role;

/// An event with its offset from the start of the segment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stamped {
    /// CLOCK_MONOTONIC since the start of the segment, in nanoseconds.
    pub at_ns: u64,
    /// What happened at that time.
    pub event: Event,
}

/// What happens while a plan is carried out, in this order: `RunStarted` (not when resumed),
/// `SegmentStarted`, `TargetReady`, then anything, then `RunEnded`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A run begins.
    RunStarted {
        /// Identity of the run.
        run: Id,
        /// Wall-clock time, in nanoseconds since 1970 (UTC).
        started_unix_ns: i64,
        /// Version of plumb.
        plumb: String,
        /// The command line.
        command: Vec<String>,
        /// The plan of the run.
        plan: Box<Plan>,
    },
    /// A stretch without interruption begins: the run's first, or the one after `--resume`.
    SegmentStarted {
        /// Identity of the run.
        run: Id,
        /// 0 for the first.
        segment: u32,
        /// Wall-clock time, in nanoseconds since 1970 (UTC).
        started_unix_ns: i64,
        /// CLOCK_MONOTONIC at the same moment, in nanoseconds.
        monotonic_ns: u64,
        /// Who carries it out.
        owner: Owner,
    },
    /// The machine was read: at the start of every segment, because the environment may have changed.
    TargetReady {
        /// Index of the target in this run.
        target: u32,
        /// What it is.
        description: Box<Target>,
    },
    /// A point can't be measured here.
    Unsupported(Missing),
    /// A preparation was made.
    Prepared(Prepared),
    /// What this preparation had changed is as it was.
    Restored {
        /// Its name in the latest [`Event::Prepared`] of it.
        setting: String,
    },
    /// A fixture stands.
    FixtureReady {
        /// Id of the workload that needs the fixture.
        workload: String,
        /// The parameters that it depends on, with their values.
        key: String,
        /// Bytes that it put on disk.
        bytes_on_disk: u64,
        /// Remarks of the fixture for the reader.
        notes: Vec<String>,
        /// What the start of a command loads, if the fixture found that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        start_up: Option<Box<StartUp>>,
    },
    /// Every point that still needs data gets one invocation, in seeded random order.
    RoundStarted {
        /// 0 for the first.
        round: u32,
        /// Points that take part.
        points: Vec<usize>,
    },
    /// A fresh process was started and is ready.
    InvocationStarted {
        /// Identity of the invocation.
        invocation: Id,
        /// Index of its point in the plan; of its companion when the role is not `workload`.
        point: usize,
        /// As what it was started.
        role: Role,
        /// Round in which it was started, from 0.
        round: u32,
        /// Its position in the round.
        position: u32,
        /// Index of the segment.
        segment: u32,
        /// Index of the target.
        target: u32,
        /// Seed of its random choices.
        seed: u64,
        /// Its reply before the first sample.
        ready: Box<Ready>,
    },
    /// A batch of samples is taken; once a listener that stores has returned, it is acknowledged.
    Batch {
        /// The invocation that took the samples.
        invocation: Id,
        /// The samples of this batch.
        samples: Box<Samples>,
        /// Resource use over the batch.
        usage: Usage,
        /// Reasons to distrust it.
        flags: Vec<Flag>,
    },
    /// What was read during an invocation, once its samples are taken and before its end.
    Monitored {
        /// The invocation that was watched.
        invocation: Id,
        /// The readings of the monitors.
        readings: Box<Readings>,
        /// What the readings say about other things that ran.
        interference: Vec<Interference>,
    },
    /// An invocation that ended does not count: something else disturbed it, and it is replaced, or it came right after
    /// a pause and is not like the others.
    Excluded {
        /// The invocation that does not count.
        invocation: Id,
        /// The rules that say so.
        by: String,
    },
    /// A process ended.
    InvocationEnded {
        /// The invocation that ended.
        invocation: Id,
        /// How it ended: outcome, steady part, log.
        end: Box<InvocationEnd>,
    },
    /// What the program of a point says that it is doing, while plumb waits for its answer. It is for people who watch:
    /// the store does not keep it. Its text is cleaned, short, and comes a few times a second at most.
    Progress {
        /// Index of the point in the plan.
        point: usize,
        /// What it is doing, such as `phase 4 of 12: rewrite`.
        text: String,
    },
    /// A strategy looked at the data of a point and decided.
    Decided(Box<Decision>),
    /// A line for the log that people read afterwards.
    Log {
        /// What happened, in words.
        text: String,
    },
    /// The run is over.
    RunEnded {
        /// Wall-clock time, in nanoseconds since 1970 (UTC).
        ended_unix_ns: i64,
        /// Whether somebody stopped it before it was done.
        interrupted: bool,
    },
}

/// A listener that could not do its work; the run ends, nothing acknowledged is lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SinkError(pub String);

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SinkError {}

/// A listener. The engine calls it between timed batches, never inside one.
pub trait EventSink {
    /// Takes one event. When this returns, a batch in it counts as acknowledged.
    ///
    /// # Errors
    /// When the listener cannot go on (store full or locked); the engine then ends the run.
    fn take(&mut self, event: &Stamped) -> Result<(), SinkError>;
}
