//! Sleeping to a moment.

use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};

/// Sleeps until CLOCK_MONOTONIC shows this many nanoseconds; not at all if it does.
#[inline]
pub fn sleep_until(due_ns: u64) {
    const SECOND: u64 = 1_000_000_000;
    let due = Timespec {
        tv_sec: i64::try_from(due_ns / SECOND).unwrap_or(i64::MAX),
        #[expect(clippy::cast_possible_wrap, reason = "below 10^9")]
        tv_nsec: (due_ns % SECOND) as i64,
    };
    while clock_nanosleep_absolute(ClockId::Monotonic, &due) == Err(Errno::INTR) {}
}

#[cfg(test)]
mod tests {
    use plumb_protocol::now_ns;

    use super::sleep_until;

    #[test]
    fn nobody_wakes_early_and_the_past_is_no_wait() {
        let begun = now_ns();
        let due = begun + 3_000_000;
        sleep_until(due);
        assert!(now_ns() >= due);
        sleep_until(begun);
        sleep_until(0);
    }
}
