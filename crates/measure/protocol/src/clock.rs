//! The clock of every built-in workload: CLOCK_MONOTONIC, read through the vDSO.
#![expect(unsafe_code, reason = "clock_gettime and sched_getcpu have no safe form in std")]

use plumb_model::{ClockKind, ClockSource};

/// CLOCK_MONOTONIC in nanoseconds.
#[must_use]
#[inline]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid, writable timespec; CLOCK_MONOTONIC exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The CPU that the caller runs on; -1 when the kernel does not report.
#[must_use]
#[inline]
pub fn current_cpu() -> i32 {
    // SAFETY: takes no arguments and touches no memory of ours.
    unsafe { libc::sched_getcpu() }
}

/// What this clock can resolve, and what reading it costs: the smallest non-zero difference and the
/// median difference of 10,000 back-to-back readings (docs/method.md, *Samples*).
#[must_use]
pub fn source() -> ClockSource {
    let mut differences = vec![0_u64; 10_000];
    let mut last = now_ns();
    for difference in &mut differences {
        let now = now_ns();
        *difference = now - last;
        last = now;
    }
    differences.sort_unstable();
    let resolution_ns = differences.iter().copied().find(|&d| d > 0).unwrap_or(1);
    ClockSource {
        id: "monotonic".into(),
        unit: "ns".into(),
        resolution_ns,
        overhead_ns: differences[differences.len() / 2],
        kind: ClockKind::Wall,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_goes_forward() {
        let first = super::now_ns();
        assert!(super::now_ns() >= first);
        let clock = super::source();
        assert!(clock.resolution_ns > 0 && clock.resolution_ns < 10_000_000, "{clock:?}");
    }
}
