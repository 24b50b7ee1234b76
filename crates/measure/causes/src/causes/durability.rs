//! Waiting for the disk at each write.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// Writes that wait until they are on the disk.
pub const CAUSE: Cause = Cause {
    name: "durability",
    summary: "waiting until each write is durable",
    manual: include_str!("durability.md"),
    suspect,
};

const PARAMETER: &str = "durability";
const NONE: &str = "none";

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let word = suspect.point.settings.get(PARAMETER)?.to_string();
    (word != NONE).then(|| Suspicion {
        evidence: format!("the point has {PARAMETER}={word}"),
        is_common: true,
        ways: vec![Removal::Parameters(vec![(PARAMETER, Value::Text(NONE.to_owned()))])],
        remedy: Remedy {
            text: "commit several writes at once, use a disk whose cache survives a power failure, or accept losing the last writes".to_owned(),
            command: String::new(),
        },
    })
}
