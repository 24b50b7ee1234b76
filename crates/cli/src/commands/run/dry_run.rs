//! `plumb run --dry-run`: what would be measured.

use plumb_model::{Goal, PlannedPoint};
use plumb_text::time;

use crate::error::Result;
use crate::planning::arguments::GoalArgs;
use crate::planning::plan;
use crate::planning::points::Named;
use crate::quantity::time_ns;

/// The points, when each is done, and the time for all.
///
/// # Errors
/// When a goal is none.
pub fn dry_run(named: &Named, goal: &GoalArgs, soak: Option<&str>) -> Result<String> {
    let (goal, budget) = match soak {
        Some(length) => (Goal::Soak, Some(time_ns(length)?)),
        None => plan::goal(goal, named.suites.first(), named.points.len())?,
    };
    let mut lines: Vec<String> = named.points.iter().map(PlannedPoint::name).collect();
    let goal = match goal {
        Goal::Precision { relative } => format!("until ±{} %", relative * 100.0),
        Goal::Fixed { min_invocations, .. } => format!("at least {min_invocations} invocations"),
        Goal::Soak => "until the time is up".to_owned(),
        Goal::Verdict { max_pairs, .. } => format!("at most {max_pairs} pairs"),
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let budget = budget.map_or("no time limit".to_owned(), |ns| {
        format!("at most {}", time::length(ns as f64 / 1e9))
    });
    lines.push(format!("\n{} points, each {goal}; {budget}", named.points.len()));
    if let [suite] = named.suites.as_slice()
        && let Some(seconds) = suite.seconds()
    {
        let sum = time::length(seconds);
        lines.push(format!("{} plans {sum} for its points on a quiet machine", suite.name));
    }
    Ok(lines.join("\n"))
}
