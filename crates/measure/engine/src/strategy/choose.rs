//! Which strategy a plan wants.

use plumb_model::{Goal, Plan};

use super::decide::Strategy;
use super::rules::Rules;
use super::soak::Soak;
use super::verdict::Verdict;

/// The strategy for the goal of a plan.
#[must_use]
pub fn for_plan(plan: &Plan) -> Box<dyn Strategy> {
    match &plan.goal {
        Goal::Rules(rules) => Box::new(Rules::new(plan, *rules)),
        Goal::Soak => Box::new(Soak::new(plan.points.len(), plan.budget_ns.unwrap_or(u64::MAX))),
        Goal::Verdict(goal) => Box::new(Verdict::new(plan, goal)),
    }
}
