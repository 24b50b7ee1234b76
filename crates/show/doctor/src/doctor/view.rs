//! A diagnosis in one line, and the audit next to it.

use plumb_model::{Diagnosis, Severity};
use plumb_text::counted;

/// The result of the last audit of a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LastAudit {
    /// When it was made, in nanoseconds since 1970.
    pub at_unix_ns: i64,
    /// The noise floor of each kind of work: by how much equals differed.
    pub floors: Vec<(String, f64)>,
}

/// `for measuring: 1 major, 3 minor symptoms and 2 notes; 6 points of 12 that make F`.
pub(crate) fn summary(diagnosis: &Diagnosis) -> String {
    let counts: Vec<String> = Severity::ALL
        .into_iter()
        .filter_map(|severity| {
            let count =
                diagnosis.symptoms.iter().filter(|symptom| symptom.severity == severity).count();
            (count > 0).then(|| match severity {
                Severity::Note => counted(count, "note", "notes"),
                _ => format!("{count} {}", severity.word()),
            })
        })
        .collect();
    match (counts.as_slice(), diagnosis.points()) {
        // Notes alone cost no points and are no problem.
        ([], _) => "for measuring: no problems found".to_owned(),
        (_, 0) => format!("for measuring: no problems found ({})", counts.join(", ")),
        (_, 1) => format!("for measuring: {}: 1 point", counts.join(", ")),
        (_, points) => format!("for measuring: {}: {points} points", counts.join(", ")),
    }
}
