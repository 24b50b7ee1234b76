//! How runs become arms, and what people call these.

use std::collections::BTreeMap;

use plumb_model::{By, Host, Id, MARGIN, RunRecord, Target, short_id};

/// How runs become arms, and what is compared.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareSettings {
    /// Group runs by labels, by facts of machine or environment, or by `host`, `kind` or `run`; several
    /// are apart by commas. Hosts are mixed only with `kind`.
    pub by: Option<String>,
    /// The name of each run's arm, if somebody named arms of several runs; runs of one name are one arm. Fields go
    /// before names.
    pub arm_names: BTreeMap<Id, String>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Whether every metric counts, not only each workload's first.
    pub every_metric: bool,
    /// Whether points of the same name are compared, whatever workload measured them.
    pub across: bool,
    /// The label that holds a price.
    pub price: String,
}

impl Default for CompareSettings {
    fn default() -> Self {
        Self {
            by: None,
            arm_names: BTreeMap::new(),
            margin: MARGIN,
            every_metric: false,
            across: false,
            price: "price".to_owned(),
        }
    }
}

impl CompareSettings {
    /// By what runs count as of one machine.
    pub(crate) fn one_machine(&self) -> By {
        if fields(self.by.as_deref()).any(|field| field == By::KIND) { By::Kind } else { By::Host }
    }
}

fn fields(by: Option<&str>) -> impl Iterator<Item = &str> {
    by.into_iter().flat_map(|by| by.split(','))
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

/// An arm a run, or one for every name or value of the fields (and every host of it, unless hosts are mixed), in the
/// order in which they first occur.
pub(crate) fn groups<'r>(records: &'r [RunRecord], settings: &CompareSettings) -> Vec<Group<'r>> {
    let names = match &settings.by {
        Some(by) => names(records, by),
        None if settings.arm_names.is_empty() => {
            return records
                .iter()
                .map(|record| Group { name: own_name(record, records), runs: vec![record] })
                .collect();
        }
        None => records
            .iter()
            .map(|record| match settings.arm_names.get(&record.run) {
                Some(name) => name.clone(),
                None => short_id(record.run),
            })
            .collect(),
    };
    let one_machine = settings.one_machine();
    let mut groups: Vec<Group> = Vec::new();
    for (record, name) in records.iter().zip(names) {
        // Runs of one name on several hosts make several arms, unless hosts are mixed.
        let own_group = groups.iter_mut().find(|group| {
            let mut runs = group.runs.iter();
            group.name == name && runs.all(|run| one_machine.mixes(host(run), host(record)))
        });
        match own_group {
            Some(group) => group.runs.push(record),
            None => groups.push(Group { name, runs: vec![record] }),
        }
    }
    by_host(groups)
}

/// Arms that only their hosts tell apart are named by them, too.
fn by_host(mut groups: Vec<Group>) -> Vec<Group> {
    let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
    for group in &mut groups {
        if names.iter().filter(|name| **name == group.name).count() > 1 {
            let known = group.runs.iter().map(|run| host(run)).find(|host| host.known().is_some());
            group.name = format!("{} on {}", group.name, known.unwrap_or(&Host::UNKNOWN));
        }
    }
    groups
}

/// The host that a run was measured on first.
fn host(record: &RunRecord) -> &Host {
    record.targets.first().map_or(&Host::UNKNOWN, |target| &target.host)
}

/// The runs of every arm, in the order of [`crate::ComparisonFinding::arms`].
pub(crate) fn runs_of_arms<'r>(
    records: &'r [RunRecord],
    settings: &CompareSettings,
) -> Vec<Vec<&'r RunRecord>> {
    groups(records, settings).into_iter().map(|group| group.runs).collect()
}

/// The labels that tell a run from the others, or the beginning of its id.
fn own_name(record: &RunRecord, all: &[RunRecord]) -> String {
    let labels: Vec<String> = record
        .plan
        .labels
        .iter()
        .filter(|(key, _)| several(all.iter().map(|other| other.plan.labels.get(*key))))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if labels.is_empty() { short_id(record.run) } else { labels.join(" ") }
}

/// The run's own name, or the beginning of its id where another run is called so, too.
fn only_name(record: &RunRecord, all: &[RunRecord]) -> String {
    let name = own_name(record, all);
    let is_taken = all.iter().filter(|other| own_name(other, all) == name).count() > 1;
    if is_taken { short_id(record.run) } else { name }
}

/// What each run is called by these fields: its values of those that tell the runs apart.
fn names(records: &[RunRecord], by: &str) -> Vec<String> {
    let all: Vec<Vec<String>> = fields(Some(by))
        .map(|field| records.iter().map(|record| value(record, records, field)).collect())
        .collect();
    let mut telling: Vec<&Vec<String>> =
        all.iter().filter(|values| several(values.iter())).collect();
    // Runs that no field tells apart still need a name.
    if telling.is_empty() {
        telling.extend(all.first());
    }
    (0..records.len())
        .map(|run| {
            let own: Vec<&str> = telling.iter().map(|values| values[run].as_str()).collect();
            own.join(" · ")
        })
        .collect()
}

/// The value of a label, or else of a fact of machine or environment.
fn value(record: &RunRecord, all: &[RunRecord], field: &str) -> String {
    // A label comes first: the user may have chosen one that is called like a fact.
    if let Some(label) = record.plan.labels.get(field) {
        return label.clone();
    }
    if field == "run" {
        return only_name(record, all);
    }
    let target = record.targets.first();
    target.and_then(|target| fact(target, field)).unwrap_or_else(|| without(field))
}

/// The value of a fact: the host, the kind of machine, or a named fact of environment or machine.
fn fact(target: &Target, field: &str) -> Option<String> {
    match field {
        "host" => Some(target.host.to_string()),
        By::KIND => Some(target.machine.fingerprint.clone()),
        _ => {
            let changing = target.environment.facts.get(field);
            changing.or_else(|| target.machine.facts.get(field)).cloned()
        }
    }
}

/// What people call the arm of runs without this label or fact.
#[must_use]
pub fn without(by: &str) -> String {
    format!("no {by}")
}
