//! /proc/meminfo: memory use by type.

use crate::counter_buffer::{Field, Put};
use crate::files::{Parsed, numbers};
use crate::monitor::{Monitor, SELDOM_HZ};

/// The monitor `meminfo`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "meminfo",
    summary: "memory use by type",
    manual: include_str!("meminfo.md"),
    default_hz: Some(SELDOM_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/meminfo", parse),
};

/// The levels that tell one state of a machine from another.
const LEVELS: [&str; 14] = [
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
pub fn parse(_: &str, text: &str, put: &mut Put<'_>) {
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(':') else { continue };
        if LEVELS.contains(&name) {
            numbers(rest).take(1).for_each(|kb| put(Field::gauge(name, "kB"), kb));
        }
    }
}
