//! What differs between the arms of a comparison besides what is compared, and how bad that is.

use plumb_model::RunRecord;

/// How bad a difference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// It is not known to move any number.
    Harmless,
    /// It may well be why numbers differ.
    Relevant,
    /// The numbers are not of the same thing.
    Fatal,
}

impl Grade {
    /// The word that is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Harmless => "harmless",
            Self::Relevant => "relevant",
            Self::Fatal => "fatal",
        }
    }
}

/// A field that is not the same in all arms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The field: a fact of machine or environment, or of how the run was carried out.
    pub field: String,
    /// Its value in every arm; several values of one arm are joined by ` / `.
    pub values: Vec<String>,
    /// How bad that is.
    pub grade: Grade,
}

/// Facts that are not known to move any number.
const HARMLESS: [&str; 4] = ["device", "kernel_build", "labels", "plumb"];
/// Facts without which the numbers are not of the same thing.
const FATAL: [&str; 2] = ["load", "status"];

/// What differs between the arms, worst first.
pub(crate) fn differences(arms: &[&[&RunRecord]]) -> Vec<Difference> {
    let all: Vec<Vec<(String, String)>> = arms
        .iter()
        .map(|runs| {
            let mut facts: Vec<_> = runs.iter().flat_map(|record| facts(record)).collect();
            facts.sort();
            facts.dedup();
            facts
        })
        .collect();
    let mut fields: Vec<&String> = all.iter().flatten().map(|(field, _)| field).collect();
    fields.sort();
    fields.dedup();
    let mut found: Vec<Difference> = fields
        .into_iter()
        .filter_map(|field| {
            let values: Vec<String> = all.iter().map(|facts| value(facts, field)).collect();
            let differs = values.windows(2).any(|two| two[0] != two[1]);
            differs.then(|| Difference { field: field.clone(), values, grade: grade(field) })
        })
        .collect();
    found.sort_by(|one, other| other.grade.cmp(&one.grade).then(one.field.cmp(&other.field)));
    found
}

/// How bad it is when this field differs.
pub(crate) fn grade(field: &str) -> Grade {
    if HARMLESS.contains(&field) {
        Grade::Harmless
    } else if FATAL.contains(&field) {
        Grade::Fatal
    } else {
        Grade::Relevant
    }
}

fn value(facts: &[(String, String)], field: &str) -> String {
    let values: Vec<&str> =
        facts.iter().filter(|(name, _)| name == field).map(|(_, value)| value.as_str()).collect();
    if values.is_empty() { "none".to_owned() } else { values.join(" / ") }
}

/// Everything about a run that could make its numbers other than another's.
fn facts(record: &RunRecord) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    for target in &record.targets {
        let both = target.machine.facts.iter().chain(&target.environment.facts);
        facts.extend(both.map(|(field, value)| (field.clone(), value.clone())));
    }
    facts.push(("plumb".into(), record.plumb.clone()));
    facts.push(("status".into(), format!("{:?}", record.status).to_lowercase()));
    let loads = record.plan.companions.iter().map(|it| it.point.name());
    facts.extend(loads.map(|load| ("load".to_owned(), load)));
    for invocation in record.invocations.iter().filter(|it| it.role == plumb_model::Role::Workload)
    {
        let versions = &invocation.ready.versions;
        facts.extend(
            versions.iter().map(|(of, version)| (format!("{of} version"), version.clone())),
        );
    }
    facts
}
