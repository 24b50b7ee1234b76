//! /proc/meminfo: memory use by type.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{Parsed, numbers};
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `meminfo`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "meminfo",
    summary: "memory use by type",
    manual: include_str!("meminfo.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/meminfo", parse),
};

/// The levels that tell one state of a machine from another.
const FIELDS: [&str; 14] = [
    "MemFree",
    "MemAvailable",
    "Buffers",
    "Cached",
    "SwapCached",
    "SwapFree",
    "Dirty",
    "Writeback",
    "AnonPages",
    "Mapped",
    "Shmem",
    "Slab",
    "PageTables",
    "AnonHugePages",
];

/// Levels in kB.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        if FIELDS.contains(&name) {
            numbers(rest).take(1).for_each(|kb| put(CounterField::gauge(name, "kB"), kb));
        }
    }
}
