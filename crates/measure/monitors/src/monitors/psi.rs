//! /proc/pressure: the share of time in which somebody waited for CPU, memory or I/O.

use plumb_machine::cgroup::groups;

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{OpenFile, Parsed};
use crate::monitor::{FAST_HZ, Monitor};

/// The monitor `psi`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "psi",
    summary: "time that tasks were stalled waiting for CPU, memory, I/O or interrupts",
    manual: include_str!("psi.md"),
    default_hz: Some(FAST_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| {
        let mut files = Vec::new();
        for of in ["cpu", "memory", "io", "irq"] {
            let system = OpenFile::open(root, &format!("/proc/pressure/{of}"));
            files.extend(system.ok().map(|file| (of.to_owned(), file)));
            let groups =
                groups(root, "").into_iter().filter(|group| !ROOTS.contains(&group.as_str()));
            let mut own = groups
                .filter_map(|group| OpenFile::open(root, &format!("{group}/{of}.pressure")).ok());
            files.extend(own.next().map(|file| (format!("own.{of}"), file)));
        }
        Parsed::all(files, parse, "this kernel has no /proc/pressure, or it was booted with psi=0")
    },
};

/// The whole machine's group, which says what /proc/pressure says.
const ROOTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12`, and the same for `full`.
pub fn parse(of: &str, text: &str, put: &mut PutValue<'_>) {
    for line in text.lines() {
        let Some((head, total)) = line.rsplit_once("total=") else { continue };
        let kind = head.split(' ').next().unwrap_or_default();
        if let ("some" | "full", Ok(us)) = (kind, total.trim_end().parse()) {
            put(CounterField::counter(kind, "us").of(of), us);
        }
    }
}
