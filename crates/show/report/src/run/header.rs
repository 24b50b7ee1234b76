//! The heading above the results: the run, the machine, the goal and the result.

use std::collections::BTreeMap;

use plumb_analysis::{Finding, RunFacts, RunFinding, default_length_s};
use plumb_model::{
    Confidence, Goal, PreparationRecord, Prepared, RunStatus, StoppingRules, Target, VerdictGoal,
};
use plumb_text::command_line::typed;
use plumb_text::counted;
use plumb_text::time::{between, date};
use plumb_units::length;
use plumb_units::percent;

/// Hexadecimal digits of a run's identity that are shown: the whole time stamp in it.
const SHORT_ID: usize = 12;

/// The lines above the results, without labels.
#[derive(Debug, Clone)]
pub struct ReportHeader {
    /// The suite's name, or the command line.
    pub title: String,
    /// The run's identity, shortened.
    pub run: String,
    /// `complete`, `running` or `interrupted`.
    pub status: &'static str,
    /// Where it was measured.
    pub places: Vec<TargetLines>,
    /// Date, length and labels.
    pub when: String,
    /// The goal, and how much of it was reached.
    pub goal: String,
    /// Loads that ran next to on purpose.
    pub load: Option<String>,
    /// What was prepared, but for what is left to chance.
    pub prepared: Option<String>,
}

/// A target, in lines.
#[derive(Debug, Clone)]
pub struct TargetLines {
    /// CPU, number of CPUs, memory, virtualisation, host.
    pub machine: String,
    /// Kernel and operating system.
    pub system: String,
    /// The target directory, its filesystem and device.
    pub dir: String,
}

impl TargetLines {
    /// Its lines that say something.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        [&self.machine, &self.system, &self.dir]
            .into_iter()
            .map(String::as_str)
            .filter(|l| !l.is_empty())
    }
}

impl ReportHeader {
    pub(crate) fn new(finding: &RunFinding) -> Self {
        let run = &finding.run;
        Self {
            title: run
                .suite
                .clone()
                .unwrap_or_else(|| typed(run.command.iter().skip(1).map(String::as_str))),
            run: run.id.simple().to_string().chars().take(SHORT_ID).collect(),
            status: run.status.word(),
            places: finding.targets.iter().map(|t| place(t, finding.targets.len(), run)).collect(),
            when: when(run),
            goal: goal(finding),
            load: (!run.loads.is_empty()).then(|| run.loads.join(", ")),
            prepared: prepared(&run.preparations),
        }
    }
}

/// What was prepared: `thp madvise → always`, each setting once; what was done often with its number.
fn prepared(records: &[PreparationRecord]) -> Option<String> {
    let mut settings: Vec<(&str, Vec<String>)> = Vec::new();
    for PreparationRecord { prepared: Prepared { setting, was, became }, .. } in records {
        let text = if was.is_empty() { became.clone() } else { format!("{was} → {became}") };
        match settings.iter_mut().find(|(known, _)| known == setting) {
            Some((_, texts)) => texts.push(text),
            None => settings.push((setting, vec![text])),
        }
    }
    // A random size of the environment is the default of every run, and says nothing about this one.
    settings.retain(|(setting, texts)| !(*setting == "env-size" && texts[0] == "random"));
    let lines: Vec<String> = settings
        .into_iter()
        .map(|(setting, mut texts)| {
            let times = texts.len();
            texts.sort();
            texts.dedup();
            match texts.as_slice() {
                [] | [_, _, _, ..] => format!("{setting} ×{times}"),
                few => format!("{setting} {}", few.join(" or ")),
            }
        })
        .collect();
    (!lines.is_empty()).then(|| lines.join(", "))
}

fn fact<'a>(facts: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    facts.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

fn place(target: &Target, targets: usize, run: &RunFacts) -> TargetLines {
    TargetLines {
        machine: machine(target, targets),
        system: system(target),
        dir: dir(target, &run.dir),
    }
}

fn machine(target: &Target, targets: usize) -> String {
    let stable = &target.machine.facts;
    let changing = &target.environment.facts;
    let cpus =
        fact(stable, "cpus").map(|n| if n == "1" { "1 CPU".into() } else { format!("{n} CPUs") });
    // Some kernels name no CPU on ARM, but the product.
    let cpu = fact(stable, "cpu").or(fact(stable, "product")).unwrap_or("unknown CPU");
    let parts = [
        (targets > 1).then(|| target.name.clone()),
        // CPUs pad their names with blanks.
        Some(cpu.split_whitespace().collect::<Vec<_>>().join(" ")),
        cpus,
        fact(stable, "memory").map(str::to_owned),
        fact(stable, "virtualisation").map(str::to_owned),
        fact(changing, "container")
            .filter(|manager| *manager != "none")
            .map(|manager| format!("in a container ({manager})")),
        target.host.known().map(|host| format!("host {host}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn dir(target: &Target, dir: &str) -> String {
    let facts = &target.environment.facts;
    match (fact(facts, "filesystem"), fact(facts, "device")) {
        _ if dir.is_empty() => String::new(),
        (Some(filesystem), Some(device)) => format!("{dir}: {filesystem} on {device}"),
        (Some(filesystem), None) => format!("{dir}: {filesystem}"),
        (None, _) => format!("files in {dir}"),
    }
}

fn system(target: &Target) -> String {
    let facts = &target.environment.facts;
    let parts = [
        fact(facts, "kernel").map(|kernel| format!("Linux {kernel}")),
        fact(facts, "os").map(str::to_owned),
        fact(facts, "governor").map(|governor| format!("governor {governor}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn when(run: &RunFacts) -> String {
    let took = between(run.started_unix_ns, run.ended_unix_ns);
    let labels = run.labels.iter().map(|(key, value)| format!("{key}={value}"));
    let parts = [
        Some(date(run.started_unix_ns)),
        took.map(|took| format!("took {}", length(took))),
        (run.segments > 1).then(|| format!("in {} segments", run.segments)),
    ];
    let plumb = (!run.plumb.is_empty()).then(|| format!("plumb {}", run.plumb));
    parts.into_iter().flatten().chain(labels).chain(plumb).collect::<Vec<_>>().join(" · ")
}

fn goal(finding: &RunFinding) -> String {
    let budget = finding.run.budget_ns.map(|ns| length(seconds(ns)));
    let wanted = match &finding.run.goal {
        Goal::Soak => return soak(finding, &budget.unwrap_or_default()),
        Goal::Verdict(goal) => verdict(goal),
        Goal::Health(_) => "compare with healthy machines".to_owned(),
        // Nothing was wanted of an import.
        Goal::Rules(rules) if rules.are_none() => return reached(finding),
        Goal::Rules(rules) => finding.run.stream_ns.map_or_else(
            || rules_text(rules),
            |ns| format!("a stream of {} per point", length(seconds(ns))),
        ),
    };
    let budget = match (budget, of_default_length(finding)) {
        (Some(budget), Some(most)) => Some(format!("within {most}, next to other work {budget}")),
        (budget, _) => budget.map(|budget| format!("within {budget}")),
    };
    let head = [Some(wanted), budget].into_iter().flatten().collect::<Vec<_>>().join(" ");
    format!("goal: {head}; {}", reached(finding))
}

/// The heading over points whose figures include failures.
pub const ACCEPTED_FAILURES: &str = "Accepted failures";

/// The heading of points that were planned but not reached. Only a budget explains by itself why they were not.
#[must_use]
pub fn not_reached_heading(finding: &RunFinding) -> String {
    match finding.run.budget_ns {
        Some(ns) if finding.run.status == RunStatus::Complete => {
            format!("Not reached within the budget of {}", length(seconds(ns)))
        }
        _ => "Not reached".to_owned(),
    }
}

/// How long each point may take on a machine without other work, if nobody said how long.
fn of_default_length(finding: &RunFinding) -> Option<String> {
    let Goal::Rules(rules) = &finding.run.goal else { return None };
    let (_, most_s) = default_length_s(false);
    Some(format!("{} per point", length(most_s.filter(|_| rules.describe_machine)?)))
}

fn verdict(goal: &VerdictGoal) -> String {
    let VerdictGoal { metric, max_pairs, .. } = goal;
    let units = if goal.quad { "ABBA units" } else { "pairs" };
    let margin = percent(goal.margin);
    let floor = goal.noise_floor.map_or_else(String::new, |floor| {
        format!(" (by its audit, this machine detects {} or more)", percent(floor))
    });
    let what = if goal.beyond { "agreement or disagreement" } else { "a verdict" };
    let sure = match goal.confidence {
        Confidence::NinetyFive => String::new(),
        sure => format!(" at {} %", sure.percent()),
    };
    // The largest limit is the default, which hardly a comparison reaches.
    let most = if *max_pairs < VerdictGoal::MOST_PAIRS {
        format!(" in up to {max_pairs} {units}")
    } else {
        String::new()
    };
    let time = goal
        .time_ns
        .map_or_else(String::new, |ns| format!(" within about {}", length(seconds(ns))));
    format!("{what} on {metric} with a margin of {margin}{floor}{sure}{most}{time}")
}

/// Stopping rules in words: `±1 %, at least 5 invocations and 20 s, at most 1 min per point`.
#[must_use]
pub fn rules_text(rules: &StoppingRules) -> String {
    let least = limits(
        Some(rules.min_invocations).filter(|invocations| *invocations > 0),
        Some(rules.min_time_ns).filter(|ns| *ns > 0),
    );
    let most = limits(rules.max_invocations, rules.max_time_ns);
    let is_precision_only = least.is_empty() && most.is_empty();
    let parts = [
        rules.precision.map(|relative| format!("±{}", percent(relative))),
        (!least.is_empty()).then(|| format!("at least {}", least.join(" and "))),
        (!most.is_empty()).then(|| format!("at most {}", most.join(" or "))),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    if is_precision_only { text } else { text + " per point" }
}

fn limits(invocations: Option<usize>, time_ns: Option<u64>) -> Vec<String> {
    let invocations = invocations.map(|count| counted(count, "invocation", "invocations"));
    let time = time_ns.map(|ns| length(seconds(ns)));
    invocations.into_iter().chain(time).collect()
}

fn soak(finding: &RunFinding, planned: &str) -> String {
    let intervals = match finding.run.status {
        RunStatus::Complete => "",
        _ => "; intervals are valid at any time",
    };
    format!("soak for {planned}; {}{intervals}", reached(finding))
}

#[expect(clippy::cast_precision_loss, reason = "a length of time for people")]
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// How far a point came.
enum GoalReached {
    Done,
    /// The largest relative half-width.
    Short(f64),
    NoInterval,
}

/// How far a point came in all its headline metrics.
fn point_reached(finding: &RunFinding, first: &Finding) -> GoalReached {
    let mut widest: f64 = 0.0;
    let mut is_done = true;
    for result in &finding.results {
        if !result.headline || result.point != first.point {
            continue;
        }
        let Some(reached) = result.reached else { return GoalReached::NoInterval };
        widest = widest.max(reached);
        is_done &= result.wanted.is_none_or(|wanted| reached <= wanted);
    }
    if is_done { GoalReached::Done } else { GoalReached::Short(widest) }
}

/// The narrowest and the widest of half-widths.
pub(crate) fn from_to(halves: &[f64]) -> String {
    let narrowest = percent(halves.iter().copied().fold(f64::INFINITY, f64::min));
    let widest = percent(halves.iter().copied().fold(0.0, f64::max));
    if narrowest == widest { format!("±{widest}") } else { format!("±{narrowest} to ±{widest}") }
}

/// How many points reached what was wanted, and how far the others came.
fn reached(finding: &RunFinding) -> String {
    let primary: Vec<&Finding> = finding.results.iter().filter(|result| result.primary).collect();
    if primary.iter().all(|primary| primary.wanted.is_none()) {
        return format!("{} measured", counted(primary.len(), "point", "points"));
    }
    let mut done = 0;
    let mut without = 0;
    let mut short = Vec::new();
    for first in &primary {
        match point_reached(finding, first) {
            GoalReached::Done => done += 1,
            GoalReached::Short(most) => short.push(most),
            GoalReached::NoInterval => without += 1,
        }
    }
    let all = counted(primary.len(), "measured point", "measured points");
    let mut text = format!("reached by {done} of {all}");
    if primary.iter().any(|first| first.machine.is_some()) {
        // The goal is about the session, and the rows show the wider intervals of the machine: two half-widths of one
        // point would look like a contradiction.
        text.push_str(" in this session");
    } else if !short.is_empty() {
        text.push_str(&format!(", {} at {}", short.len(), from_to(&short)));
    }
    if without > 0 {
        text.push_str(&format!(", {without} without an interval"));
    }
    text
}
