//! A path with a long round trip.

use plumb_model::Value;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// The delay of an emulated path.
pub const CAUSE: Cause = Cause {
    name: "delay",
    summary: "the round-trip time of the path",
    manual: include_str!("delay.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    suspect.setting("rtt").and_then(Value::integer).filter(|ns| *ns > 0)?;
    // Jitter and overtaking are possible only with a delay.
    let without = ["rtt", "jitter", "reorder"].map(|name| (name, Value::Integer(0)));
    Some(Suspicion {
        evidence: format!("the point has {}", suspect.typed_setting("rtt")?),
        // Nobody can change a distance: what else limits the path is more useful.
        is_common: true,
        ways: vec![Removal::Parameters(without.to_vec())],
        remedy: Remedy {
            text: "make fewer round trips (batches, pipelining, longer connections), allow a larger window, or move the ends closer together".to_owned(),
            command: String::new(),
        },
    })
}
