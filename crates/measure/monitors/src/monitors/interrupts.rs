//! /proc/interrupts: interrupts by line.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{Parsed, sum};
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `interrupts`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "interrupts",
    summary: "interrupts by line, summed over CPUs",
    manual: include_str!("interrupts.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/interrupts", parse),
};

/// Each line is `NAME: COUNT… description`, with a count a CPU; the first line names the CPUs.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    for line in text.lines().skip(1) {
        let Some((name, rest)) = line.split_once(':') else { continue };
        put(CounterField::counter(name.trim_start(), ""), sum(rest));
    }
}
