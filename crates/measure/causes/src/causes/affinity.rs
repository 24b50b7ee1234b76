//! Fewer CPUs than the machine has.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};
use crate::causes::cpu_weight::online;

/// An affinity or a cpuset.
pub const CAUSE: Cause = Cause {
    name: "affinity",
    summary: "the few CPUs that it may use",
    manual: include_str!("affinity.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let allowed = suspect.status("Cpus_allowed_list")?;
    let all = suspect.root.text("/sys/devices/system/cpu/online")?;
    if online(&allowed)? >= online(&all)? {
        return None;
    }
    Some(Suspicion {
        evidence: format!("it may use the CPUs {allowed} only, the machine has {all}"),
        // A cpuset outside that of plumb; without root, a wider affinity.
        is_common: false,
        ways: vec![
            Removal::Knobs(vec![format!("cpuset={all}")]),
            Removal::Knobs(vec![format!("pin={all}")]),
        ],
        remedy: Remedy {
            text: "allow more CPUs (taskset, cpuset of the container or service)".to_owned(),
            command: format!("taskset -pc {all} PID"),
        },
    })
}
