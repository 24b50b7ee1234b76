//! A low weight of the control group: others get the CPU first.

use plumb_machine::{Root, cgroup};

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};

/// A low weight of the control group.
pub const CAUSE: Cause = Cause {
    name: "cpu-weight",
    summary: "the low CPU weight of its control group",
    manual: include_str!("cpu_weight.md"),
    suspect,
};

/// The default of `cpu.weight` (version 2).
const DEFAULT_WEIGHT: u64 = 100;
/// The default of `cpu.shares` (version 1).
const DEFAULT_SHARES: u64 = 1024;

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let root = suspect.root;
    let (cpus, ways) = own_group(root)?;
    // A group of its own removes both; the quota is then the likelier one.
    if cgroup::cpu_quota(root).is_some_and(|quota| quota < f64::from(cpus)) {
        return None;
    }
    let two = lowest(root, "", "cpu.weight").filter(|&weight| weight < DEFAULT_WEIGHT);
    let one = lowest(root, "cpu", "cpu.shares").filter(|&shares| shares < DEFAULT_SHARES);
    let evidence = match (two, one) {
        (Some(weight), _) => format!("cpu.weight is {weight} instead of {DEFAULT_WEIGHT}"),
        (None, Some(shares)) => format!("cpu.shares is {shares} instead of {DEFAULT_SHARES}"),
        (None, None) => return None,
    };
    Some(Suspicion {
        evidence,
        is_common: false,
        ways,
        remedy: Remedy {
            text: "raise the weight of the container or service, or lower that of its neighbours"
                .into(),
            command: "systemctl set-property UNIT CPUWeight=100".into(),
        },
    })
}

/// The number of CPUs that are online, and how to put the workload into a control group without limits; no way if the
/// highest group that is visible here is limited, too: a new one would be below it.
pub(super) fn own_group(root: &Root) -> Option<(u32, Vec<Removal>)> {
    let cpus = online(&root.text("/sys/devices/system/cpu/online")?)?;
    let removal = Removal::Knobs(vec![format!("cpu-quota={}%", 100 * cpus)]);
    Some((cpus, if is_limited_outside(root) { Vec::new() } else { vec![removal] }))
}

/// Whether a container has its quota from outside: real top groups have no such file, or no limit in it.
fn is_limited_outside(root: &Root) -> bool {
    let two = root.text("/sys/fs/cgroup/cpu.max").is_some_and(|quota| !quota.starts_with("max"));
    let one = ["cpu", "cpu,cpuacct"];
    two || one.iter().any(|mount| {
        // -1 is no quota, and no number that is read here.
        root.number(&format!("/sys/fs/cgroup/{mount}/cpu.cfs_quota_us")).is_some()
    })
}

/// The lowest value of a file in the control group of plumb and in those above it.
fn lowest(root: &Root, controller: &str, file: &str) -> Option<u64> {
    let groups = cgroup::groups(root, controller).into_iter();
    groups.filter_map(|group| root.number(&format!("{group}/{file}"))).min()
}

/// How many CPUs a list such as `0-3,8` has.
pub(super) fn online(list: &str) -> Option<u32> {
    let mut cpus = 0;
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let first: u32 = first.trim().parse().ok()?;
        let last: u32 = last.trim().parse().ok()?;
        cpus += last.checked_sub(first)? + 1;
    }
    Some(cpus)
}
