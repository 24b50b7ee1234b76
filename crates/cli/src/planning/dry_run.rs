//! `plumb run --dry-run` and `plumb suite new`: what would be measured, and how long that takes.

use plumb_model::{PlannedPoint, StoppingRules};
use plumb_report::rules_text;
use plumb_suite::time_ns;
use plumb_text::counted;

use crate::error::Result;
use crate::planning::arguments::GoalArgs;
use crate::planning::plan;
use crate::planning::points::Named;
use crate::planning::several_suites;

/// The points, when each is done, and the time for all.
///
/// # Errors
/// When a goal is none.
pub fn dry_run(named: &mut Named, goal: &GoalArgs, soak: Option<&str>) -> Result<String> {
    // What the run would refuse is refused here, too.
    several_suites::labels(&named.suites, &goal.execution.labels)?;
    several_suites::against_first(&named.suites)?;
    let (rules, budget) = match soak {
        Some(length) => (None, Some(time_ns(length)?)),
        None => {
            let (rules, budget) = plan::goal(goal, named)?;
            (Some(rules), budget)
        }
    };
    let mut lines: Vec<String> =
        named.points.iter().map(|point| point_line(point, rules.is_some())).collect();
    lines.push(format!("\n{}", duration(named, rules.as_ref(), budget)));
    Ok(lines.join("\n"))
}

/// A point by its name, with its own rules if rules say when points are done.
fn point_line(point: &PlannedPoint, by_rules: bool) -> String {
    match point.rules.filter(|_| by_rules) {
        Some(own) => format!("{}  ({})", point.name(), rules_text(&own)),
        None => point.name(),
    }
}

/// The number of points of a suite, when each is done, and the time for all.
///
/// # Errors
/// When its rules are none.
pub fn suite_duration(named: &mut Named) -> Result<String> {
    let (rules, budget) = plan::goal(&GoalArgs::default(), named)?;
    Ok(duration(named, Some(&rules), budget))
}

fn duration(named: &Named, rules: Option<&StoppingRules>, budget_ns: Option<u64>) -> String {
    let goal = rules.map_or_else(|| "until the time is up".to_owned(), rules_text);
    let most = [budget_ns, points_ns(named, rules)].into_iter().flatten().min();
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let most = most.map_or("no time limit".to_owned(), |ns| {
        format!("at most {}", plumb_units::length(ns as f64 / 1e9))
    });
    let points = counted(named.points.len(), "point", "points");
    let mut lines = vec![format!("{points}, each {goal}; {most}")];
    if let [suite] = named.suites.as_slice()
        && let Some(seconds) = suite.seconds()
    {
        let sum = plumb_units::length(seconds);
        lines.push(format!("{} plans {sum} for its points on a quiet machine", suite.name));
    }
    lines.join("\n")
}

/// What all points may take together, where each has a limit.
fn points_ns(named: &Named, rules: Option<&StoppingRules>) -> Option<u64> {
    let rules = rules?;
    let most = named.points.iter().map(|point| point.rules.as_ref().unwrap_or(rules).max_time_ns);
    most.sum()
}
