//! /proc/softirqs: the kernel's deferred work by kind.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{Parsed, sum};
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `softirqs`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "softirqs",
    summary: "the kernel's deferred work by kind, summed over CPUs",
    manual: include_str!("softirqs.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/softirqs", parse),
};

/// Each line is `NAME: COUNT…`, with a count a CPU; the first line names the CPUs.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    for line in text.lines().skip(1) {
        let Some((name, rest)) = line.split_once(':') else { continue };
        put(CounterField::counter(name.trim_start(), ""), sum(rest));
    }
}
