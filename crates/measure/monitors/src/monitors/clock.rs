//! The machine's clocks against each other.

use rustix::time::{ClockId, clock_gettime};

use crate::counter_buffer::{CounterBuffer, CounterField};
use crate::monitor::{CounterSource, Monitor, SLOW_HZ};

/// The monitor `clock`: its rate and its manual, and how it is opened.
pub const MONITOR: Monitor = Monitor {
    name: "clock",
    summary: "steps of the wall clock, and suspends, relative to the monotonic clock",
    manual: include_str!("clock.md"),
    default_hz: Some(SLOW_HZ),
    slow: false,
    parsers: &[],
    open: |root| match root.is_live() {
        true => Ok(Box::new(ClockMonitor)),
        false => Err("a captured tree has no clocks".to_owned()),
    },
};

/// Tries, of which the one that was least held up counts.
const TRIES: usize = 3;
/// What is left of a difference in nanoseconds: below, it is the time of reading.
const STEP_NS: u64 = 10_000;

struct ClockMonitor;

impl CounterSource for ClockMonitor {
    fn read(&mut self, buffer: &mut CounterBuffer) -> Result<(), String> {
        let wall = ahead_us(ClockId::Realtime);
        buffer.put(CounterField::gauge("realtime_ahead", "us"), wall);
        buffer.put(CounterField::gauge("boottime_ahead", "us"), ahead_us(ClockId::Boottime));
        Ok(())
    }
}

/// How far a clock is ahead of CLOCK_MONOTONIC.
fn ahead_us(other: ClockId) -> u64 {
    // The reading that took least was interrupted least: its middle is when the other clock was read.
    let readings = (0..TRIES).map(|_| {
        let before = ns(ClockId::Monotonic);
        let there = ns(other);
        let took = ns(ClockId::Monotonic).saturating_sub(before);
        (took, there.saturating_sub(before + took / 2))
    });
    let best = readings.min_by_key(|(took, _)| *took);
    best.map_or(0, |(_, ahead_ns)| (ahead_ns + STEP_NS / 2) / STEP_NS * (STEP_NS / 1000))
}

fn ns(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::{ClockId, ahead_us};

    #[test]
    fn two_looks_agree_and_the_boot_clock_is_not_behind() {
        let one = ahead_us(ClockId::Realtime);
        let other = ahead_us(ClockId::Realtime);
        assert!(one > 1_600_000_000_000_000 && one.abs_diff(other) < 100_000, "{one} {other}");
        assert!(ahead_us(ClockId::Boottime) < one);
    }
}
