//! plumb and all that it started: what is ours, so that the rest is not.

use std::fs;

use super::worker;
use crate::counter_buffer::{CounterBuffer, CounterField, PutValue};
use crate::monitor::{CounterSource, Monitor, SLOW_HZ};
use plumb_machine::Root;
use plumb_model::MEDIUM_HOLDER;

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
        Ok(Box::new(ProcessTree::new(root, own)))
    },
};

/// With more processes than this, a reading says how many there are and no more: it would disturb what it watches.
/// Once they are gone, their times are with their parents.
pub(crate) const MAX_PROCESSES: usize = 1000;

/// plumb, its keeper and what the keeper starts: what holds a medium is no deeper in the tree.
const HOLDER_DEPTH: usize = 2;

struct ProcessTree {
    root: Root,
    own: u32,
    found: Vec<OwnProcess>,
}

/// A process of the tree.
#[derive(Debug, Clone, Copy)]
struct OwnProcess {
    pid: u32,
    /// How many generations after plumb.
    depth: usize,
    /// Whether it holds a medium, or was started by a process that does.
    is_of_medium: bool,
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
    /// User and system time of what holds the media.
    media: u64,
}

/// A process and its descendants, up to a few more than [`MAX_PROCESSES`].
pub(crate) fn processes(root: &Root, own: u32) -> Vec<u32> {
    let mut tree = ProcessTree::new(root, own);
    tree.walk();
    tree.found.iter().map(|process| process.pid).collect()
}

impl ProcessTree {
    fn new(root: &Root, own: u32) -> Self {
        Self { root: root.clone(), own, found: Vec::new() }
    }

    /// Finds plumb and its descendants, up to a few more than [`MAX_PROCESSES`].
    fn walk(&mut self) {
        self.found.clear();
        self.found.push(OwnProcess { pid: self.own, depth: 0, is_of_medium: false });
        let mut next = 0;
        while let Some(&parent) = self.found.get(next) {
            next += 1;
            let tasks = fs::read_dir(self.root.path(&format!("/proc/{}/task", parent.pid)));
            // A thread's file lists only the children that this thread started.
            for task in tasks.into_iter().flatten().flatten() {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                for pid in numbers(&children).filter_map(|pid| u32::try_from(pid).ok()) {
                    let child = self.child(parent, pid);
                    self.found.push(child);
                }
            }
            if self.found.len() > MAX_PROCESSES {
                break;
            }
        }
    }

    fn child(&self, parent: OwnProcess, pid: u32) -> OwnProcess {
        let depth = parent.depth + 1;
        let may_hold = !parent.is_of_medium && depth == HOLDER_DEPTH;
        let holds = may_hold
            && self.process_file(pid, "cmdline").is_some_and(|command_line| {
                command_line.split(|byte| *byte == 0).take(2).eq(MEDIUM_HOLDER.map(str::as_bytes))
            });
        OwnProcess { pid, depth, is_of_medium: parent.is_of_medium || holds }
    }

    fn process_file(&self, pid: u32, name: &str) -> Option<Vec<u8>> {
        fs::read(self.root.path(&format!("/proc/{pid}/{name}"))).ok()
    }

    fn add(&self, process: OwnProcess, sums: &mut TreeSums) {
        // A process that ended meanwhile has left its times with its parent.
        let Some(text) = self.process_file(process.pid, "stat") else { return };
        sums.processes += 1;
        let before = sums.user.wrapping_add(sums.system);
        times(&String::from_utf8_lossy(&text), sums);
        if process.is_of_medium {
            let of_process = sums.user.wrapping_add(sums.system).wrapping_sub(before);
            sums.media = sums.media.wrapping_add(of_process);
        }
        if let Some(text) = self.process_file(process.pid, "io") {
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
        for &process in &self.found {
            self.add(process, &mut sums);
        }
        let put: &mut PutValue<'_> = &mut |field, value| buffer.put(field, value);
        put(CounterField::gauge("processes", ""), sums.processes);
        put(CounterField::counter("user", "tick"), sums.user);
        put(CounterField::counter("system", "tick"), sums.system);
        put(CounterField::counter("major_faults", ""), sums.major_faults);
        put(CounterField::counter("read", "B"), sums.read);
        put(CounterField::counter("written", "B"), sums.written);
        put(CounterField::counter("media", "tick"), sums.media);
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
    fn processes_of_a_medium_are_counted_apart_as_well() {
        let root = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let keeper = own + 1;
        let holder = own + 2;
        let server = own + 3;
        let worker = own + 4;
        let write = |pid: u32, children: &str, command_line: &str, ticks: u32| {
            let process = root.path().join(format!("proc/{pid}"));
            let task = process.join(format!("task/{pid}"));
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join("children"), children).unwrap();
            fs::write(process.join("cmdline"), command_line).unwrap();
            let stat = format!("{pid} (plumb) S 1 1 1 0 -1 0 0 0 0 0 {ticks} {ticks} 0 0 20 0 1 0");
            fs::write(process.join("stat"), stat).unwrap();
        };
        let mut tree = (MONITOR.open)(&Root::default()).unwrap();
        let mut buffer = CounterBuffer::new("tree");
        for turn in 1_u32..=2 {
            write(own, &keeper.to_string(), "plumb\0run\0", turn);
            write(keeper, &format!("{holder} {worker}"), "/proc/self/exe\0keeper\0", turn);
            write(holder, &server.to_string(), "/proc/self/exe\0medium\0", 10 * turn);
            write(server, "", "nbdkit\0", 100 * turn);
            write(worker, "", "/proc/self/exe\0worker\0", 1000 * turn);
            if turn == 1 {
                tree = (MONITOR.open)(&Root::at(root.path())).unwrap();
            }
            buffer.turn(turn.into());
            tree.read(&mut buffer).unwrap();
        }
        let (traces, _) = buffer.finish();
        let amount_of =
            |name: &str| traces.iter().find(|trace| trace.counter.name == name).unwrap().amount();
        assert_eq!(amount_of("tree.media"), 2 * (10 + 100));
        assert_eq!(amount_of("tree.user"), 1 + 1 + 10 + 100 + 1000);
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
