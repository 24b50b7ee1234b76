//! /proc/diskstats: what block devices did.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::Parsed;
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `diskstats`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "diskstats",
    summary: "requests, sectors and times by block device",
    manual: include_str!("diskstats.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/diskstats", parse),
};

/// Columns after the device's name; those without a name are merges and the requests under way.
const COLUMNS: [(&str, &str); 17] = [
    ("reads", ""),
    ("", ""),
    ("read_sectors", "sector"),
    ("read", "ms"),
    ("writes", ""),
    ("", ""),
    ("written_sectors", "sector"),
    ("write", "ms"),
    ("", ""),
    ("busy", "ms"),
    ("queue", "ms"),
    ("discards", ""),
    ("", ""),
    ("discarded_sectors", "sector"),
    ("discard", "ms"),
    ("flushes", ""),
    ("flush", "ms"),
];

/// `MAJOR MINOR NAME NUMBER…`: 11 numbers up to Linux 4.17, 15 up to 5.4, 17 since.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(of) = words.nth(2) else { continue };
        // Dozens of loop and RAM devices that nobody uses.
        let unused = ["loop", "ram"].iter().any(|kind| of.starts_with(kind))
            && words.clone().all(|word| word == "0");
        if unused {
            continue;
        }
        for ((name, unit), value) in COLUMNS.iter().zip(words.map_while(|word| word.parse().ok())) {
            if !name.is_empty() {
                put(CounterField::counter(name, unit).of(of), value);
            }
        }
    }
}
