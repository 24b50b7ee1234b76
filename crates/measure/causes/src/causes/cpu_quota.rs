//! A quota of CPU time: containers and small cloud instances.

use plumb_machine::cgroup;

use crate::cause::{Cause, Remedy, Suspect, Suspicion};
use crate::causes::cpu_weight::own_group;

/// A quota of the control group.
pub const CAUSE: Cause = Cause {
    name: "cpu-quota",
    summary: "the CPU quota of its control group",
    manual: include_str!("cpu_quota.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    let quota = cgroup::cpu_quota(suspect.root)?;
    let (cpus, ways) = own_group(suspect.root)?;
    if quota >= f64::from(cpus) {
        return None;
    }
    let throttled = cgroup::throttled(suspect.root).filter(|&times| times > 0);
    let times =
        throttled.map_or_else(String::new, |times| format!(", and was throttled {times} times"));
    Some(Suspicion {
        evidence: format!(
            "plumb's control group may use {:.0} % of one CPU, the machine has {cpus} CPUs{times}",
            100.0 * quota
        ),
        is_common: false,
        ways,
        remedy: Remedy {
            text: "raise the quota of the service, container (docker update --cpus) or pod (limits.cpu)"
                .to_owned(),
            command: "systemctl set-property UNIT CPUQuota=".to_owned(),
        },
    })
}
