//! `plumb run --dry-run`: what would be measured.

use plumb_model::PlannedPoint;
use plumb_report::rules_text;
use plumb_suite::time_ns;
use plumb_text::time;

use crate::error::Result;
use crate::planning::arguments::GoalArgs;
use crate::planning::plan;
use crate::planning::points::Named;

/// The points, when each is done, and the time for all.
///
/// # Errors
/// When a goal is none.
pub fn dry_run(named: &mut Named, goal: &GoalArgs, soak: Option<&str>) -> Result<String> {
    let (rules, budget) = match soak {
        Some(length) => (None, Some(time_ns(length)?)),
        None => {
            let (rules, budget) = plan::goal(goal, named)?;
            (Some(rules), budget)
        }
    };
    let own = |point: &PlannedPoint| match point.rules.filter(|_| rules.is_some()) {
        Some(own) => format!("{}  ({})", point.name(), rules_text(&own)),
        None => point.name(),
    };
    let mut lines: Vec<String> = named.points.iter().map(own).collect();
    let goal = rules.as_ref().map_or_else(|| "until the time is up".to_owned(), rules_text);
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
