//! When processes were started, as /proc says: bootchart in hindsight, for machines without systemd.

use plumb_machine::Root;

/// Ticks per second of /proc/PID/stat, on every architecture that Linux has today (USER_HZ).
const TICKS_PER_SECOND: u64 = 100;
/// The place of the start among the fields after the name of a process.
const START_FIELD: usize = 19;
/// A tick, in microseconds.
const TICK_US: u64 = 1_000_000 / TICKS_PER_SECOND;

/// The earliest start of a process with one of these names, in microseconds since the kernel started.
pub fn first_start_us(root: &Root, names: &[&str]) -> Option<u64> {
    let processes = root.names("/proc");
    let starts = processes
        .iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|id| root.text(&format!("/proc/{id}/stat")))
        .filter_map(|stat| start_us(&stat, names));
    starts.min()
}

/// When the process of this /proc/PID/stat was started, if it has one of these names.
fn start_us(stat: &str, names: &[&str]) -> Option<u64> {
    let (head, fields) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    if !names.contains(&name) {
        return None;
    }
    let ticks: u64 = fields.split_whitespace().nth(START_FIELD)?.parse().ok()?;
    Some(ticks * TICK_US)
}

/// When PID 1 was started, in microseconds since the kernel started.
pub fn first_process_us(root: &Root) -> Option<u64> {
    let stat = root.text("/proc/1/stat")?;
    let (head, _) = stat.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    start_us(&stat, &[name])
}

#[cfg(test)]
mod tests {
    use super::{first_process_us, first_start_us};
    use plumb_machine::Root;

    fn stat(id: u32, name: &str, ticks: u64) -> String {
        format!("{id} ({name}) S 1 1 1 0 -1 4194560 9 0 0 0 0 0 0 0 20 0 1 0 {ticks} 100 5 1")
    }

    #[test]
    fn the_earliest_process_of_a_name_counts() {
        let tree = tempfile::tempdir().unwrap();
        let root = Root::at(tree.path());
        let plant = |id: u32, name: &str, ticks| {
            let folder = tree.path().join(format!("proc/{id}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("stat"), stat(id, name, ticks)).unwrap();
        };
        assert_eq!((first_process_us(&root), first_start_us(&root, &["getty"])), (None, None));
        plant(1, "init", 31);
        plant(300, "getty", 900);
        plant(200, "getty", 450);
        // A name may have brackets of its own.
        plant(400, "a) (getty", 20);
        assert_eq!(first_process_us(&root), Some(310_000));
        assert_eq!(first_start_us(&root, &["getty", "agetty"]), Some(4_500_000));
        assert_eq!(first_start_us(&root, &["a) (getty"]), Some(200_000));
        assert_eq!(first_start_us(&root, &["sshd"]), None);
    }
}
