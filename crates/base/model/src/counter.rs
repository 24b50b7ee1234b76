//! Counters: what monitors read during an invocation.

use serde::{Deserialize, Serialize};

/// Ticks of /proc per second: USER_HZ is 100 on every Linux that plumb runs on.
pub const TICKS_PER_S: f64 = 100.0;
/// The length of a tick of /proc, in nanoseconds.
pub const TICK_NS: u64 = 10_000_000;

/// What a counter's value means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CounterKind {
    /// A sum since some moment: differences count.
    Counter,
    /// A level: each reading counts by itself.
    Gauge,
}

/// A counter, apart from what it says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Counter {
    /// `monitor.name`, or `monitor.device.name` (`stat.user`, `diskstats.sda.reads`).
    pub name: String,
    /// Unit of its values (`tick`, `page`, `B`, `us`); empty if it counts events.
    pub unit: String,
    /// The meaning of its value.
    pub kind: CounterKind,
}

impl Counter {
    /// What one of its unit is in SI base units, and which: a `tick` is 0.01 s. Units that have none, such as
    /// `page`, stay.
    #[must_use]
    pub fn base(&self) -> (f64, &str) {
        plumb_units::base_unit(&self.unit)
    }

    /// The unit of [`CounterAmount::rate`]: of a gauge that of its level, of a counter that of a second's
    /// worth: `B/s`, `events/s`, `s/s` if it counts time, `W` if it counts energy.
    #[must_use]
    pub fn rate_unit(&self) -> String {
        match (self.kind, self.base().1) {
            (CounterKind::Gauge, unit) => unit.to_owned(),
            (CounterKind::Counter, "") => "events/s".to_owned(),
            (CounterKind::Counter, "J") => "W".to_owned(),
            (CounterKind::Counter, unit) => format!("{unit}/s"),
        }
    }
}

/// A value at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// CLOCK_MONOTONIC, in nanoseconds.
    pub at_ns: u64,
    /// The raw value.
    pub value: u64,
}

/// The readings of one counter during an invocation: the first, every change, and the last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The counter that was read.
    pub counter: Counter,
    /// The readings, in order of time; at least one.
    pub readings: Vec<Reading>,
}

impl Trace {
    /// By how much a counter moved from the first reading to the last; the mean of a gauge.
    #[must_use]
    pub fn amount(&self) -> u64 {
        let (Some(first), Some(last)) = (self.readings.first(), self.readings.last()) else {
            return 0;
        };
        match self.counter.kind {
            // A counter that was reset in between ends below its beginning: by how much it moved is not known.
            CounterKind::Counter => last.value.saturating_sub(first.value),
            CounterKind::Gauge => {
                let sum: u128 = self.readings.iter().map(|reading| u128::from(reading.value)).sum();
                u64::try_from(sum / self.readings.len() as u128).unwrap_or(u64::MAX)
            }
        }
    }

    /// Time from the first reading to the last, in nanoseconds.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        let ends = self.readings.first().zip(self.readings.last());
        ends.map_or(0, |(first, last)| last.at_ns.saturating_sub(first.at_ns))
    }
}

/// The change of a counter during one invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterAmount {
    /// The counter that was read.
    pub counter: Counter,
    /// By how much it moved; the mean of a gauge.
    pub amount: u64,
    /// Time from the first reading to the last, in nanoseconds.
    pub duration_ns: u64,
}

impl CounterAmount {
    /// A counter's amount per second, a gauge's mean, in SI base units ([`Counter::rate_unit`]); None of a
    /// counter that was read once.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn rate(&self) -> Option<f64> {
        let amount = self.amount as f64 * self.counter.base().0;
        match self.counter.kind {
            CounterKind::Gauge => Some(amount),
            CounterKind::Counter if self.duration_ns == 0 => None,
            CounterKind::Counter => Some(amount / (self.duration_ns as f64 * 1e-9)),
        }
    }
}

/// A line that the kernel wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelLine {
    /// CLOCK_MONOTONIC, in nanoseconds, as far as the kernel's own clock agrees with it.
    pub at_ns: u64,
    /// 0 (emergency) to 7 (debug).
    pub level: u8,
    /// Text of the line, without level and time.
    pub text: String,
}

/// A monitor that failed during an invocation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Name of the monitor that failed.
    pub monitor: String,
    /// Why it failed, in words.
    pub why: String,
}

/// All that monitors read during one invocation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Readings {
    /// Counters that moved, and gauges.
    pub traces: Vec<Trace>,
    /// Lines of the kernel's log.
    pub lines: Vec<KernelLine>,
    /// Readings that failed.
    pub gaps: Vec<Gap>,
}

impl Readings {
    /// The trace of a counter; None when it did not move or was not read.
    #[must_use]
    pub fn trace(&self, name: &str) -> Option<&Trace> {
        self.traces.iter().find(|trace| trace.counter.name == name)
    }

    /// By how much a counter moved; 0 when it did not, or was not read.
    #[must_use]
    pub fn amount(&self, name: &str) -> u64 {
        self.trace(name).map_or(0, Trace::amount)
    }
}

/// Evidence that something else ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interference {
    /// The rule that found it (`steal`, `foreign-cpu`).
    pub rule: String,
    /// Index of the first sample that it touches.
    pub first: usize,
    /// Index of the last one.
    pub last: usize,
    /// The evidence in one line.
    pub evidence: String,
}

/// The treatment of invocations that other activity disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnInterference {
    /// They count, and are flagged.
    #[default]
    Keep,
    /// They are kept in the store, do not count, and are replaced.
    Retry,
}

impl OnInterference {
    /// Whether it is the one that plans do not mention.
    #[must_use]
    pub fn is_keep(&self) -> bool {
        *self == Self::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::{Counter, CounterAmount, CounterKind, Reading, Trace};

    fn trace(kind: CounterKind, values: &[u64]) -> Trace {
        let counter = Counter { name: "stat.user".into(), unit: "tick".into(), kind };
        let times = (0..).map(|number: u64| number * 500_000_000);
        let readings = times.zip(values).map(|(at_ns, &value)| Reading { at_ns, value });
        Trace { counter, readings: readings.collect() }
    }

    #[test]
    fn counters_differ_and_gauges_have_a_mean() {
        let counter = trace(CounterKind::Counter, &[10, 20, 40]);
        assert_eq!((counter.amount(), counter.duration_ns()), (30, 1_000_000_000));
        assert_eq!(trace(CounterKind::Gauge, &[10, 20, 40]).amount(), 23);
        assert_eq!(trace(CounterKind::Counter, &[40, 10]).amount(), 0, "reset in between");
    }

    #[test]
    fn a_counter_that_was_read_once_has_no_rate() {
        let rate = |kind, duration_ns| {
            let counter = trace(kind, &[1]).counter;
            CounterAmount { counter, amount: 30, duration_ns }.rate()
        };
        assert_eq!(
            rate(CounterKind::Counter, 500_000_000),
            Some(0.6),
            "60 ticks of 10 ms a second"
        );
        assert_eq!(rate(CounterKind::Counter, 0), None);
        assert_eq!(rate(CounterKind::Gauge, 0), Some(0.3));
    }

    #[test]
    fn rates_have_the_units_that_people_know() {
        let unit =
            |unit: &str, kind| Counter { name: "x.y".into(), unit: unit.into(), kind }.rate_unit();
        assert_eq!(unit("tick", CounterKind::Counter), "s/s");
        assert_eq!(unit("", CounterKind::Counter), "events/s");
        assert_eq!(unit("sector", CounterKind::Counter), "B/s");
        assert_eq!(unit("uJ", CounterKind::Counter), "W");
        assert_eq!(unit("kB", CounterKind::Gauge), "B");
        assert_eq!(unit("page", CounterKind::Counter), "page/s");
    }
}
