//! A low priority.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// A nice level above 0.
pub const CAUSE: Cause = Cause {
    name: "nice",
    summary: "its low priority (nice level)",
    manual: include_str!("nice.md"),
    suspect,
};

/// The field of `/proc/PID/stat` with the nice level (proc(5)).
const NICE_FIELD: usize = 19;

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let level = suspect.stat_field(NICE_FIELD).filter(|&level| level > 0)?;
    Some(Suspicion {
        evidence: format!("plumb, and so what it starts, has the nice level {level}"),
        is_common: false,
        ways: vec![Removal::Knobs(vec!["nice=0".to_owned()])],
        remedy: Remedy {
            text: "start it with the normal priority".to_owned(),
            command: "renice -n 0 -p PID".to_owned(),
        },
    })
}
