//! What knobs that hold for processes share: whom they hold for, and lists of CPUs.

use plumb_model::Role;

use crate::preparation::knob::{Resolved, Unusable};
use crate::spawn_options::SpawnOption;

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
    let range = |part: &str| -> Option<std::ops::RangeInclusive<u32>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first <= last && last < 65_536).then_some(first..=last)
    };
    let ranges: Option<Vec<_>> = value.split(',').map(range).collect();
    let ranges = ranges.ok_or_else(|| Unusable::not_taken(value, "CPUs, as in 0-1,3"))?;
    Ok(ranges.into_iter().flatten().collect())
}
