//! /proc/net/snmp: what the protocols counted.

use crate::counter_buffer::{CounterField, PutValue};
use crate::files::Parsed;
use crate::monitor::{Monitor, SLOW_HZ};

/// The monitor `snmp`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "snmp",
    summary: "packets, errors and retransmissions of IP, ICMP, TCP and UDP",
    manual: include_str!("snmp.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/net/snmp", parse),
};

/// Settings among the counters.
const SETTINGS: [&str; 6] =
    ["Forwarding", "DefaultTTL", "RtoAlgorithm", "RtoMin", "RtoMax", "MaxConn"];

/// Pairs of lines: `Tcp: NAME…`, then `Tcp: NUMBER…`.
pub fn parse(_: &str, text: &str, put: &mut PutValue<'_>) {
    let mut lines = text.lines();
    while let (Some(names), Some(values)) = (lines.next(), lines.next()) {
        let (Some((of, names)), Some((same, values))) =
            (names.split_once(':'), values.split_once(':'))
        else {
            return;
        };
        if of != same {
            return;
        }
        for (name, value) in names.split_ascii_whitespace().zip(values.split_ascii_whitespace()) {
            match value.parse() {
                Ok(n) if name == "CurrEstab" => put(CounterField::gauge(name, "").of(of), n),
                Ok(n) if !SETTINGS.contains(&name) => {
                    put(CounterField::counter(name, "").of(of), n)
                }
                _ => {}
            }
        }
    }
}
