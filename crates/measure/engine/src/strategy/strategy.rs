//! The trait of a strategy, and the decisions that all strategies share.

use plumb_model::{Decision, StopReason};

use crate::history::History;

/// Decides, and says why. Sweeps and searches will be further ones.
pub trait Strategy {
    /// The next round, from all that is known. It sets `stopped` of the points that are done; the
    /// run is over when no invocation is wanted.
    fn next(&mut self, history: &mut History) -> Round;
}

/// The next invocations of a strategy, and its decisions on the way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Round {
    /// Points to invoke once each.
    pub points: Vec<usize>,
    /// Whether the order is the strategy's own; else the engine shuffles.
    pub ordered: bool,
    /// Its looks and decisions.
    pub decisions: Vec<Decision>,
}

/// After so many failures without a success between them a point is given up.
pub const FAILURES_TO_GIVE_UP: usize = 3;

/// The reason to stop that holds under every strategy; `is_too_disturbed` judges the excluded and the counted.
pub(super) fn common_stop(
    history: &History,
    point: usize,
    budget_ns: Option<u64>,
    is_too_disturbed: fn(usize, usize) -> bool,
) -> Option<StopReason> {
    let known = &history.points[point];
    // A point that always fails, or is always disturbed, must not be reported as one that lacked time.
    if known.failures_in_a_row >= FAILURES_TO_GIVE_UP {
        Some(StopReason::Failed)
    } else if is_too_disturbed(known.excluded, known.invocations) {
        Some(StopReason::Interference)
    } else if known.supply_is_taken() {
        Some(StopReason::Supply)
    } else if budget_ns.is_some_and(|budget| history.elapsed_ns >= budget) {
        Some(StopReason::Budget)
    } else {
        None
    }
}

/// A decision without a look.
pub(super) fn decision(history: &History, point: usize, stop: Option<StopReason>) -> Decision {
    let known = &history.points[point];
    Decision {
        point,
        invocations: known.invocations,
        samples: known.samples(),
        look: None,
        stop,
        wanted: None,
        remaining_ns: None,
        compared: None,
        outlook: None,
    }
}

/// Marks the point as done and keeps the decision.
pub(super) fn close(history: &mut History, round: &mut Round, decision: Decision) {
    history.points[decision.point].stopped = decision.stop;
    round.decisions.push(decision);
}
