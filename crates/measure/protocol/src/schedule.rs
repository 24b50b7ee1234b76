//! When operations of an open loop are to start, whatever those before them do.
//!
//! In a closed loop the next operation waits for the one before, so that a stall of 100 ms is one slow operation and
//! hides all that would have come in the meantime ("coordinated omission", Tene 2013). In an open loop operations
//! start when they are due, and their latency counts from then, whether or not they could be sent.

use crate::failure::Failure;
use crate::random::SplitMix64;

/// Fewest operations per second: one a minute or so.
const SLOWEST: f64 = 0.01;
/// Most operations per second: a nanosecond apart.
const FASTEST: f64 = 1e9;
/// An operation that is sent this long after it was due, in nanoseconds, is sent in time: a wake-up of the
/// kernel takes no longer.
const IN_TIME_NS: u64 = 100_000;
/// The share of operations sent in time below which the latencies are the client's own.
pub const BOUND_SHARE: f64 = 0.99;

/// How the starts of an open loop lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// Equally far apart.
    Fixed,
    /// Independent of each other: gaps are exponential, as with many users.
    Poisson,
}

/// Hands out intended starts, the same for the same seed. Late ones are neither skipped nor made up for: the
/// next is due when it is due.
#[derive(Debug, Clone)]
pub struct ArrivalSchedule {
    arrivals: Arrivals,
    gap_ns: f64,
    random: SplitMix64,
    begin_ns: u64,
    /// From the beginning to the next start.
    next_ns: f64,
    sent: u64,
    in_time: u64,
}

impl ArrivalSchedule {
    /// So many starts per second.
    ///
    /// # Errors
    /// Where that is not a rate that can be kept: under .01 or over 10^9.
    pub fn new(arrivals: Arrivals, per_second: f64, seed: u64) -> Result<Self, Failure> {
        if !(SLOWEST..=FASTEST).contains(&per_second) {
            return Err(Failure(format!(
                "a schedule of {per_second} starts per second is impossible; use {SLOWEST} to {FASTEST}"
            )));
        }
        Ok(Self {
            arrivals,
            gap_ns: 1e9 / per_second,
            random: SplitMix64::new(seed),
            begin_ns: 0,
            next_ns: 0.0,
            sent: 0,
            in_time: 0,
        })
    }

    /// Begins again at this moment: of a batch, before its first sample. The gaps go on as they would have.
    pub fn begin(&mut self, now_ns: u64) {
        self.begin_ns = now_ns;
        self.next_ns = 0.0;
        self.sent = 0;
        self.in_time = 0;
        self.advance();
    }

    /// When the next operation is due.
    #[must_use]
    #[inline]
    pub fn due_ns(&self) -> u64 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive; a batch is far shorter than 2^53 ns"
        )]
        let since = self.next_ns as u64;
        self.begin_ns + since
    }

    /// When the next operation is due, which the caller promises to send: for threads that share a schedule and count by
    /// themselves what was sent in time ([`is_in_time`]).
    pub fn take(&mut self) -> u64 {
        let due_ns = self.due_ns();
        self.advance();
        due_ns
    }

    /// The operation that is due was sent at this moment; its latency counts from the answer, when it was due.
    #[inline]
    pub fn sent(&mut self, now_ns: u64) -> u64 {
        let due_ns = self.due_ns();
        self.sent += 1;
        self.in_time += u64::from(is_in_time(due_ns, now_ns));
        self.advance();
        due_ns
    }

    /// The share of operations since the beginning that were sent within 100 µs of when they were due; 1 if none
    /// was sent.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn share_in_time(&self) -> f64 {
        if self.sent == 0 { 1.0 } else { self.in_time as f64 / self.sent as f64 }
    }

    /// The share of operations due by this moment that were sent within 100 µs of when they were due: what is due and was not
    /// sent counts, too, at its mean distance. 1 if none was due.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    pub fn share_in_time_by(&self, now_ns: u64) -> f64 {
        // What is due just now can still be sent in time.
        let overdue_ns = now_ns.saturating_sub(self.due_ns() + IN_TIME_NS);
        let unsent =
            if overdue_ns == 0 { 0.0 } else { 1.0 + (overdue_ns as f64 / self.gap_ns).floor() };
        let due = self.sent as f64 + unsent;
        if due == 0.0 { 1.0 } else { self.in_time as f64 / due }
    }

    fn advance(&mut self) {
        self.next_ns += match self.arrivals {
            Arrivals::Fixed => self.gap_ns,
            Arrivals::Poisson => -self.gap_ns * self.random.open_unit().ln(),
        };
    }
}

/// Whether an operation that was due at one moment and sent at the other was sent in time.
#[must_use]
#[inline]
pub fn is_in_time(due_ns: u64, sent_ns: u64) -> bool {
    sent_ns.saturating_sub(due_ns) <= IN_TIME_NS
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::{ArrivalSchedule, Arrivals};
    use crate::now_ns;

    fn starts(arrivals: Arrivals, seed: u64, count: usize) -> Vec<u64> {
        let mut schedule = ArrivalSchedule::new(arrivals, 1000.0, seed).unwrap();
        schedule.begin(5);
        (0..count)
            .map(|_| {
                let due = schedule.due_ns();
                schedule.sent(due)
            })
            .collect()
    }

    #[test]
    fn fixed_starts_are_equally_far_apart() {
        assert_eq!(starts(Arrivals::Fixed, 1, 3), [1_000_005, 2_000_005, 3_000_005]);
    }

    #[test]
    fn poisson_gaps_are_exponential_and_the_same_for_a_seed() {
        let all = starts(Arrivals::Poisson, 7, 100_000);
        assert_eq!(all, starts(Arrivals::Poisson, 7, 100_000));
        assert_ne!(all[..9], starts(Arrivals::Poisson, 8, 9));
        let gaps: Vec<f64> = all.windows(2).map(|two| (two[1] - two[0]) as f64 / 1e6).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let longer = gaps.iter().filter(|gap| **gap > 1.0).count() as f64 / gaps.len() as f64;
        // Of an exponential gap: mean 1, and the share e^-1 is longer than it.
        assert!((mean - 1.0).abs() < 0.02 && (longer - 0.3679).abs() < 0.01, "{mean} {longer}");
    }

    #[test]
    fn what_is_sent_late_is_counted_and_not_made_up_for() {
        let mut schedule = ArrivalSchedule::new(Arrivals::Fixed, 1000.0, 1).unwrap();
        schedule.begin(0);
        assert_eq!(schedule.sent(1_050_000), 1_000_000);
        // A stall of 3 ms: each due one keeps its start.
        let late: Vec<u64> = (0..3).map(|_| schedule.sent(5_000_000)).collect();
        assert_eq!(late, [2_000_000, 3_000_000, 4_000_000]);
        assert!((schedule.share_in_time() - 0.25).abs() < 1e-9);
        assert_eq!(schedule.due_ns(), 5_000_000);
    }

    #[test]
    fn what_is_due_and_was_not_sent_counts_as_late() {
        let mut schedule = ArrivalSchedule::new(Arrivals::Fixed, 1000.0, 1).unwrap();
        schedule.begin(0);
        assert!((schedule.share_in_time_by(1_000_000) - 1.0).abs() < 1e-9, "none is late yet");
        schedule.sent(1_000_000);
        assert!((schedule.share_in_time_by(2_100_000) - 1.0).abs() < 1e-9);
        // Those of 2, 3 and 4 ms.
        assert!((schedule.share_in_time_by(4_200_000) - 0.25).abs() < 1e-9);
    }

    #[test]
    fn rates_that_can_not_be_kept_are_refused() {
        for rate in [0.0, -1.0, f64::NAN, 1e10] {
            let refused = ArrivalSchedule::new(Arrivals::Fixed, rate, 1).unwrap_err();
            assert!(refused.0.contains("is impossible"), "{refused}");
        }
    }

    /// A server that stalls once for 100 ms: latencies of 300 operations, due every millisecond or one after the
    /// other.
    fn latencies(open: bool) -> Vec<u64> {
        let (mut to_server, requests) = std::os::unix::net::UnixStream::pair().unwrap();
        let server = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let mut socket = requests;
            let mut byte = [0];
            for served in 0.. {
                if socket.read_exact(&mut byte).is_err() {
                    return;
                }
                if served == 100 {
                    sleep(Duration::from_millis(100));
                }
                socket.write_all(&byte).unwrap();
            }
        });
        let mut schedule = ArrivalSchedule::new(Arrivals::Fixed, 1000.0, 1).unwrap();
        schedule.begin(now_ns());
        let all = (0..300)
            .map(|_| {
                use std::io::{Read, Write};
                let mut from = now_ns();
                if open {
                    let wait = schedule.due_ns().saturating_sub(from);
                    sleep(Duration::from_nanos(wait));
                    from = schedule.sent(now_ns());
                }
                to_server.write_all(b"x").unwrap();
                to_server.read_exact(&mut [0]).unwrap();
                now_ns() - from
            })
            .collect();
        drop(to_server);
        server.join().unwrap();
        all
    }

    #[test]
    fn a_stall_shows_in_the_tail_of_an_open_loop_only() {
        let slow = |all: Vec<u64>| all.iter().filter(|latency| **latency > 50_000_000).count();
        let open = slow(latencies(true));
        let closed = slow(latencies(false));
        // Due in the first half of the stall: 50 of 300.
        assert!(open >= 40, "open loop: {open}");
        assert!(closed <= 3, "closed loop: {closed}");
    }
}
