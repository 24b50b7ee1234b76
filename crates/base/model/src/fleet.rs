//! Fleets: one command on several machines.

use serde::{Deserialize, Serialize};

use crate::id::Id;

/// The label that the runs of a fleet have in common: the beginning of its id.
pub const FLEET_LABEL: &str = "fleet";

/// What became of a machine that was asked to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineOutcome {
    /// Its run is complete.
    Complete,
    /// Somebody stopped its run.
    Interrupted,
    /// No connection could be made.
    Unreachable,
    /// plumb cannot run there.
    Unsupported,
    /// It refused the command, such as a suite with an unknown workload.
    Refused,
    /// The connection was lost, or the agent ended early.
    Failed,
}

impl MachineOutcome {
    /// The word for documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Interrupted => "interrupted",
            Self::Unreachable => "unreachable",
            Self::Unsupported => "unsupported",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

/// What became of a machine, and why it has no result or not a whole one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineEnd {
    /// What became of it.
    pub outcome: MachineOutcome,
    /// The reason, if it is not complete.
    pub why: Option<String>,
    /// What to try.
    pub hints: Vec<String>,
}

/// A machine of a fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetMachineRecord {
    /// The name by which the user asked for it.
    pub name: String,
    /// The run that it was to make. It is in the store once it has begun.
    pub run: Id,
    /// What became of it; None while it measures, or if the near end was killed.
    pub end: Option<MachineEnd>,
}

/// One command on several machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetRecord {
    /// Identity of the fleet.
    pub fleet: Id,
    /// Wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// The command line, without secrets.
    pub command: Vec<String>,
    /// Whether the near end still works on it.
    pub is_running: bool,
    /// The machines, in the order in which they were named.
    pub machines: Vec<FleetMachineRecord>,
}
