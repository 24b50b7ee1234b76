//! A scheduling class that waits for all others.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// The class `batch` or `idle`.
pub const CAUSE: Cause = Cause {
    name: "scheduling-class",
    summary: "its scheduling class",
    manual: include_str!("scheduling_class.md"),
    suspect,
};

/// The field of `/proc/PID/stat` with the scheduling class (proc(5)).
const POLICY_FIELD: usize = 41;

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    // SCHED_BATCH and SCHED_IDLE of sched(7).
    let name = match suspect.stat_field(POLICY_FIELD)? {
        3 => "batch",
        5 => "idle",
        _ => return None,
    };
    Some(Suspicion {
        evidence: format!("plumb, and so what it starts, has the scheduling class {name}"),
        is_common: false,
        ways: vec![Removal::Knobs(vec!["sched=other".to_owned()])],
        remedy: Remedy {
            text: "start it with the normal scheduling class".to_owned(),
            command: "chrt --other -p 0 PID".to_owned(),
        },
    })
}
