//! /proc/vmstat: what the memory manager did.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{Parsed, numbers};
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `vmstat`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "vmstat",
    summary: "page faults, swapping, reclaim, compaction, huge pages, NUMA",
    manual: include_str!("vmstat.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/vmstat", parse),
};

/// Events; levels (`nr_…`) are in `meminfo`.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(' ') else { continue };
        if !name.starts_with("nr_") {
            numbers(rest).take(1).for_each(|n| put(CounterField::counter(name, unit(name)), n));
        }
    }
}

fn unit(name: &str) -> &'static str {
    match name {
        "pgpgin" | "pgpgout" => "kB",
        "pswpin" | "pswpout" => "page",
        _ => "",
    }
}
