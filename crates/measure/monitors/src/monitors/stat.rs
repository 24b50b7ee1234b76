//! /proc/stat: where the time of all CPUs went.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{Parsed, numbers};
use crate::monitor::{FAST_HZ, Monitor};

/// The monitor `stat`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "stat",
    summary: "CPU time of the whole machine, interrupts, context switches, new processes",
    manual: include_str!("stat.md"),
    default_hz: Some(FAST_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/stat", parse),
};

/// Columns of the line `cpu`; the last two are in the first two already.
const TIMES: [&str; 8] = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];

/// Sums over all CPUs.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    for line in text.lines() {
        let Some((key, rest)) = line.split_once(' ') else { continue };
        match key {
            "cpu" => TIMES
                .iter()
                .zip(numbers(rest))
                .for_each(|(name, ticks)| put(CounterField::counter(name, "tick"), ticks)),
            // What follows the sum on these lines is in other monitors.
            "intr" | "ctxt" | "processes" | "softirq" => {
                let total = if key == "softirq" { "softirqs" } else { key };
                numbers(rest).take(1).for_each(|n| put(CounterField::counter(total, ""), n));
            }
            "procs_running" | "procs_blocked" => {
                numbers(rest).take(1).for_each(|n| put(CounterField::gauge(key, ""), n));
            }
            _ => {}
        }
    }
}
