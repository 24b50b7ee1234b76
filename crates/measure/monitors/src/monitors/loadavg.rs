//! /proc/loadavg: how many tasks run or wait, smoothed, and how many there are.

use crate::counter_buffer::{Field, Put};
use crate::files::Parsed;
use crate::monitor::{Monitor, SELDOM_HZ};

/// This monitor.
pub const MONITOR: Monitor = Monitor {
    name: "loadavg",
    summary: "the load average, and tasks that run and that exist",
    manual: include_str!("loadavg.md"),
    default_hz: Some(SELDOM_HZ),
    slow: false,
    parsers: &[parse],
    open: |root| Parsed::one(root, "/proc/loadavg", parse),
};

/// The averages with their lengths in minutes.
const AVERAGES: [&str; 3] = ["load_1", "load_5", "load_15"];

/// Averages in hundredths, as the kernel prints them, and `running/existing`.
pub fn parse(_: &str, text: &str, put: &mut Put<'_>) {
    let mut words = text.split_ascii_whitespace();
    for (name, word) in AVERAGES.into_iter().zip(&mut words) {
        let hundredths = word.split_once('.').filter(|(_, digits)| digits.len() == 2);
        let hundredths =
            hundredths.and_then(|(whole, digits)| format!("{whole}{digits}").parse().ok());
        hundredths.into_iter().for_each(|value| put(Field::gauge(name, "1/100"), value));
    }
    let Some((running, existing)) = words.next().and_then(|word| word.split_once('/')) else {
        return;
    };
    for (name, word) in [("running", running), ("existing", existing)] {
        word.parse().into_iter().for_each(|value| put(Field::gauge(name, ""), value));
    }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn averages_are_hundredths() {
        let mut seen = Vec::new();
        parse("", "1.25 0.08 10.00 3/412 9917\n", &mut |_, value| seen.push(value));
        assert_eq!(seen, [125, 8, 1000, 3, 412]);
    }
}
