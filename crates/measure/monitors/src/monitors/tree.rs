//! plumb and all that it started: what is ours, so that the rest is not.

use std::fs;

use super::worker;
use crate::counter_buffer::{CounterBuffer, CounterField, PutValue};
use crate::monitor::{CounterSource, Monitor, SLOW_HZ};
use plumb_machine::Root;

use crate::files::numbers;

/// The monitor `tree`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "tree",
    summary: "CPU time, major faults and I/O of plumb and all processes that it starts",
    manual: include_str!("tree.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[],
    open: |root| {
        let own = std::process::id();
        let path = root.path(&format!("/proc/{own}/task/{own}/children"));
        fs::read(path).map_err(|_| "this kernel does not list children (CONFIG_PROC_CHILDREN)")?;
        Ok(Box::new(ProcessTree { root: root.clone(), own, found: Vec::new() }))
    },
};

/// With more processes than this, a reading says how many there are and no more: it would disturb what it watches.
/// Once they are gone, their times are with their parents.
pub(crate) const MAX_PROCESSES: usize = 1000;

struct ProcessTree {
    root: Root,
    own: u32,
    found: Vec<u32>,
}

/// Sums over the tree.
#[derive(Debug, Default)]
struct TreeSums {
    processes: u64,
    user: u64,
    system: u64,
    major_faults: u64,
    read: u64,
    written: u64,
}

/// A process and its descendants, up to a few more than [`MAX_PROCESSES`].
pub(crate) fn processes(root: &Root, own: u32) -> Vec<u32> {
    let mut tree = ProcessTree { root: root.clone(), own, found: Vec::new() };
    tree.walk();
    tree.found
}

impl ProcessTree {
    /// Finds plumb and its descendants, up to a few more than [`MAX_PROCESSES`].
    fn walk(&mut self) {
        self.found.clear();
        self.found.push(self.own);
        let mut next = 0;
        while let Some(&pid) = self.found.get(next) {
            next += 1;
            let tasks = fs::read_dir(self.root.path(&format!("/proc/{pid}/task")));
            // A thread's file lists only the children that this thread started.
            for task in tasks.into_iter().flatten().flatten() {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                self.found.extend(numbers(&children).filter_map(|pid| u32::try_from(pid).ok()));
            }
            if self.found.len() > MAX_PROCESSES {
                break;
            }
        }
    }

    fn process_file(&self, pid: u32, name: &str) -> Option<Vec<u8>> {
        fs::read(self.root.path(&format!("/proc/{pid}/{name}"))).ok()
    }

    fn add(&self, pid: u32, sums: &mut TreeSums) {
        // A process that ended meanwhile has left its times with its parent.
        let Some(text) = self.process_file(pid, "stat") else { return };
        sums.processes += 1;
        times(&String::from_utf8_lossy(&text), sums);
        if let Some(text) = self.process_file(pid, "io") {
            worker::io(&String::from_utf8_lossy(&text), &mut |field, value| match field.name {
                "read" => sums.read = sums.read.saturating_add(value),
                _ => sums.written = sums.written.saturating_add(value),
            });
        }
    }
}

/// Own times and faults, and those of children that were waited for.
fn times(text: &str, sums: &mut TreeSums) {
    let Some((_, rest)) = text.rsplit_once(')') else { return };
    for (word, number) in rest.split_ascii_whitespace().zip(3..18) {
        let Ok(value) = word.parse::<u64>() else { continue };
        match number {
            12 | 13 => sums.major_faults = sums.major_faults.wrapping_add(value),
            14 | 16 => sums.user = sums.user.wrapping_add(value),
            15 | 17 => sums.system = sums.system.wrapping_add(value),
            _ => {}
        }
    }
}

impl CounterSource for ProcessTree {
    fn read(&mut self, buffer: &mut CounterBuffer) -> Result<(), String> {
        self.walk();
        if self.found.len() > MAX_PROCESSES {
            let processes = u64::try_from(self.found.len()).unwrap_or(u64::MAX);
            buffer.put(CounterField::gauge("processes", ""), processes);
            return Ok(());
        }
        let mut sums = TreeSums::default();
        for &pid in &self.found {
            self.add(pid, &mut sums);
        }
        let put: &mut PutValue<'_> = &mut |field, value| buffer.put(field, value);
        put(CounterField::gauge("processes", ""), sums.processes);
        put(CounterField::counter("user", "tick"), sums.user);
        put(CounterField::counter("system", "tick"), sums.system);
        put(CounterField::counter("major_faults", ""), sums.major_faults);
        put(CounterField::counter("read", "B"), sums.read);
        put(CounterField::counter("written", "B"), sums.written);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CounterBuffer, MAX_PROCESSES, MONITOR};
    use plumb_machine::Root;
    use std::fs;
    use std::process::Command;

    #[test]
    fn with_very_many_processes_only_their_number_is_read() {
        let root = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let task = root.path().join(format!("proc/{own}/task/{own}"));
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("children"), "").unwrap();
        let mut tree = (MONITOR.open)(&Root::at(root.path())).unwrap();
        let mut buffer = CounterBuffer::new("tree");
        for (turn, children) in [(1, 0), (2, MAX_PROCESSES), (3, 2)] {
            let names: Vec<String> = (0..children).map(|at| (4_000_000 + at).to_string()).collect();
            fs::write(task.join("children"), names.join(" ")).unwrap();
            buffer.turn(turn);
            tree.read(&mut buffer).unwrap();
        }
        let (traces, _) = buffer.finish();
        let counts = traces.iter().find(|trace| trace.counter.name == "tree.processes").unwrap();
        let seen: Vec<u64> = counts.readings.iter().map(|reading| reading.value).collect();
        assert_eq!(seen[1], MAX_PROCESSES as u64 + 1, "{seen:?}");
        // It is read again once they are gone.
        assert!(seen.len() == 3 && seen[2] < 3, "{seen:?}");
    }

    #[test]
    fn a_child_and_what_it_leaves_behind_are_ours() {
        let Ok(mut tree) = (MONITOR.open)(&Root::default()) else { return };
        let mut buffer = CounterBuffer::new("tree");
        buffer.turn(1);
        tree.read(&mut buffer).unwrap();
        let burns = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let mut child = Command::new("sh").args(["-c", burns]).spawn().unwrap();
        buffer.turn(2);
        tree.read(&mut buffer).unwrap();
        child.wait().unwrap();
        buffer.turn(3);
        tree.read(&mut buffer).unwrap();
        let (traces, _) = buffer.finish();
        let of = |name: &str| traces.iter().find(|trace| trace.counter.name == name).unwrap();
        let seen: Vec<u64> =
            of("tree.processes").readings.iter().map(|reading| reading.value).collect();
        assert!(seen[1] > seen[0], "{seen:?}");
        assert!(of("tree.user").amount() > 2, "its ticks are kept when it is gone");
    }
}
