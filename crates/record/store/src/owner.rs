//! Whether the process that carries a run out still lives.

use std::fs;

use plumb_model::Owner;

/// Whether this very process lives: same pid, same start time, same boot.
pub(crate) fn lives(owner: &Owner) -> bool {
    boot_id().is_some_and(|boot| boot == owner.boot_id)
        && start_ticks(owner.pid).is_some_and(|ticks| ticks == owner.start_ticks)
}

fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// Field 22 of /proc/PID/stat; None when there is no such process, or only its remains.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold spaces and parentheses: fields count from the last one.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{boot_id, lives, start_ticks};
    use plumb_model::Owner;

    #[test]
    fn only_the_same_process_of_the_same_boot_lives() {
        let pid = std::process::id();
        let owner =
            Owner { pid, start_ticks: start_ticks(pid).unwrap(), boot_id: boot_id().unwrap() };
        assert!(lives(&owner));
        assert!(!lives(&Owner { start_ticks: owner.start_ticks + 1, ..owner.clone() }));
        assert!(!lives(&Owner { boot_id: "another".into(), ..owner.clone() }));
        assert!(!lives(&Owner { pid: u32::MAX, ..owner }));
    }
}
