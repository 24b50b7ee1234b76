//! Memory that the control group limits.

use plumb_machine::{Root, cgroup};

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// A limit on memory, page cache included.
pub const CAUSE: Cause = Cause {
    name: "memory-limit",
    summary: "the memory limit of its control group",
    manual: include_str!("memory_limit.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let root = suspect.root;
    let total_kib: u64 =
        root.field("/proc/meminfo", "MemTotal")?.split_whitespace().next()?.parse().ok()?;
    let limit = [soft_limit(root), cgroup::memory_limit(root)].into_iter().flatten().min()?;
    if limit >= total_kib << 10 {
        return None;
    }
    let times = times_reached(root);
    Some(Suspicion {
        evidence: format!("limited to {} MiB; a limit was reached {times} times", limit >> 20),
        // Every container has a limit.
        is_common: times == 0,
        ways: vec![Removal::Knobs(vec![format!("memory-limit={total_kib}KiB")])],
        remedy: Remedy {
            text: "raise the memory limit of the container or service, or use less memory"
                .to_owned(),
            command: "systemctl set-property UNIT MemoryHigh=infinity MemoryMax=infinity"
                .to_owned(),
        },
    })
}

/// The lowest `memory.high`, above which version 2 slows allocations down.
fn soft_limit(root: &Root) -> Option<u64> {
    let groups = cgroup::groups(root, "").into_iter();
    groups.filter_map(|group| root.number(&format!("{group}/memory.high"))).min()
}

/// How often one of the groups reached its limit.
fn times_reached(root: &Root) -> u64 {
    let mut most = 0;
    for group in cgroup::groups(root, "") {
        for event in ["high", "max"] {
            let times = root.field(&format!("{group}/memory.events"), event);
            most = most.max(times.and_then(|times| times.parse().ok()).unwrap_or(0));
        }
    }
    for group in cgroup::groups(root, "memory") {
        most = most.max(root.number(&format!("{group}/memory.failcnt")).unwrap_or(0));
    }
    most
}
