//! How runs become arms, and what people call these.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{By, Host, Id, MARGIN, MeasuredOn, RunOfSeries, short_id};

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
    /// The series, by its comparable name, that the ratios of the others are divided by.
    pub normalise_by: Option<String>,
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
            normalise_by: None,
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
pub(crate) struct ArmRuns<'r> {
    pub(crate) name: String,
    pub(crate) runs: Vec<&'r RunOfSeries>,
}

/// An arm a run, or one for every name or value of the fields (and every host of it, unless hosts are mixed), in the
/// order in which they first occur.
pub(crate) fn groups<'r>(
    runs: &'r [Arc<RunOfSeries>],
    settings: &CompareSettings,
) -> Vec<ArmRuns<'r>> {
    let names = match &settings.by {
        Some(by) => names(runs, by),
        None if settings.arm_names.is_empty() => return one_each(runs),
        None => runs.iter().map(|run| given_name(run, settings)).collect(),
    };
    let one_machine = settings.one_machine();
    let mut groups: Vec<ArmRuns> = Vec::new();
    for (run, name) in runs.iter().zip(names) {
        // Runs of one name on several hosts make several arms, unless hosts are mixed.
        let own_group = groups.iter_mut().find(|group| {
            let mut members = group.runs.iter();
            group.name == name && members.all(|member| one_machine.mixes(member.host(), run.host()))
        });
        match own_group {
            Some(group) => group.runs.push(run),
            None => groups.push(ArmRuns { name, runs: vec![run] }),
        }
    }
    by_host(groups)
}

fn one_each(runs: &[Arc<RunOfSeries>]) -> Vec<ArmRuns<'_>> {
    runs.iter().map(|run| ArmRuns { name: own_name(run, runs), runs: vec![run] }).collect()
}

/// The name that somebody gave the arm of the run.
fn given_name(run: &RunOfSeries, settings: &CompareSettings) -> String {
    settings.arm_names.get(&run.run).cloned().unwrap_or_else(|| short_id(run.run))
}

/// Arms that only their hosts tell apart are named by them, too.
fn by_host(mut groups: Vec<ArmRuns>) -> Vec<ArmRuns> {
    let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
    for group in &mut groups {
        if names.iter().filter(|name| **name == group.name).count() > 1 {
            let mut hosts = group.runs.iter().map(|run| run.host());
            let known = hosts.find(|host| host.known().is_some());
            group.name = format!("{} on {}", group.name, known.unwrap_or(&Host::UNKNOWN));
        }
    }
    groups
}

/// The labels that tell a run from the others, or the beginning of its id.
fn own_name(run: &RunOfSeries, all: &[Arc<RunOfSeries>]) -> String {
    let labels: Vec<String> = run
        .labels
        .iter()
        .filter(|(key, _)| several(all.iter().map(|other| other.labels.get(*key))))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    if labels.is_empty() { short_id(run.run) } else { labels.join(" ") }
}

/// The run's own name, or the beginning of its id where another run is called so, too.
fn only_name(run: &RunOfSeries, all: &[Arc<RunOfSeries>]) -> String {
    let name = own_name(run, all);
    let is_taken = all.iter().filter(|other| own_name(other, all) == name).count() > 1;
    if is_taken { short_id(run.run) } else { name }
}

/// What each run is called by these fields: its values of those that tell the runs apart.
fn names(runs: &[Arc<RunOfSeries>], by: &str) -> Vec<String> {
    let all: Vec<Vec<String>> = fields(Some(by))
        .map(|field| runs.iter().map(|run| value(run, runs, field)).collect())
        .collect();
    let mut telling: Vec<&Vec<String>> =
        all.iter().filter(|values| several(values.iter())).collect();
    // Runs that no field tells apart still need a name.
    if telling.is_empty() {
        telling.extend(all.first());
    }
    let mut names = Vec::new();
    for run in 0..runs.len() {
        let own: Vec<&str> = telling.iter().map(|values| values[run].as_str()).collect();
        names.push(own.join(" · "));
    }
    names
}

/// The value of a label, or else of a fact of machine or environment.
fn value(run: &RunOfSeries, all: &[Arc<RunOfSeries>], field: &str) -> String {
    // A label comes first: the user may have chosen one that is called like a fact.
    if let Some(label) = run.labels.get(field) {
        return label.clone();
    }
    if field == "run" {
        return only_name(run, all);
    }
    run.place.as_ref().and_then(|place| fact(place, field)).unwrap_or_else(|| without(field))
}

/// The value of a fact: the host, the kind of machine, or a named fact of environment or machine.
fn fact(place: &MeasuredOn, field: &str) -> Option<String> {
    match field {
        "host" => Some(place.host.to_string()),
        By::KIND => Some(place.machine.fingerprint.clone()),
        _ => {
            let changing = place.environment.facts.get(field);
            changing.or_else(|| place.machine.facts.get(field)).cloned()
        }
    }
}

/// What people call the arm of runs without this label or fact.
#[must_use]
pub fn without(by: &str) -> String {
    format!("no {by}")
}
