//! /proc/net/dev: traffic by interface.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::{Parsed, numbers};
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `net`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "net",
    summary: "bytes, packets, errors and drops by network interface",
    manual: include_str!("net.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/net/dev", parse),
};

/// Columns after the interface's name, with their place.
const COLUMNS: [(usize, &str, &str); 8] = [
    (0, "rx_bytes", "B"),
    (1, "rx_packets", ""),
    (2, "rx_errors", ""),
    (3, "rx_drops", ""),
    (8, "tx_bytes", "B"),
    (9, "tx_packets", ""),
    (10, "tx_errors", ""),
    (11, "tx_drops", ""),
];

/// Two lines of titles, then `NAME: NUMBER…`.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    for line in text.lines().skip(2) {
        let Some((of, rest)) = line.rsplit_once(':') else { continue };
        let mut columns = COLUMNS.iter();
        let mut next = columns.next();
        for (place, value) in numbers(rest).enumerate() {
            if let Some((_, name, unit)) = next.filter(|(at, _, _)| *at == place) {
                put(CounterField::counter(name, unit).of(of.trim_start()), value);
                next = columns.next();
            }
        }
    }
}
