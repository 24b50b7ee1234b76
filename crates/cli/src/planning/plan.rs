//! From points, goal and preparations to a plan.

use std::collections::BTreeMap;

use plumb_model::{Companion, Goal, OnInterference, Plan, PlannedPoint, StoppingRules};
use plumb_suite::{checked, companion_at, each_address, pair, permitted, time_ns, with_far_end};

use crate::error::Result;
use crate::planning::arguments::{ExecutionArgs, GoalArgs};
use crate::planning::monitors::monitors;
use crate::planning::points::Named;
use crate::planning::prepare::Prepare;

/// Precision when neither the user nor a suite states one: the standard.
const STANDARD: f64 = 0.01;
/// Time for each point when neither the user nor a suite states a budget, in nanoseconds.
const POINT_BUDGET_NS: u64 = 60_000_000_000;

/// When points are done and how long the run may take; points with rules of their own get what was typed.
///
/// # Errors
/// When rules are none, or contradict each other.
pub fn goal(args: &GoalArgs, named: &mut Named) -> Result<(StoppingRules, Option<u64>)> {
    let suite = named.suites.first();
    let of_suite = suite.map(|suite| suite.rules.clone()).unwrap_or_default();
    let rules = args.rules.applied_to(of_suite.applied_to(StoppingRules::default())?)?;
    let mut rules = checked(or_standard(rules))?;
    for own in named.points.iter_mut().filter_map(|point| point.rules.as_mut()) {
        *own = checked(or_standard(args.rules.applied_to(*own)?))?;
    }
    let is_planned = args.rules.are_precision_only();
    let of_suite = suite.and_then(|suite| suite.budget.as_deref()).filter(|_| is_planned);
    let stated = args.execution.budget.as_deref().or(of_suite).map(time_ns).transpose()?;
    let own = || named.points.iter().filter_map(|point| point.rules.as_ref());
    if stated.is_some() || !is_open(&rules) {
        return Ok((rules, stated));
    }
    if own().all(is_open) {
        return Ok((rules, Some(POINT_BUDGET_NS.saturating_mul(named.points.len() as u64))));
    }
    // A budget of the whole run would cut off points that are to take longer.
    rules.max_time_ns = Some(POINT_BUDGET_NS);
    Ok((rules, None))
}

/// Whether nothing but a precision says when a point is done.
fn is_open(rules: &StoppingRules) -> bool {
    *rules == StoppingRules { precision: rules.precision, ..StoppingRules::default() }
}

/// Where nobody says how well or how often, the standard precision.
fn or_standard(rules: StoppingRules) -> StoppingRules {
    let precision = if rules.are_none() { Some(STANDARD) } else { rules.precision };
    StoppingRules { precision, ..rules }
}

/// The labels of `--label`.
///
/// # Errors
/// When one is no `name=value`.
pub fn pairs(labels: &[String]) -> Result<BTreeMap<String, String>> {
    labels.iter().map(|text| Ok(pair(text)?)).collect()
}

/// The seed: the user's, or from the clock.
pub fn seed(args: &ExecutionArgs) -> u64 {
    args.seed.map_or_else(|| plumb_machine::now().monotonic_ns & 0xffff_ffff, u64::from)
}

/// A plan without its target directory, which is made last.
pub fn plan(
    mut named: Named,
    companions: Vec<Companion>,
    args: &GoalArgs,
    prepare: Prepare,
) -> Result<Plan> {
    named.points = each_address(named.points)?;
    let (rules, budget_ns) = goal(args, &mut named)?;
    let mut plan = plan_of(named.points, Goal::Rules(rules), &args.execution, prepare)?;
    // What is typed wins.
    if !plan.monitors.is_empty() {
        plan.points.iter_mut().for_each(|point| point.monitors.clear());
    }
    // Points name theirs by their indices, so that these come first.
    let companions = named.beside.into_iter().chain(companions).chain(plan.companions);
    let companions = companions.map(|it| companion_at(it, args.execution.to.as_ref())).collect();
    let plan = Plan { companions, budget_ns, ..plan };
    let plan = permitted(plan, args.execution.i_own_this_network)?;
    let Some(suite) = named.suites.into_iter().next() else { return Ok(plan) };
    let labels = suite.labels.into_iter().chain(plan.labels).collect();
    let monitors = match plan.monitors.is_empty() {
        true => monitors("monitors", suite.monitors)?,
        false => plan.monitors,
    };
    let (suite, against_first) = (Some(suite.name), suite.against_first);
    Ok(Plan { suite, labels, monitors, against_first, ..plan })
}

/// A plan of these points, with nothing beside them.
pub fn plan_of(
    points: Vec<PlannedPoint>,
    goal: Goal,
    args: &ExecutionArgs,
    prepare: Prepare,
) -> Result<Plan> {
    let default = match goal {
        Goal::Verdict(_) => OnInterference::Retry,
        Goal::Rules(_) | Goal::Soak => OnInterference::Keep,
    };
    let points = match &args.to {
        Some(far_end) => with_far_end(points, far_end)?,
        None => points,
    };
    let plan = Plan {
        suite: None,
        points,
        companions: prepare.plugins,
        goal,
        budget_ns: args.budget.as_deref().map(time_ns).transpose()?,
        spread_ns: None,
        seed: seed(args),
        dir: String::new(),
        labels: pairs(&args.labels)?,
        against_first: false,
        expectations: Vec::new(),
        preparation: prepare.knobs,
        monitors: monitors("--monitor", args.monitors.clone())?,
        on_interference: args.on_interference.unwrap_or(default),
    };
    Ok(permitted(plan, args.i_own_this_network)?)
}
