//! A link between two machines, as arithmetic: when a message that is handed over now has arrived at the other end.
//!
//! Each direction is a token bucket and a line that delays: messages leave one after the other at the bandwidth, what
//! the bucket holds at once (Linux's `tc tbf`), and arrive after the delay, moved by the jitter, never before the one that
//! went ahead (`tc netem` with a queue in order). There is no loss. Nothing here sleeps: whoever carries the messages
//! waits until they are due, frames of a network as well as requests to a disk.

use plumb_protocol::SplitMix64;

/// The settings of one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkSettings {
    /// Bytes a second; none if that is not limited.
    pub bandwidth: Option<f64>,
    /// Bytes that may leave at once after a pause.
    pub burst: u64,
    /// From one end to the other, in nanoseconds.
    pub delay_ns: u64,
    /// The delay is longer or shorter by up to this, uniformly, in nanoseconds.
    pub jitter_ns: u64,
}

impl LinkSettings {
    /// No link at all.
    pub const NONE: Self = Self { bandwidth: None, burst: 0, delay_ns: 0, jitter_ns: 0 };
}

/// One direction of a link.
#[derive(Debug, Clone)]
pub struct OneWayLink {
    settings: LinkSettings,
    random: SplitMix64,
    /// When the bucket is full again, in nanoseconds.
    full_ns: f64,
    /// When the last message arrived.
    last_ns: u64,
    busy_ns: f64,
}

impl OneWayLink {
    /// With an idle line and a full bucket.
    #[must_use]
    pub fn new(settings: LinkSettings, seed: u64) -> Self {
        let random = SplitMix64::new(seed);
        Self { settings, random, full_ns: 0.0, last_ns: 0, busy_ns: 0.0 }
    }

    /// When a message of so many bytes that is handed over at `now_ns` has arrived as a whole.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "times and sizes stay below 2^53 and are positive"
    )]
    pub fn arrival(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let now = now_ns as f64;
        let (sending, burst) = match self.settings.bandwidth {
            Some(rate) => (bytes as f64 / rate * 1e9, self.settings.burst as f64 / rate * 1e9),
            None => (0.0, 0.0),
        };
        let left = (self.full_ns.max(now) + sending - burst).max(now);
        self.full_ns = self.full_ns.max(now) + sending;
        self.busy_ns += sending;
        let jitter = self.settings.jitter_ns;
        let moved = if jitter == 0 { 0 } else { self.random.below(2 * jitter + 1) };
        let delay = (self.settings.delay_ns + moved).saturating_sub(jitter);
        // A float is coarser than a nanosecond after 104 days.
        self.last_ns = self.last_ns.max((left as u64).max(now_ns) + delay);
        self.last_ns
    }

    /// For how long it was sending so far, in nanoseconds.
    #[must_use]
    pub fn busy_ns(&self) -> f64 {
        self.busy_ns
    }
}

#[cfg(test)]
mod tests {
    use super::{LinkSettings, OneWayLink};

    const MS: u64 = 1_000_000;

    #[test]
    fn without_limits_a_message_arrives_when_it_is_sent() {
        let mut link = OneWayLink::new(LinkSettings::NONE, 1);
        assert_eq!((link.arrival(5, 1 << 30), link.arrival(7, 0)), (5, 7));
        assert!(link.busy_ns() < 1.0);
    }

    #[test]
    fn messages_leave_one_after_the_other_and_arrive_after_the_delay() {
        // 1 MB/s: a millisecond a kilobyte.
        let settings =
            LinkSettings { bandwidth: Some(1e6), delay_ns: 10 * MS, ..LinkSettings::NONE };
        let mut link = OneWayLink::new(settings, 1);
        assert_eq!(link.arrival(0, 1000), 11 * MS);
        assert_eq!(link.arrival(0, 1000), 12 * MS, "it waits for the one before");
        assert_eq!(link.arrival(50 * MS, 2000), 62 * MS, "the line was idle");
        assert!((link.busy_ns() / 4e6 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_bucket_lets_so_much_through_at_once_and_not_more_in_the_long_run() {
        let settings = LinkSettings { bandwidth: Some(1e6), burst: 5000, ..LinkSettings::NONE };
        let mut link = OneWayLink::new(settings, 1);
        let arrivals: Vec<u64> = (0..8).map(|_| link.arrival(0, 1000) / MS).collect();
        assert_eq!(arrivals, [0, 0, 0, 0, 0, 1, 2, 3]);
        let last = (0..10_000).map(|_| link.arrival(0, 1000)).last().unwrap();
        assert_eq!(last / MS, 10_008 - 5);
        // After a pause it is full again, and no fuller.
        let after: Vec<u64> =
            (0..7).map(|_| link.arrival(60_000 * MS, 1000) / MS - 60_000).collect();
        assert_eq!(after, [0, 0, 0, 0, 0, 1, 2]);
    }

    #[test]
    fn jitter_moves_messages_and_never_turns_them_around() {
        let settings = LinkSettings { delay_ns: 10 * MS, jitter_ns: 4 * MS, ..LinkSettings::NONE };
        let mut link = OneWayLink::new(settings, 3);
        let alone = |link: &mut OneWayLink, at: u64| link.arrival(at * 100 * MS, 1) - at * 100 * MS;
        let delays: Vec<u64> = (1..2000).map(|at| alone(&mut link, at)).collect();
        assert!(delays.iter().all(|delay| (6 * MS..=14 * MS).contains(delay)));
        let mean = delays.iter().sum::<u64>() / delays.len() as u64;
        assert!(mean.abs_diff(10 * MS) < MS / 4, "{mean}");
        let mut link = OneWayLink::new(settings, 4);
        let together: Vec<u64> = (0..500).map(|at| link.arrival(at, 1)).collect();
        assert!(together.is_sorted());
    }
}
