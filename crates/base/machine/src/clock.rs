//! The resolution of the clock that everything is timed by: docs/method.md, *Audit*.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the CPU's time stamp counter has no safe form")
)]

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};

/// Reads that resolution and overhead are found from.
const READS: usize = 10_000;

/// How fine CLOCK_MONOTONIC is, and what reading it costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockGrain {
    /// The smallest difference of two reads in a row that is not zero, in nanoseconds.
    pub resolution_ns: f64,
    /// The mean time of one read, in nanoseconds.
    pub overhead_ns: f64,
}

/// Reads the clock some ten thousand times.
#[must_use]
pub fn clock_grain() -> ClockGrain {
    let mut reads = vec![0_u64; READS];
    for read in &mut reads {
        *read = black_box(nanos(ClockId::Monotonic));
    }
    // A coarse clock gives the same time to many reads in a row: only reads that differ show the size of its step.
    let steps = reads.windows(2).map(|pair| pair[1] - pair[0]);
    let resolution = steps.filter(|&step| step > 0).min().unwrap_or(0);
    let whole = reads[READS - 1] - reads[0];
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds of a moment stay far below 2^53")]
    ClockGrain { resolution_ns: resolution as f64, overhead_ns: whole as f64 / (READS - 1) as f64 }
}

/// One moment on the clocks that should run alike.
#[derive(Debug, Clone, Copy)]
pub struct ClockMark {
    monotonic_ns: u64,
    raw_ns: u64,
    counter: Option<u64>,
}

/// How far clocks parted between marks, in millionths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockDrift {
    /// By how much CLOCK_MONOTONIC was slewed against CLOCK_MONOTONIC_RAW.
    pub slew_ppm: f64,
    /// By how much the rate of the CPU's time stamp counter against CLOCK_MONOTONIC changed from the first
    /// to the second half; None if the CPU has none.
    pub counter_ppm: Option<f64>,
}

impl ClockMark {
    /// Reads all three clocks, one right after the other.
    #[must_use]
    pub fn now() -> Self {
        Self {
            monotonic_ns: nanos(ClockId::Monotonic),
            raw_ns: nanos(ClockId::MonotonicRaw),
            counter: counter(),
        }
    }

    /// What happened from the first mark by way of the middle one to the last; None when they are no time
    /// apart.
    #[must_use]
    pub fn drift(first: Self, middle: Self, last: Self) -> Option<ClockDrift> {
        // NTP slews the monotonic clock but not the raw one, so their ratio is the slew.
        let monotonic = span(first.monotonic_ns, last.monotonic_ns)?;
        let raw = span(first.raw_ns, last.raw_ns)?;
        let rates = counter_rate(first, middle).zip(counter_rate(middle, last));
        Some(ClockDrift {
            slew_ppm: (monotonic / raw - 1.0) * 1e6,
            counter_ppm: rates.map(|(before, after)| (after / before - 1.0) * 1e6),
        })
    }
}

/// Ticks of the CPU's counter in a nanosecond of the monotonic clock.
fn counter_rate(from: ClockMark, to: ClockMark) -> Option<f64> {
    Some(span(from.counter?, to.counter?)? / span(from.monotonic_ns, to.monotonic_ns)?)
}

#[expect(clippy::cast_precision_loss, reason = "differences stay far below 2^53 for a month")]
fn span(from: u64, to: u64) -> Option<f64> {
    (to > from).then(|| (to - from) as f64)
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(target_arch = "x86_64")]
fn counter() -> Option<u64> {
    // SAFETY: every x86-64 CPU has the instruction; if a kernel forbids it, no program runs its libc.
    Some(unsafe { std::arch::x86_64::_rdtsc() })
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::{ClockDrift, ClockMark, clock_grain};

    #[test]
    fn the_clock_is_finer_than_a_microsecond_and_costs_something() {
        let grain = clock_grain();
        assert!(grain.resolution_ns >= 1.0 && grain.overhead_ns > 0.1, "{grain:?}");
        assert!(grain.resolution_ns < 10_000.0, "{grain:?}");
    }

    #[test]
    fn clocks_that_part_are_told_in_millionths() {
        let mark = |ms: u64, raw_ns: u64, counter: u64| ClockMark {
            monotonic_ns: ms * 1_000_000,
            raw_ns,
            counter: Some(counter),
        };
        let first = mark(0, 0, 0);
        let middle = mark(1000, 999_990_000, 2_000_000_000);
        let last = mark(2000, 1_999_980_000, 4_000_020_000);
        let drift = ClockMark::drift(first, middle, last).unwrap();
        assert!((drift.slew_ppm - 10.0).abs() < 0.01, "{drift:?}");
        assert!((drift.counter_ppm.unwrap() - 10.0).abs() < 0.01, "{drift:?}");
        let steady = ClockMark::drift(first, middle, mark(2000, 2_000_000_000, 4_000_000_000));
        assert_eq!(steady, Some(ClockDrift { slew_ppm: 0.0, counter_ppm: Some(0.0) }));
        assert_eq!(ClockMark::drift(first, first, first), None);
    }
}
