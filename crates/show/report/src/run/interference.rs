//! How often something else disturbed a run, in its document.

use std::collections::BTreeMap;

use plumb_analysis::Disturbances;
use plumb_model::OnInterference;
use serde::Serialize;

/// How often something else disturbed a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct InterferencePart {
    /// The treatment of disturbed invocations: `keep` or `retry`.
    #[cfg_attr(test, schemars(extend("enum" = ["keep", "retry"])))]
    pub on_interference: &'static str,
    /// Invocations that were measured, whether or not they count.
    pub invocations: usize,
    /// Those of them that something else disturbed.
    pub disturbed: usize,
    /// Those that do not count.
    pub excluded: usize,
    /// Rule → invocations in which it found something.
    pub rules: BTreeMap<String, usize>,
}

impl InterferencePart {
    /// The document of a finding.
    #[must_use]
    pub fn of(found: &Disturbances) -> Self {
        Self {
            on_interference: match found.on_interference {
                OnInterference::Keep => "keep",
                OnInterference::Retry => "retry",
            },
            invocations: found.invocations,
            disturbed: found.disturbed,
            excluded: found.excluded,
            rules: found.rules.clone(),
        }
    }
}
