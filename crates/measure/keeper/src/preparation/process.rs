//! Shared parts of knobs for processes: the processes that they apply to, and lists of CPUs.

use std::ops::RangeInclusive;

use plumb_model::Role;

use crate::preparation::knob::{Resolved, Unusable};
use crate::spawn_options::SpawnOption;

/// The highest number of a CPU that is taken. `0-4294967295` would become a list of 16 GiB.
const LAST_CPU: u32 = 65_535;

/// An option for the role that is named after the dot; for the workload without a name.
pub fn option(role: &str, option: SpawnOption) -> Result<Resolved, Unusable> {
    let for_all = matches!(
        option,
        SpawnOption::Nice(_) | SpawnOption::SchedulingClass(_) | SpawnOption::Pin(_)
    );
    let role = match role {
        "" | "workload" => Some(Role::Workload),
        "monitor" if for_all => Some(Role::Monitor),
        "controller" if for_all => None,
        other => return Err(Unusable::Usage(format!("it can't be set for `{other}`"))),
    };
    Ok(Resolved::Spawn(role, option))
}

/// `0-1,3` as numbers.
pub fn cpus(value: &str) -> Result<Vec<u32>, Unusable> {
    let mut cpus = Vec::new();
    for part in value.split(',') {
        let range = cpu_range(part);
        cpus.extend(
            range.ok_or_else(|| Unusable::not_taken(value, "a list of CPUs, such as 0-1,3"))?,
        );
    }
    Ok(cpus)
}

/// `0-1` or `3`; None if it is neither.
fn cpu_range(text: &str) -> Option<RangeInclusive<u32>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let first: u32 = first.trim().parse().ok()?;
    let last: u32 = last.trim().parse().ok()?;
    (first <= last && last <= LAST_CPU).then_some(first..=last)
}
