//! `plumb.doctor/1`: the document for machines. Fields may be added, never changed.

use plumb_model::{Diagnosis, Symptom};
use plumb_text::time::rfc3339;
use serde::Serialize;

use crate::doctor::view::LastAudit;

/// Name of the document's form.
pub const DOCTOR_SCHEMA: &str = "plumb.doctor/1";

/// A diagnosis as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.doctor/1"))]
pub struct DoctorDocument {
    /// The name of this form, always `plumb.doctor/1`.
    #[cfg_attr(test, schemars(extend("const" = DOCTOR_SCHEMA)))]
    pub schema: &'static str,
    /// The machine's fingerprint.
    pub machine: String,
    /// The environment's fingerprint.
    pub environment: String,
    /// A to F.
    pub mark: char,
    /// 0 for a note, 1 for a minor symptom, 3 for a major one, 6 for a grave one.
    pub points: u32,
    /// The symptoms, the worst first.
    pub symptoms: Vec<SymptomPart>,
    /// The result of the last audit; null without one.
    pub audit: Option<LastAuditPart>,
}

/// Something that costs precision.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SymptomPart {
    /// The symptom's word: `governor`.
    pub name: &'static str,
    /// How bad it is here.
    #[cfg_attr(test, schemars(extend("enum" = ["note", "minor", "major", "grave"])))]
    pub effect: &'static str,
    /// The evidence, and its place.
    pub evidence: String,
    /// What it does to measurements.
    pub why: &'static str,
    /// The kinds of work whose results it moves.
    pub disturbs: Vec<&'static str>,
    /// The fix of the problem.
    pub fix: String,
}

/// The result of the last audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LastAuditPart {
    /// When it was made.
    pub at: String,
    /// By how much equals differed.
    pub noise_floors: Vec<NoiseFloorPart>,
}

/// How small a change a kind of work shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NoiseFloorPart {
    /// The kind of work.
    pub class: String,
    /// The largest relative difference between equals, at 95 %.
    pub noise_floor: f64,
}

/// The diagnosis of a machine as a document.
#[must_use]
pub fn doctor_document(
    machine: &str,
    environment: &str,
    diagnosis: &Diagnosis,
    audit: Option<&LastAudit>,
) -> DoctorDocument {
    DoctorDocument {
        schema: DOCTOR_SCHEMA,
        machine: machine.to_owned(),
        environment: environment.to_owned(),
        mark: diagnosis.grade(),
        points: diagnosis.points(),
        symptoms: diagnosis.symptoms.iter().map(symptom).collect(),
        audit: audit.map(last_audit),
    }
}

fn symptom(symptom: &Symptom) -> SymptomPart {
    SymptomPart {
        name: symptom.name,
        effect: symptom.severity.word(),
        evidence: symptom.evidence.clone(),
        why: symptom.why,
        disturbs: symptom.disturbs.to_vec(),
        fix: symptom.fix.clone(),
    }
}

fn last_audit(audit: &LastAudit) -> LastAuditPart {
    LastAuditPart {
        at: rfc3339(audit.at_unix_ns),
        noise_floors: audit
            .floors
            .iter()
            .map(|(class, floor)| NoiseFloorPart { class: class.clone(), noise_floor: *floor })
            .collect(),
    }
}
