//! /proc/schedstat: how long tasks ran and waited for a CPU.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{Parsed, numbers};
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `schedstat`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "schedstat",
    summary: "how long tasks ran and waited for a CPU",
    manual: include_str!("schedstat.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/schedstat", parse),
};

/// The seventh to ninth number of each line `cpuN`, in versions 15 to 17, summed over CPUs.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    let mut sums = [0_u64; 3];
    for line in text.lines().filter(|line| line.starts_with("cpu")) {
        let Some((_, rest)) = line.split_once(' ') else { continue };
        for (sum, value) in sums.iter_mut().zip(numbers(rest).skip(6)) {
            *sum = sum.wrapping_add(value);
        }
    }
    let fields = [("run", "ns"), ("wait", "ns"), ("slices", "")];
    for ((name, unit), sum) in fields.into_iter().zip(sums) {
        put(CounterField::counter(name, unit), sum);
    }
}
