//! Settings of a run before it begins, and its text at the end.

use plumb_model::{Id, Owner, Target};

use crate::clock::Clock;
use crate::monitor_reader::MonitorReader;
use plumb_launch::SlotReport;

/// Who carries the run out, and where.
#[derive(Debug, Clone)]
pub struct Identity {
    /// Id of the run in the store.
    pub run: Id,
    /// Version of plumb.
    pub plumb: String,
    /// The command line.
    pub command: Vec<String>,
    /// The process of plumb that measures: whether the run still goes on is read from it.
    pub owner: Owner,
    /// The machine, as it is prepared.
    pub target: Target,
    /// The preparations of the whole run.
    pub prepared: SlotReport,
}

/// What a run goes by, besides its launcher.
pub struct RunContext<'r> {
    /// Tells the time.
    pub clock: &'r dyn Clock,
    /// Reads next to invocations.
    pub monitors: &'r mut dyn MonitorReader,
    /// Whether somebody wants the run to stop; asked between messages.
    pub interrupted: &'r dyn Fn() -> bool,
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
    /// A fixture or preparation that could not be cleaned up.
    pub unclean: Option<String>,
}
