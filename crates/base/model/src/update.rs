//! RunUpdate of a run: what was stored of it since it was last looked at, without its samples.

use crate::counter::{CounterAmount, Interference};
use crate::decision::Decision;
use crate::flag::Flag;
use crate::record::{Missing, RunStatus};

/// The data of a run stored since the last look. Times are since the run began, in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct RunUpdate {
    /// Whether it is complete, running or interrupted.
    pub status: RunStatus,
    /// The point of the latest measured invocation, while that goes on.
    pub current: Option<usize>,
    /// When the latest of these facts was stored; 0 when there are none.
    pub at_ns: u64,
    /// The decisions of the strategy, in order.
    pub decisions: Vec<(u64, Decision)>,
    /// Measured invocations that ended.
    pub ended: Vec<EndedInvocation>,
    /// Points of which an invocation was excluded, once for each.
    pub excluded: Vec<usize>,
    /// Points that can't be measured here.
    pub unsupported: Vec<Missing>,
    /// Lines of the log.
    pub log: Vec<(u64, String)>,
}

/// A measured invocation that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedInvocation {
    /// When it began.
    pub began_ns: u64,
    /// When it ended.
    pub at_ns: u64,
    /// Index of its point in the plan.
    pub point: usize,
    /// Reasons to distrust it.
    pub flags: Vec<Flag>,
    /// Other work that ran at the same time.
    pub interference: Vec<Interference>,
    /// The counters at the same time.
    pub amounts: Vec<CounterAmount>,
}
