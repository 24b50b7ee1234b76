//! Context switches and migrations of a workload's tasks, read between samples.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use plumb_model::{Better, Metric, Ready};
use plumb_workload_kit::declare::reported;
use plumb_workload_kit::switches::own_switches;

/// The last two values of a workload whose tasks are counted.
pub(crate) const NAMES: [&str; 2] = ["switches", "migrations"];

/// Most files that are read between two samples: to read one takes some 10 µs.
const MOST_FILES: usize = 64;

/// Long enough for all that /proc says of a task.
const BUFFER_BYTES: usize = 8192;

/// The two metrics, per unit that a sample counts.
pub(crate) fn metrics(of: &str) -> Vec<Metric> {
    let counted = ["context switches of all tasks", "moves of all tasks to another CPU"];
    let metrics = NAMES.iter().zip(counted);
    metrics
        .map(|(name, what)| reported(name, "", Better::Neither, &format!("{what} per {of}")))
        .collect()
}

/// The kernel's counters of this process's threads and of children.
pub(crate) struct TaskCounters {
    /// Of children, /proc/PID/status.
    statuses: Vec<File>,
    /// Of all tasks, /proc/…/sched; empty if the kernel does not report.
    scheds: Vec<File>,
    /// How many of [`NAMES`] can be told.
    available: usize,
    buffer: Vec<u8>,
    before: [u64; 2],
}

impl TaskCounters {
    /// Of the threads that this process now has, and of children with one thread each.
    pub(crate) fn of(children: &[u32]) -> Self {
        let own_tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let mut sched_paths: Vec<PathBuf> =
            own_tasks.map(|task| task.path().join("sched")).collect();
        sched_paths.extend(children.iter().map(|pid| format!("/proc/{pid}/sched").into()));
        let status_paths = children.iter().map(|pid| format!("/proc/{pid}/status").into());
        // Each file is read after each sample: with many tasks that would take longer than the sample.
        let few = sched_paths.len() + children.len() <= MOST_FILES;
        let statuses = few.then(|| open_all(status_paths.collect())).flatten();
        let scheds = few.then(|| open_all(sched_paths)).flatten();
        let buffer = vec![0; BUFFER_BYTES];
        let mut counters = match (statuses, scheds) {
            (Some(statuses), Some(scheds)) => {
                Self { statuses, scheds, available: 2, buffer, before: [0; 2] }
            }
            (Some(statuses), None) => {
                Self { statuses, scheds: Vec::new(), available: 1, buffer, before: [0; 2] }
            }
            _ => Self {
                statuses: Vec::new(),
                scheds: Vec::new(),
                available: 0,
                buffer,
                before: [0; 2],
            },
        };
        counters.available =
            counters.available.min(1 + usize::from(counters.migrations().is_some()));
        counters
    }

    /// The names of a workload's values, of which the last two are [`NAMES`], without what is unknown.
    pub(crate) fn names(&self, all: &'static [&'static str]) -> &'static [&'static str] {
        &all[..all.len() - (NAMES.len() - self.available)]
    }

    /// Says what is unknown, and why.
    pub(crate) fn describe(&self, ready: &mut Ready) {
        ready.without.extend(NAMES[self.available..].iter().map(|&name| name.to_owned()));
        if self.available < NAMES.len() {
            let why = if self.available == 0 {
                "too many tasks to read their counters between samples"
            } else {
                "the kernel has no /proc/PID/sched"
            };
            ready.notes.push(format!("no {}: {why}", NAMES[self.available..].join(", ")));
        }
    }

    /// Whether it tells of moves to another CPU.
    pub(crate) fn tells_migrations(&self) -> bool {
        self.available == NAMES.len()
    }

    /// The same for a workload that counts switches itself.
    pub(crate) fn describe_migrations(&self, ready: &mut Ready) {
        if !self.tells_migrations() {
            ready.without.push(NAMES[1].to_owned());
        }
    }

    /// Counts from here.
    pub(crate) fn begin(&mut self) {
        self.before = self.read();
    }

    /// What was counted since the beginning or the last call, for each of so many; as many as can be told.
    #[expect(clippy::cast_precision_loss, reason = "counts of one sample stay far below 2^53")]
    pub(crate) fn since(&mut self, of: f64) -> ([f64; 2], usize) {
        let now = self.read();
        let values =
            [0, 1].map(|index: usize| now[index].saturating_sub(self.before[index]) as f64 / of);
        self.before = now;
        (values, self.available)
    }

    fn read(&mut self) -> [u64; 2] {
        if self.available == 0 {
            return [0; 2];
        }
        let mut switches = own_switches().0;
        for file in &self.statuses {
            let text = text(file, &mut self.buffer);
            for name in ["voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"] {
                switches += number(text, name).unwrap_or(0);
            }
        }
        [switches, self.migrations().unwrap_or(0)]
    }

    /// None if a file does not report.
    fn migrations(&mut self) -> Option<u64> {
        if self.scheds.is_empty() {
            return None;
        }
        self.scheds
            .iter()
            .map(|file| number(text(file, &mut self.buffer), "se.nr_migrations"))
            .sum()
    }
}

/// Opens all files; None if one can't be opened.
fn open_all(paths: Vec<PathBuf>) -> Option<Vec<File>> {
    paths.into_iter().map(|path| File::open(path).ok()).collect()
}

/// The current text of a file of /proc; empty if its task is gone.
fn text<'b>(file: &File, buffer: &'b mut [u8]) -> &'b str {
    let length = file.read_at(buffer, 0).unwrap_or(0);
    std::str::from_utf8(&buffer[..length]).unwrap_or("")
}

/// The number behind `name` and a colon.
fn number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim_start_matches([' ', '\t', ':']).trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{NAMES, TaskCounters, number};
    use plumb_model::Ready;

    #[test]
    fn numbers_stand_behind_their_names() {
        let text = "se.nr_migrations         :            42\nvoluntary_ctxt_switches:\t7\n";
        assert_eq!(number(text, "se.nr_migrations"), Some(42));
        assert_eq!(number(text, "voluntary_ctxt_switches"), Some(7));
        assert_eq!(number(text, "nonvoluntary_ctxt_switches"), None);
    }

    #[test]
    fn a_sleep_is_a_switch_and_too_many_tasks_are_told() {
        let mut counters = TaskCounters::of(&[]);
        counters.begin();
        std::thread::sleep(std::time::Duration::from_millis(1));
        let ([switches, _], available) = counters.since(1.0);
        assert!(switches >= 1.0 && available >= 1, "{switches} {available}");
        let mut ready = Ready::default();
        let many = TaskCounters::of(&[1; 100]);
        many.describe(&mut ready);
        assert_eq!(ready.without, NAMES);
        assert!(ready.notes[0].contains("too many tasks"), "{ready:?}");
        assert_eq!(many.names(&["time", NAMES[0], NAMES[1]]), ["time"]);
    }
}
