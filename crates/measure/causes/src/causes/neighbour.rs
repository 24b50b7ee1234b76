//! Other programs that use the CPUs.

use std::thread::sleep;
use std::time::Duration;

use plumb_machine::Root;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};
use crate::causes::cpu_weight::online;
use crate::causes::{cpu_quota, cpu_weight, nice, scheduling_class};

/// Other programs of this machine that are runnable all the time.
pub const CAUSE: Cause = Cause {
    name: "neighbour",
    summary: "other programs that use the CPUs",
    manual: include_str!("neighbour.md"),
    suspect,
};

/// A program that only runs now and then is not seen at every one of so many readings.
const READINGS: usize = 10;
const BETWEEN_READINGS: Duration = Duration::from_millis(30);

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    // Next to a neighbour, a low priority is the likelier cause, and a high one would remove both.
    let lower = [&cpu_quota::CAUSE, &cpu_weight::CAUSE, &nice::CAUSE, &scheduling_class::CAUSE];
    if lower.iter().any(|cause| (cause.suspect)(suspect).is_some()) {
        return None;
    }
    let list = suspect
        .status("Cpus_allowed_list")
        .or_else(|| suspect.root.text("/sys/devices/system/cpu/online"))?;
    let cpus = u64::from(online(&list)?);
    let mut others = other_runnable_threads(suspect.root)?;
    for _ in 1..READINGS {
        // On an idle machine the first reading is enough.
        if others == 0 {
            return None;
        }
        sleep(BETWEEN_READINGS);
        others = others.min(other_runnable_threads(suspect.root)?);
    }
    // A few threads of many CPUs leave room.
    if others == 0 || 2 * others < cpus {
        return None;
    }
    let threads = if others == 1 { "thread was" } else { "threads were" };
    // A priority counts only in the same session then.
    let has_autogroups = suspect.root.number("/proc/sys/kernel/sched_autogroup_enabled") == Some(1);
    let sessions = if has_autogroups { "; nice counts only within a session here" } else { "" };
    Some(Suspicion {
        evidence: format!(
            "at least {others} other {threads} runnable at each of {READINGS} readings, for {cpus} CPUs{sessions}"
        ),
        is_common: false,
        ways: vec![Removal::Knobs(vec!["nice=-20".to_owned()])],
        remedy: Remedy {
            text: "stop the other programs or move them to other CPUs, or give this one a higher priority".to_owned(),
            command: "ps -eo pid,ni,pcpu,comm --sort=-pcpu".to_owned(),
        },
    })
}

/// The threads of this machine that run or wait for a CPU, without the one that reads this: the fourth field of `/proc/loadavg`
/// (proc(5)).
fn other_runnable_threads(root: &Root) -> Option<u64> {
    let text = root.text("/proc/loadavg")?;
    let (runnable, _) = text.split_whitespace().nth(3)?.split_once('/')?;
    Some(runnable.parse::<u64>().ok()?.saturating_sub(1))
}
