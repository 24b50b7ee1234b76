//! /proc/self/mountstats: what NFS operations took.

use crate::counter_buffer::{Field, Put};
use crate::files::{OpenFile, Parsed, numbers};
use crate::monitor::{Monitor, SELDOM_HZ};

/// This monitor.
pub const MONITOR: Monitor = Monitor {
    name: "mountstats",
    summary: "NFS: counts, queue, round trip and execute time by operation",
    manual: include_str!("mountstats.md"),
    default_hz: Some(SELDOM_HZ),
    // A mount whose server is gone can hold a reader up.
    slow: true,
    parsers: &[parse],
    open: |root| {
        let path = "/proc/self/mountstats";
        let file = OpenFile::open(root, path)?;
        if !file.text(&mut Vec::new())?.contains(" with fstype nfs") {
            return Err("no NFS is mounted".to_owned());
        }
        Parsed::all(vec![(String::new(), file)], parse, "")
    },
};

/// Columns of an operation's line.
const COLUMNS: [(&str, &str); 8] = [
    ("ops", ""),
    ("transmissions", ""),
    ("timeouts", ""),
    ("sent", "B"),
    ("received", "B"),
    ("queue", "ms"),
    ("rtt", "ms"),
    ("execute", "ms"),
];

/// `device … mounted on PATH with fstype nfs4 …`, then after `per-op statistics` a line an operation.
pub fn parse(_: &str, text: &str, put: &mut Put<'_>) {
    let (mut mount, mut of) = (None, String::new());
    for line in text.lines() {
        let line = line.trim();
        if let Some((_, rest)) =
            line.strip_prefix("device ").and_then(|it| it.split_once(" mounted on "))
        {
            mount = rest.split_once(" with fstype nfs").map(|(path, _)| path);
        } else if let Some((mount, (operation, rest))) = mount.zip(line.split_once(':')) {
            let is_operation = operation.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
            if operation.is_empty() || !is_operation || numbers(rest).count() < COLUMNS.len() {
                continue;
            }
            of.clear();
            of.extend([mount, ".", operation]);
            for ((name, unit), value) in COLUMNS.iter().zip(numbers(rest)) {
                put(Field::counter(name, unit).of(&of), value);
            }
        }
    }
}
