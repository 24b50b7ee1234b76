//! `plumb run --dry-run` and `plumb suite new`: what would be measured, and how long that takes.

use std::collections::BTreeMap;

use plumb_model::{StoppingRules, Value};
use plumb_report::rules_text;
use plumb_suite::time_ns;
use plumb_text::counted;
use serde::Serialize;

use crate::error::Result;
use crate::planning::arguments::GoalArgs;
use crate::planning::plan;
use crate::planning::points::NamedPoints;
use crate::planning::several_suites;

/// What would be measured: the document `plumb.dry-run/1` of `--dry-run --json`. Fields may be added, never changed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.dry-run/1"))]
pub struct DryRun {
    /// The name of this form, always `plumb.dry-run/1`.
    #[cfg_attr(test, schemars(extend("const" = "plumb.dry-run/1")))]
    pub schema: &'static str,
    /// The names of the suites, in order.
    pub suites: Vec<String>,
    /// The points, in order.
    pub points: Vec<DryPoint>,
    /// When a point is done that has no rules of its own; null if only the time ends the run (`--for`).
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub rules: Option<StoppingRules>,
    /// The longest time that the run takes, in seconds; null without a limit.
    pub most_s: Option<f64>,
    /// The time that a suite plans for its points on a quiet machine, in seconds; null if it plans none, or several
    /// suites or workloads are named.
    pub planned_s: Option<f64>,
    /// The machines that would measure (`--on`, `--inventory`), with the address if it differs from the name; empty if it is this
    /// one. Each makes its own plan; the points are those of this machine.
    pub machines: Vec<String>,
}

/// A point that would be measured.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DryPoint {
    /// The workload's id.
    pub workload: String,
    /// The name that people call the point by.
    pub name: String,
    /// Every parameter with its value.
    #[cfg_attr(test, schemars(with = "BTreeMap<String, serde_json::Value>"))]
    pub point: BTreeMap<String, Value>,
    /// When it is done, if it has rules of its own; else null.
    #[cfg_attr(test, schemars(with = "Option<serde_json::Value>"))]
    pub rules: Option<StoppingRules>,
    /// Whether it would be measured only for comparison with other points.
    pub is_ceiling: bool,
}

/// The points, when each is done, and the time for all.
///
/// # Errors
/// When a goal is none.
pub fn dry_run(named: &mut NamedPoints, goal: &GoalArgs, soak: Option<&str>) -> Result<DryRun> {
    // What the run would refuse is refused here, too.
    several_suites::labels(&named.suites, &goal.execution.labels)?;
    several_suites::against_first(&named.suites)?;
    match soak {
        Some(length) => {
            let length_ns = time_ns(length)?;
            Ok(DryRun::new(named, None, Some(length_ns)))
        }
        None => {
            let (rules, budget_ns) = plan::goal(goal, named)?;
            Ok(DryRun::new(named, Some(rules), budget_ns))
        }
    }
}

/// The number of points of a suite, when each is done, and the time for all, in words.
///
/// # Errors
/// When its rules are none.
pub fn suite_duration(named: &mut NamedPoints) -> Result<String> {
    let (rules, budget_ns) = plan::goal(&GoalArgs::default(), named)?;
    Ok(DryRun::new(named, Some(rules), budget_ns).duration())
}

impl DryRun {
    fn new(named: &NamedPoints, rules: Option<StoppingRules>, budget_ns: Option<u64>) -> Self {
        let mut points = Vec::new();
        for planned in &named.points {
            points.push(DryPoint {
                workload: planned.point.workload.clone(),
                name: planned.name(),
                point: planned.point.settings.clone(),
                // A soak ends all points at once: rules of their own mean nothing then.
                rules: planned.rules.filter(|_| rules.is_some()),
                is_ceiling: planned.is_ceiling,
            });
        }
        let most_ns = [budget_ns, points_ns(named, rules.as_ref())].into_iter().flatten().min();
        let planned_s = match named.suites.as_slice() {
            [suite] => suite.seconds(),
            _ => None,
        };
        #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
        let most_s = most_ns.map(|ns| ns as f64 / 1e9);
        Self {
            schema: "plumb.dry-run/1",
            suites: named.suites.iter().map(|suite| suite.name.clone()).collect(),
            points,
            rules,
            most_s,
            planned_s,
            machines: Vec::new(),
        }
    }

    /// A line per point, with its own rules, then the time for all.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        for point in &self.points {
            let mut line = point.name.clone();
            if let Some(own) = &point.rules {
                line.push_str(&format!("  ({})", rules_text(own)));
            }
            if point.is_ceiling {
                line.push_str("  (for comparison)");
            }
            lines.push(line);
        }
        lines.push(format!("\n{}", self.duration()));
        lines.join("\n")
    }

    fn duration(&self) -> String {
        let goal =
            self.rules.as_ref().map_or_else(|| "until the time is up".to_owned(), rules_text);
        let most = match self.most_s {
            Some(seconds) => format!("at most {}", plumb_units::length(seconds)),
            None => "no time limit".to_owned(),
        };
        let points = counted(self.points.len(), "point", "points");
        let ceilings = match self.points.iter().filter(|point| point.is_ceiling).count() {
            0 => String::new(),
            count => format!("; {count} of them for comparison"),
        };
        let mut lines = vec![format!("{points}, each {goal}; {most}{ceilings}")];
        if let (Some(suite), Some(seconds)) = (self.suites.first(), self.planned_s) {
            let sum = plumb_units::length(seconds);
            lines.push(format!("on a quiet machine, the points of {suite} should take {sum}"));
        }
        if !self.machines.is_empty() {
            let count = counted(self.machines.len(), "machine", "machines");
            let names = self.machines.join(", ");
            lines.push(format!(
                "on {count}, each with its own plan (the points above are those of this machine): {names}"
            ));
        }
        lines.join("\n")
    }
}

/// What all points may take together, where each has a limit.
fn points_ns(named: &NamedPoints, rules: Option<&StoppingRules>) -> Option<u64> {
    let rules = rules?;
    let most = named.points.iter().map(|point| point.rules.as_ref().unwrap_or(rules).max_time_ns);
    most.sum()
}
