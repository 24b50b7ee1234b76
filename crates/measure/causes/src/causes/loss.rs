//! A path that loses packets.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// The losses of an emulated path.
pub const CAUSE: Cause = Cause {
    name: "loss",
    summary: "packet loss on the path",
    manual: include_str!("loss.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    suspect.setting("loss").and_then(Value::integer).filter(|loss| *loss > 0)?;
    Some(Suspicion {
        evidence: format!("the point has {}", suspect.typed_setting("loss")?),
        is_common: false,
        ways: vec![Removal::Parameters(vec![("loss", Value::Integer(0))])],
        remedy: Remedy {
            text: "replace the cable, port or wireless link that loses packets; until then, another congestion control such as BBR suffers less".to_owned(),
            command: "ip -s link".to_owned(),
        },
    })
}
