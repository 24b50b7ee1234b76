//! `--set sched`: scheduling class of the workers, of plumb (`sched.controller`) and of monitors (`sched.monitor`).

use crate::preparation::knob::{Knob, Lasts, Suffix, Unusable};
use crate::preparation::process::option;
use crate::spawn_options::{SchedulingClass, SpawnOption};

/// The scheduling class of the processes of a role.
pub const KNOB: Knob = Knob {
    name: "sched",
    values: "other, batch, idle, fifo:N, rr:N",
    example: "sched=batch",
    summary: "scheduling class of the workers; sched.controller and sched.monitor set it for plumb's other processes",
    manual: include_str!("sched.md"),
    lasts: Lasts::Process,
    suffix: Suffix::Role,
    resolve: |_, role, value| option(role, class(value)?),
    now: |_| None,
};

fn class(value: &str) -> Result<SpawnOption, Unusable> {
    let class = match value {
        "other" => Some(SchedulingClass::Other),
        "batch" => Some(SchedulingClass::Batch),
        "idle" => Some(SchedulingClass::Idle),
        _ => real_time(value, "fifo:")
            .map(SchedulingClass::Fifo)
            .or_else(|| real_time(value, "rr:").map(SchedulingClass::RoundRobin)),
    };
    match class {
        Some(class) => Ok(SpawnOption::SchedulingClass(class)),
        None => Err(Unusable::not_taken(value, "other, batch, idle, fifo:N, rr:N (1–99)")),
    }
}

/// The priority after the name of a real-time class, which is one of `sched_setscheduler(2)`.
fn real_time(value: &str, name: &str) -> Option<u8> {
    let priority = value.strip_prefix(name)?.parse().ok()?;
    (1..=99).contains(&priority).then_some(priority)
}
