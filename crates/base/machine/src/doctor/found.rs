//! The results of checks.

use plumb_model::Severity;

/// A result of a check: the symptom's name, its severity, the evidence, and a fix if the check knows a better one.
pub struct FoundSymptom {
    pub name: &'static str,
    pub severity: Severity,
    pub evidence: String,
    pub fix: Option<String>,
}

impl FoundSymptom {
    pub fn new(name: &'static str, severity: Severity, evidence: impl Into<String>) -> Self {
        Self { name, severity, evidence: evidence.into(), fix: None }
    }

    pub fn with_fix(self, fix: impl Into<String>) -> Self {
        Self { fix: Some(fix.into()), ..self }
    }
}

/// `12 %`, `0.3 %`.
pub fn percent(share: f64) -> String {
    let decimals = if share < 0.0995 { 1 } else { 0 };
    plumb_units::percent_to(share, decimals)
}
