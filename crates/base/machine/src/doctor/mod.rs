//! What is wrong with this machine for measuring.
//!
//! Each check reads a few files and says at most one symptom, with what it saw and where; a file that
//! can't be read is no symptom. `symptoms.rs` has the words for all of them, `Diagnosis` the rule that
//! makes a mark of them.

mod access;
mod company;
mod memory;
mod place;
mod processor;
mod symptoms;

use std::path::Path;

use plumb_model::{Diagnosis, Severity, Symptom};

use crate::root::Root;

pub use company::Watch;
pub use place::Room;
pub use symptoms::{SYMPTOMS, SymptomKind};

/// What a diagnosis is made from.
#[derive(Debug)]
pub struct Patient<'p> {
    /// The kernel's files.
    pub root: &'p Root,
    /// The target directory.
    pub dir: &'p Path,
    /// How much room it has, where that could be asked.
    pub room: Option<Room>,
    /// What happened over about a second.
    pub watched: &'p Watch,
    /// Whether the machine was audited before.
    pub audited: bool,
}

/// What a check saw: the symptom's name, how bad, the evidence, and a fix where it knows a better one.
struct Seen {
    name: &'static str,
    severity: Severity,
    evidence: String,
    fix: Option<String>,
}

impl Seen {
    fn new(name: &'static str, severity: Severity, evidence: impl Into<String>) -> Self {
        Self { name, severity, evidence: evidence.into(), fix: None }
    }

    fn with_fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }
}

/// Everything that is wrong; None where nothing of the machine can be read.
#[must_use]
pub fn diagnose(patient: &Patient<'_>) -> Option<Diagnosis> {
    let root = patient.root;
    let readable = ["/proc/stat", "/proc/cpuinfo", "/sys/devices/system/cpu"];
    if !readable.iter().any(|path| root.path(path).exists()) {
        return None;
    }
    let mut seen = Vec::new();
    seen.extend(company::check(root, patient.watched));
    seen.extend(processor::check(root));
    seen.extend(memory::check(root));
    seen.extend(place::check(root, patient.dir, patient.room));
    seen.extend(access::check(root, patient.audited));
    Some(Diagnosis::new(seen.into_iter().filter_map(symptom).collect()))
}

fn symptom(seen: Seen) -> Option<Symptom> {
    let kind = SYMPTOMS.iter().find(|kind| kind.name == seen.name)?;
    Some(Symptom {
        name: kind.name,
        severity: seen.severity,
        evidence: seen.evidence,
        why: kind.why,
        disturbs: kind.disturbs,
        fix: seen.fix.unwrap_or_else(|| kind.fix.to_owned()),
    })
}

/// `12 %`, `0.3 %`.
fn percent(share: f64) -> String {
    let decimals = if share < 0.0995 { 1 } else { 0 };
    format!("{:.decimals$} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::SYMPTOMS;

    #[test]
    fn every_symptom_has_one_name_a_reason_and_a_fix() {
        for (index, kind) in SYMPTOMS.iter().enumerate() {
            assert!(SYMPTOMS[..index].iter().all(|it| it.name != kind.name), "{}", kind.name);
            assert!(!kind.fix.is_empty() && !kind.why.is_empty());
        }
    }
}
