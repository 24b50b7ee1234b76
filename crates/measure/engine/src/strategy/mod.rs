//! What decides the next invocations from what is known.

mod fixed;
mod precision;
mod soak;
mod verdict;

use plumb_model::{Decision, Goal, Plan, too_disturbed};

use crate::History;

pub use fixed::Fixed;
pub use precision::Precision;
pub use soak::Soak;
pub use verdict::Verdict;

/// Decides, and says why. Sweeps and searches will be further ones.
pub trait Strategy {
    /// The next round, from all that is known. It sets `stopped` of the points that are done; the
    /// run is over when no invocation is wanted.
    fn next(&mut self, history: &mut History) -> Round;
}

/// What a strategy wants next, and what it decided on the way.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Round {
    /// Points to invoke once each.
    pub points: Vec<usize>,
    /// Whether the order is the strategy's own; else the engine shuffles.
    pub ordered: bool,
    /// What it saw and decided.
    pub decisions: Vec<Decision>,
}

/// The strategy for the goal of a plan.
#[must_use]
pub fn for_plan(plan: &Plan) -> Box<dyn Strategy> {
    match plan.goal {
        Goal::Precision { relative } => Box::new(Precision::new(plan, relative)),
        Goal::Fixed { min_invocations, min_time_ns, max_time_ns } => {
            Box::new(Fixed { min_invocations, min_time_ns, max_time_ns, budget_ns: plan.budget_ns })
        }
        Goal::Soak => Box::new(Soak::new(plan.points.len(), plan.budget_ns.unwrap_or(u64::MAX))),
        Goal::Verdict { margin, quad, max_pairs, .. } => {
            Box::new(Verdict::new(plan, margin, quad, max_pairs))
        }
    }
}

/// After so many failures without a success between them a point is given up.
pub const FAILURES_TO_GIVE_UP: usize = 3;

/// The reason to stop that holds under every strategy.
fn common_stop(history: &History, point: usize, budget_ns: Option<u64>) -> Option<&'static str> {
    let known = &history.points[point];
    if known.failures_in_a_row >= FAILURES_TO_GIVE_UP {
        Some("failed")
    } else if too_disturbed(known.excluded, known.invocations) {
        Some("interference")
    } else if budget_ns.is_some_and(|budget| history.elapsed_ns >= budget) {
        Some("budget")
    } else {
        None
    }
}

fn decision(history: &History, point: usize, stop: Option<&str>) -> Decision {
    let known = &history.points[point];
    Decision {
        point,
        invocations: known.invocations,
        samples: known.samples(),
        look: None,
        stop: stop.map(str::to_owned),
        wanted: None,
        remaining_ns: None,
        compared: None,
    }
}

/// Marks the point as done and keeps the decision.
fn close(history: &mut History, round: &mut Round, decision: Decision) {
    history.points[decision.point].stopped.clone_from(&decision.stop);
    round.decisions.push(decision);
}
