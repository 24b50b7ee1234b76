//! Records: what a run leaves behind, read back from a store or gathered while it goes on.

use serde::{Deserialize, Serialize};

use crate::counter::Interference;
use crate::decision::Decision;
use crate::flag::Flag;
use crate::id::Id;
use crate::machine::{Environment, Owner, Target};
use crate::measurement::Measurement;
use crate::plan::{AFTER_PAUSE, Plan, PlannedPoint};
use crate::preparation::PreparationRecord;
use crate::sample::{InvocationEnd, Outcome, Ready, Samples, Usage};
use crate::start_up::StartUp;
use crate::workload::{Metric, Role};

/// Where records come from.
pub trait RecordSource {
    /// The error of a read.
    type Error: std::error::Error;

    /// Everything that is stored of a run.
    ///
    /// # Errors
    /// When the run is unknown or cannot be read.
    fn record(&self, run: Id) -> Result<RunRecord, Self::Error>;

    /// All runs, oldest first.
    ///
    /// # Errors
    /// When they cannot be read.
    fn runs(&self) -> Result<Vec<Id>, Self::Error>;
}

/// Everything that is known of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Identity of the run.
    pub run: Id,
    /// Wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Wall-clock end, when it has one.
    pub ended_unix_ns: Option<i64>,
    /// Whether it is complete, running or interrupted.
    pub status: RunStatus,
    /// Version of plumb.
    pub plumb: String,
    /// The command line.
    pub command: Vec<String>,
    /// The plan of the run.
    pub plan: Plan,
    /// Its stretches without interruption.
    pub segments: Vec<Segment>,
    /// Where it was measured.
    pub targets: Vec<Target>,
    /// The environments that invocations had, in the order in which they came.
    pub environments: Vec<Environment>,
    /// Everything that was started.
    pub invocations: Vec<InvocationRecord>,
    /// The decisions of the strategy, in order.
    pub decisions: Vec<Decision>,
    /// Points that could not be measured.
    pub unsupported: Vec<Missing>,
    /// The fixtures that stood.
    pub fixtures: Vec<FixtureRecord>,
    /// The preparations, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub preparations: Vec<PreparationRecord>,
    /// Lines of the log.
    pub log: Vec<String>,
}

impl RunRecord {
    /// The measured invocations of a point that count, in order. Of a comparison whose pairs were all disturbed, all: what
    /// disturbs every pair may be work of one side, and then its comparison rests on them.
    pub fn good_invocations(&self, point: usize) -> impl Iterator<Item = &InvocationRecord> {
        let all_are_disturbed = self.plan.comparison().is_some()
            && !self.invocations.iter().any(|invocation| invocation.counts_for(point));
        self.invocations.iter().filter(move |invocation| {
            let is_disturbed = invocation.is_disturbed() && invocation.is_workload_done();
            invocation.counts_for(point)
                || (all_are_disturbed && invocation.point == point && is_disturbed)
        })
    }

    /// The measured invocations that ended well, in their order; each with whether the one before it was of the same point.
    pub fn turns(&self) -> impl Iterator<Item = (&InvocationRecord, bool)> {
        let done = self.invocations.iter().filter(|invocation| invocation.is_workload_done());
        let mut last_point = None;
        done.map(move |invocation| {
            let follows_itself = last_point.replace(invocation.point) == Some(invocation.point);
            (invocation, follows_itself)
        })
    }

    /// How many invocations of a point are excluded because something else disturbed them.
    #[must_use]
    pub fn excluded(&self, point: usize) -> usize {
        self.invocations
            .iter()
            .filter(|invocation| invocation.point == point && invocation.is_disturbed())
            .count()
    }
}

/// Whether a run is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It has an end.
    Complete,
    /// Its owner lives.
    Running,
    /// It has no end and its owner is gone, or somebody stopped it.
    Interrupted,
}

impl RunStatus {
    /// The word that is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Running => "running",
            Self::Interrupted => "interrupted",
        }
    }
}

/// A stretch of a run without interruption.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// 0 for the first.
    pub segment: u32,
    /// Wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// CLOCK_MONOTONIC at the same moment, in nanoseconds.
    pub monotonic_ns: u64,
    /// Who carried it out.
    pub owner: Owner,
}

/// One fresh process and what it measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InvocationRecord {
    /// Identity of the invocation.
    pub invocation: Id,
    /// Index of its point in the plan; of its companion when the role is not `workload`.
    pub point: usize,
    /// As what it was started.
    pub role: Role,
    /// Round in which it was started, from 0.
    pub round: u32,
    /// Its position in the round.
    pub position: u32,
    /// Number of its segment, from 0.
    pub segment: u32,
    /// Index of its target in the run.
    pub target: u32,
    /// Index of its environment in the record's.
    pub environment: usize,
    /// Seed of its random choices.
    pub seed: u64,
    /// Its reply before the first sample.
    pub ready: Ready,
    /// Its samples, all batches joined.
    pub samples: Samples,
    /// Resource use of each batch.
    pub usage: Vec<Usage>,
    /// Reasons to distrust it.
    pub flags: Vec<Flag>,
    /// Other work that ran at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interference: Vec<Interference>,
    /// The rules by which it does not count; None when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded_by: Option<String>,
    /// How it ended; None when the run was cut off before.
    pub end: Option<InvocationEnd>,
}

impl InvocationRecord {
    /// Whether it does not count because something else disturbed it.
    #[must_use]
    pub fn is_disturbed(&self) -> bool {
        self.excluded_by.as_deref().is_some_and(|by| by != AFTER_PAUSE)
    }

    /// Whether it is a measured invocation that ended well, excluded or not.
    #[must_use]
    pub fn is_workload_done(&self) -> bool {
        self.role == Role::Workload
            && self.end.as_ref().is_some_and(|end| end.outcome == Outcome::Done)
    }

    /// Whether it is a measured invocation of this point that ended well and was not excluded.
    #[must_use]
    pub fn counts_for(&self, point: usize) -> bool {
        self.is_workload_done() && self.point == point && self.excluded_by.is_none()
    }

    /// The measurement of this invocation.
    #[must_use]
    pub fn measurement(&self) -> Measurement<'_> {
        Measurement {
            samples: &self.samples,
            usage: &self.usage,
            work: &self.ready.work,
            steady_start: self.steady_start(),
            peak_memory_bytes: self.end.as_ref().map(|end| end.peak_memory_bytes),
        }
    }

    /// The steady values of a metric; None when the samples do not carry it.
    #[must_use]
    pub fn steady(&self, metric: &Metric) -> Option<Vec<f64>> {
        self.measurement().steady(metric)
    }

    /// What the steady samples cost by a metric, or by the CPU time or the peak memory of the whole
    /// invocation: see [`Measurement::costs`].
    #[must_use]
    pub fn costs(&self, planned: &PlannedPoint, metric: &str) -> Option<Vec<f64>> {
        self.measurement().costs(planned, metric)
    }

    /// The steady values of a metric as a comparison names it: see [`Measurement::values`].
    #[must_use]
    pub fn values(&self, planned: &PlannedPoint, metric: &str) -> Option<Vec<f64>> {
        self.measurement().values(planned, metric)
    }

    /// Index of the first steady sample.
    #[must_use]
    pub fn steady_start(&self) -> usize {
        self.end.as_ref().map_or(0, |end| end.steady_start.min(self.samples.len()))
    }
}

/// A point that could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missing {
    /// Index of the point in the plan.
    pub point: usize,
    /// The missing thing.
    pub why: String,
    /// The fix of the problem.
    pub fix: String,
}

impl Missing {
    /// How the reason begins if a command does not exist; what finds that says so with these words.
    pub const COMMAND_NOT_FOUND: &'static str = "command not found";

    /// The kind of the missing thing.
    #[must_use]
    pub fn kind(&self) -> MissingKind {
        if self.why.starts_with(Self::COMMAND_NOT_FOUND) {
            MissingKind::Command
        } else {
            MissingKind::OfMachine
        }
    }
}

/// The kind of thing that a point lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingKind {
    /// The command that somebody typed.
    Command,
    /// Something that this machine lacks.
    OfMachine,
}

/// A fixture that stood during a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FixtureRecord {
    /// Id of the workload that needs the fixture.
    pub workload: String,
    /// The parameters that it depends on, with their values.
    pub key: String,
    /// Bytes that it put on disk.
    pub bytes_on_disk: u64,
    /// Remarks of the fixture for the reader.
    pub notes: Vec<String>,
    /// What the start of a command loads, if the fixture found that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_up: Option<StartUp>,
}
