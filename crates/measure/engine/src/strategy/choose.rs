//! Which strategy a plan wants.

use plumb_model::{Goal, Plan};

use super::strategy::Strategy;
use super::until_health_is_known::UntilHealthIsKnown;
use super::until_precise::UntilRules;
use super::until_time_is_over::Soak;
use super::until_verdict::UntilVerdict;

/// The strategy for the goal of a plan.
#[must_use]
pub fn for_plan(plan: &Plan) -> Box<dyn Strategy> {
    match &plan.goal {
        Goal::Rules(rules) => Box::new(UntilRules::new(plan, *rules)),
        Goal::Soak => Box::new(Soak::new(plan.points.len(), plan.budget_ns.unwrap_or(u64::MAX))),
        Goal::Verdict(goal) => Box::new(UntilVerdict::new(plan, goal)),
        Goal::Health(goal) => Box::new(UntilHealthIsKnown::new(plan, goal)),
    }
}
