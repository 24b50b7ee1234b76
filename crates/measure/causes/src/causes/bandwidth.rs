//! A path with a limited bandwidth.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// The bandwidth of an emulated path.
pub const CAUSE: Cause = Cause {
    name: "bandwidth",
    summary: "the bandwidth of the path",
    manual: include_str!("bandwidth.md"),
    suspect,
};

const DIRECTIONS: [&str; 2] = ["up", "down"];
const UNLIMITED: &str = "unlimited";

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let mut limits = Vec::new();
    let mut without = Vec::new();
    for name in DIRECTIONS {
        // Without a limit, the value is a word.
        if suspect.setting(name).and_then(Value::integer).is_some() {
            limits.extend(suspect.typed_setting(name));
            without.push((name, Value::Text(UNLIMITED.to_owned())));
        }
    }
    (!limits.is_empty()).then(|| Suspicion {
        evidence: format!("the point has {}", limits.join(" and ")),
        is_common: false,
        ways: vec![Removal::Parameters(without)],
        remedy: Remedy {
            text: "send less (compress, send only changes), or get more bandwidth".to_owned(),
            command: String::new(),
        },
    })
}
