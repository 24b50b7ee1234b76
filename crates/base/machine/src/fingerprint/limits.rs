//! What plumb's own group, and whoever started it, let it use.

use crate::cgroup;
use crate::fingerprint::recorded::RecordedFacts;
use crate::root::Root;
use plumb_units::binary_size;

pub fn read(root: &Root, facts: &mut RecordedFacts) {
    facts.put("cpus_allowed", root.field("/proc/self/status", "Cpus_allowed_list"));
    let known = root.path("/proc/self/cgroup").exists();
    let quota = cgroup::cpu_quota(root).map(|cpus| format!("{cpus:.2} CPUs"));
    let limit = cgroup::memory_limit(root).map(binary_size);
    facts.put("cpu_quota", known.then(|| quota.unwrap_or_else(|| "none".into())));
    facts.put("memory_limit", known.then(|| limit.unwrap_or_else(|| "none".into())));
}
