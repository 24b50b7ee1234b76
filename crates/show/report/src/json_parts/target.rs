//! Machine and environment in a document.

use std::collections::BTreeMap;

use plumb_model::Target;
use serde::Serialize;

/// The machine that a result was measured on, and its state at that time.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TargetPart {
    /// `local`; `unknown` of results of other tools.
    pub name: String,
    /// Which one of the machines of its kind: a name that somebody gave it, or `id1:` and a hash of its
    /// machine id; null when that is unknown.
    pub host: Option<String>,
    /// Of which kind it is.
    pub machine: FactsPart,
    /// The facts that may change.
    pub environment: FactsPart,
}

/// Facts with their hash.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FactsPart {
    /// Hash over the sorted facts.
    pub fingerprint: String,
    /// The facts that were read, by name.
    pub facts: BTreeMap<String, String>,
}

/// A target as a part of a document.
pub(crate) fn target(target: &Target) -> TargetPart {
    TargetPart {
        name: target.name.clone(),
        host: target.host.known().map(str::to_owned),
        machine: FactsPart {
            fingerprint: target.machine.fingerprint.clone(),
            facts: target.machine.facts.clone(),
        },
        environment: FactsPart {
            fingerprint: target.environment.fingerprint.clone(),
            facts: target.environment.facts.clone(),
        },
    }
}
