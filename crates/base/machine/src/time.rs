//! Moments, and who carries a run out.

use std::time::{SystemTime, UNIX_EPOCH};

use plumb_model::Owner;
use rustix::time::{ClockId, clock_gettime};

use crate::root::Root;

/// The same moment on two clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub monotonic_ns: u64,
    /// Wall clock, in nanoseconds since 1970 (UTC).
    pub unix_ns: i64,
}

/// Reads the wall clock and the monotonic clock.
#[must_use]
pub fn now() -> Moment {
    let time = clock_gettime(ClockId::Monotonic);
    let monotonic_ns = time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment { monotonic_ns, unix_ns: i64::try_from(since_1970.as_nanos()).unwrap_or(i64::MAX) }
}

/// The kernel's random id of this boot; empty where /proc does not report.
#[must_use]
pub fn boot_id(root: &Root) -> String {
    root.text("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// This process as the owner of a run.
#[must_use]
pub fn owner(root: &Root) -> Owner {
    let pid = std::process::id();
    Owner { pid, start_ticks: start_ticks(root, pid).unwrap_or(0), boot_id: boot_id(root) }
}

/// Whether the owner of a run still lives: same boot, same pid, same start time.
#[must_use]
pub fn is_alive(root: &Root, owner: &Owner) -> bool {
    // After a boot, another process may have the same pid and, counted from the boot, the same start.
    boot_id(root) == owner.boot_id && start_ticks(root, owner.pid) == Some(owner.start_ticks)
}

/// Start time of a process in clock ticks since boot: field 22 of /proc/PID/stat.
fn start_ticks(root: &Root, pid: u32) -> Option<u64> {
    let stat = root.text(&format!("/proc/{pid}/stat"))?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(22 - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{is_alive, owner};
    use crate::root::Root;
    use plumb_model::Owner;

    #[test]
    fn this_process_is_alive_and_an_older_one_with_its_pid_is_not() {
        let root = Root::default();
        let me = owner(&root);
        assert!(is_alive(&root, &me));
        assert!(!is_alive(&root, &Owner { start_ticks: me.start_ticks + 1, ..me.clone() }));
        assert!(!is_alive(&root, &Owner { boot_id: "other".into(), ..me }));
    }
}
