//! Settings of a run before it begins, and its text at the end.

use plumb_model::{Id, Owner, SharedStart, Target};

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
    /// Where each invocation waits for those of other machines; None if this machine measures alone.
    pub gate: Option<&'r dyn SharedGate>,
}

/// Holds an invocation until the machines that measure together are ready.
pub trait SharedGate {
    /// Waits, and returns when the samples begin; None if somebody wants the run to stop. The process of the invocation is ready, and
    /// has its number of iterations. `turn` is that of its point in the round.
    fn wait(&self, round: u32, turn: u32) -> Option<SharedStart>;
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
