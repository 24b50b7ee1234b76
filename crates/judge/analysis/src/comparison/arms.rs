//! How runs become arms, and what people call these.

use plumb_model::{RunRecord, Target};

/// How runs become arms, and what is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSettings {
    /// Group runs by a label, or by a fact of machine or environment.
    pub by: Option<String>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Whether every metric counts, not only each workload's first.
    pub every_metric: bool,
    /// The label that holds a price.
    pub price: String,
}

pub(crate) fn several<T: PartialEq>(mut all: impl Iterator<Item = T>) -> bool {
    let first = all.next();
    all.any(|other| Some(other) != first)
}

/// Runs that make up an arm.
pub(crate) struct Group<'r> {
    pub(crate) name: String,
    pub(crate) runs: Vec<&'r RunRecord>,
}

/// An arm a run, or one for every value of a label or fact, in the order in which they first occur.
pub(crate) fn groups<'r>(records: &'r [RunRecord], by: Option<&str>) -> Vec<Group<'r>> {
    let mut groups: Vec<Group> = Vec::new();
    for record in records {
        let name = by.map_or_else(|| own_name(record, records), |by| value_of(record, by));
        match groups.iter_mut().find(|group| by.is_some() && group.name == name) {
            Some(group) => group.runs.push(record),
            None => groups.push(Group { name, runs: vec![record] }),
        }
    }
    groups
}

/// The runs of every arm, in the order of [`crate::ComparisonFinding::arms`].
pub(crate) fn runs_of_arms<'r>(
    records: &'r [RunRecord],
    settings: &CompareSettings,
) -> Vec<Vec<&'r RunRecord>> {
    groups(records, settings.by.as_deref()).into_iter().map(|group| group.runs).collect()
}

/// The labels that tell a run from the others, or the beginning of its id.
fn own_name(record: &RunRecord, all: &[RunRecord]) -> String {
    let tells = |key: &String| several(all.iter().map(|other| other.plan.labels.get(key)));
    let labels: Vec<String> = record
        .plan
        .labels
        .iter()
        .filter(|(key, _)| tells(key))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if labels.is_empty() {
        record.run.to_string().replace('-', "").chars().take(12).collect()
    } else {
        labels.join(" ")
    }
}

/// The value of a label, or else of a fact of machine or environment.
fn value_of(record: &RunRecord, by: &str) -> String {
    let target = record.targets.first();
    let fact = || {
        let facts = |target: &Target| {
            let found = target.environment.facts.get(by).or_else(|| target.machine.facts.get(by));
            found.cloned()
        };
        target.and_then(facts)
    };
    record.plan.labels.get(by).cloned().or_else(fact).unwrap_or_else(|| without(by))
}

/// What people call the arm of runs without this label or fact.
#[must_use]
pub fn without(by: &str) -> String {
    format!("no {by}")
}
