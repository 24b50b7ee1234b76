//! /proc/net/softnet_stat: packets at the border between driver and stack.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::Parsed;
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `softnet`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "softnet",
    summary: "packets processed, dropped and deferred by the network stack",
    manual: include_str!("softnet.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/net/softnet_stat", parse),
};

/// A line a CPU of hexadecimal numbers: the first three, summed over CPUs.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    let mut sums = [0_u64; 3];
    for line in text.lines() {
        for (sum, word) in sums.iter_mut().zip(line.split_ascii_whitespace()) {
            *sum = sum.wrapping_add(u64::from_str_radix(word, 16).unwrap_or(0));
        }
    }
    for (name, sum) in ["processed", "dropped", "squeezed"].into_iter().zip(sums) {
        put(CounterField::counter(name, ""), sum);
    }
}
