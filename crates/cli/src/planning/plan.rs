//! From points, goal and preparations to a plan.

use std::collections::BTreeMap;

use plumb_model::{Companion, Goal, OnInterference, Plan, PlannedPoint};

use crate::error::{CommandError, Result};
use crate::planning::arguments::{ExecutionArgs, GoalArgs};
use crate::planning::points::Named;
use crate::planning::prepare::Prepare;
use crate::planning::suite::Suite;
use crate::quantity::{pair, share, time_ns};

/// Precision when neither the user nor a suite states one: the standard.
const STANDARD: f64 = 0.01;
/// Time for each point when neither the user nor a suite states a budget, in nanoseconds.
const POINT_BUDGET_NS: u64 = 60_000_000_000;

/// When points are done and how long the run may take.
pub fn goal(args: &GoalArgs, suite: Option<&Suite>, points: usize) -> Result<(Goal, Option<u64>)> {
    let suite_budget = suite.and_then(|suite| suite.budget.as_deref());
    let fixed =
        args.min_invocations.is_some() || args.min_time.is_some() || args.max_time.is_some();
    let budget = args
        .execution
        .budget
        .as_deref()
        .or(suite_budget.filter(|_| !fixed))
        .map(time_ns)
        .transpose()?;
    if fixed {
        let time = |text: &Option<String>| text.as_deref().map(time_ns).transpose();
        let goal = Goal::Fixed {
            min_invocations: args.min_invocations.unwrap_or(1),
            min_time_ns: time(&args.min_time)?.unwrap_or(0),
            max_time_ns: time(&args.max_time)?.unwrap_or(u64::MAX >> 1),
        };
        return Ok((goal, budget));
    }
    let stated = args.precision.as_deref().or(suite.and_then(|suite| suite.precision.as_deref()));
    let relative = stated.map(share).transpose()?.unwrap_or(STANDARD);
    let budget = budget.unwrap_or(POINT_BUDGET_NS.saturating_mul(points as u64));
    Ok((Goal::Precision { relative }, Some(budget)))
}

/// The labels of `--label`.
///
/// # Errors
/// When one is no `name=value`.
pub fn pairs(labels: &[String]) -> Result<BTreeMap<String, String>> {
    labels.iter().map(|text| pair(text)).collect()
}

/// The seed: the user's, or from the clock.
pub fn seed(args: &ExecutionArgs) -> u64 {
    args.seed.map_or_else(|| plumb_machine::now().monotonic_ns & 0xffff_ffff, u64::from)
}

/// A plan without its target directory, which is made last.
pub fn plan(
    named: Named,
    companions: Vec<Companion>,
    args: &GoalArgs,
    prepare: Prepare,
) -> Result<Plan> {
    let (goal, budget_ns) = goal(args, named.suites.first(), named.points.len())?;
    let suite = named.suites.first().map(|suite| suite.name.clone());
    let plan = plan_of(named.points, goal, &args.execution, prepare)?;
    let companions = companions.into_iter().chain(plan.companions).collect();
    Ok(Plan { suite, companions, budget_ns, ..plan })
}

/// The words of `--monitor`, checked.
fn monitors(words: &[String]) -> Result<Vec<String>> {
    plumb_monitors::wanted(words).map_err(|why| {
        let names: Vec<&str> = plumb_monitors::ALL.iter().map(|monitor| monitor.name).collect();
        CommandError::usage(format!("--monitor: {why}"))
            .hint(format!("known monitors: {}", names.join(", ")))
            .hint("--monitor perf adds one, --monitor stat=20 sets its rate, --monitor none turns all off")
    })?;
    Ok(words.to_vec())
}

/// A plan of these points, with nothing beside them.
pub fn plan_of(
    points: Vec<PlannedPoint>,
    goal: Goal,
    args: &ExecutionArgs,
    prepare: Prepare,
) -> Result<Plan> {
    let default = match goal {
        Goal::Verdict { .. } => OnInterference::Retry,
        Goal::Precision { .. } | Goal::Fixed { .. } | Goal::Soak => OnInterference::Keep,
    };
    Ok(Plan {
        suite: None,
        points,
        companions: prepare.plugins,
        goal,
        budget_ns: args.budget.as_deref().map(time_ns).transpose()?,
        seed: seed(args),
        dir: String::new(),
        labels: pairs(&args.labels)?,
        against_first: false,
        expectations: Vec::new(),
        preparation: prepare.knobs,
        monitors: monitors(&args.monitors)?,
        on_interference: args.on_interference.unwrap_or(default),
    })
}
