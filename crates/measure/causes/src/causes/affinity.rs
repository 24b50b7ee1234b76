//! Fewer CPUs than the machine has.

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};
use crate::causes::cpu_weight::online;

/// An affinity or a cpuset.
pub const CAUSE: Cause = Cause {
    name: "affinity",
    summary: "being restricted to few CPUs",
    manual: include_str!("affinity.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let allowed = suspect.status("Cpus_allowed_list")?;
    let all = suspect.root.text("/sys/devices/system/cpu/online")?;
    if online(&allowed)? >= online(&all)? {
        return None;
    }
    // A cpuset outside that of plumb; without root, a wider affinity, which a cpuset would silently narrow again.
    let mut ways = vec![Removal::Knobs(vec![format!("cpuset={all}")])];
    if !has_narrow_cpuset(suspect, online(&all)?) {
        ways.push(Removal::Knobs(vec![format!("pin={all}")]));
    }
    Some(Suspicion {
        evidence: format!("restricted to CPUs {allowed}; CPUs {all} are online"),
        is_common: false,
        ways,
        remedy: Remedy {
            text: "allow more CPUs (taskset, cpuset of the container or service)".to_owned(),
            command: format!("taskset -pc {all} PID"),
        },
    })
}

/// Whether the cpuset of plumb's control group has fewer CPUs than these.
fn has_narrow_cpuset(suspect: &Suspect<'_>, online_cpus: u32) -> bool {
    let path = suspect.root.text("/proc/self/cpuset").unwrap_or_default();
    let own = path.trim_end_matches('/');
    let files = [
        format!("/sys/fs/cgroup{own}/cpuset.cpus.effective"),
        format!("/sys/fs/cgroup/cpuset{own}/cpuset.effective_cpus"),
    ];
    files
        .iter()
        .filter_map(|file| online(&suspect.root.text(file)?))
        .any(|allowed| allowed < online_cpus)
}
