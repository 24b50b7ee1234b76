//! All checks.

use std::path::Path;

use plumb_model::{Diagnosis, Symptom};

use crate::doctor::directory::FilesystemRoom;
use crate::doctor::found::FoundSymptom;
use crate::doctor::neighbours::MachineActivity;
use crate::doctor::symptoms::SYMPTOMS;
use crate::doctor::{access, directory, memory, neighbours, processor};
use crate::root::Root;

/// The input of a diagnosis.
#[derive(Debug)]
pub struct DiagnosisInput<'p> {
    /// The kernel's files.
    pub root: &'p Root,
    /// The target directory.
    pub dir: &'p Path,
    /// How much room it has, if that could be asked.
    pub room: Option<FilesystemRoom>,
    /// The activity over about a second.
    pub activity: &'p MachineActivity,
    /// Whether the machine was audited before.
    pub audited: bool,
}

/// Everything that is wrong; None if nothing of the machine can be read.
#[must_use]
pub fn diagnose(input: &DiagnosisInput<'_>) -> Option<Diagnosis> {
    let root = input.root;
    let readable = ["/proc/stat", "/proc/cpuinfo", "/sys/devices/system/cpu"];
    if !readable.iter().any(|path| root.path(path).exists()) {
        return None;
    }
    let mut seen = Vec::new();
    seen.extend(neighbours::check(root, input.activity));
    seen.extend(processor::check(root));
    seen.extend(memory::check(root));
    seen.extend(directory::check(root, input.dir, input.room));
    seen.extend(access::check(root, input.audited));
    Some(Diagnosis::new(seen.into_iter().filter_map(symptom).collect()))
}

fn symptom(seen: FoundSymptom) -> Option<Symptom> {
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
