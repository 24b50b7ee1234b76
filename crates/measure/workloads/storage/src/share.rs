//! What one worker of several has of the load.

use plumb_protocol::{ArrivalSchedule, Arrivals, Failure};

/// Which worker it is, and of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    number: u64,
    workers: u64,
}

impl Share {
    /// That of a worker alone: all of it.
    pub const WHOLE: Self = Self { number: 0, workers: 1 };

    /// That of the worker with this number, from 0 on.
    #[must_use]
    pub fn of_worker(number: usize, workers: usize) -> Self {
        Self { number: number as u64, workers: workers.max(1) as u64 }
    }

    /// The worker's number, from 0 on.
    #[must_use]
    pub fn number(self) -> u64 {
        self.number
    }

    /// The share of a single worker that does all the work.
    #[must_use]
    pub fn workers(self) -> u64 {
        self.workers
    }

    /// Its part of so many blocks; all parts together are all blocks.
    #[must_use]
    pub fn of(self, blocks: u64) -> u64 {
        blocks / self.workers + u64::from(self.number < blocks % self.workers)
    }

    /// Its own seed; that of the first is the seed itself.
    #[must_use]
    pub fn seed(self, seed: u64) -> u64 {
        seed.wrapping_add(self.number << 32)
    }

    /// Its starts of an open loop of `rate` starts per second over all workers.
    ///
    /// # Errors
    /// Where that is not a rate that can be kept.
    #[expect(clippy::cast_precision_loss, reason = "few workers")]
    pub fn schedule(
        self,
        arrivals: Arrivals,
        rate: f64,
        seed: u64,
    ) -> Result<ArrivalSchedule, Failure> {
        ArrivalSchedule::new(arrivals, rate / self.workers as f64, self.seed(seed))
    }

    /// How long before all others its schedule begins, in nanoseconds: starts that are equally far apart for each worker
    /// are so for all of them only if no two workers begin together.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive; a number that is too large saturates"
    )]
    pub fn ahead_ns(self, arrivals: Arrivals, rate: f64) -> u64 {
        let behind = self.workers - 1 - self.number;
        match arrivals {
            Arrivals::Fixed => (behind as f64 * 1e9 / rate) as u64,
            Arrivals::Poisson => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Share;
    use plumb_protocol::Arrivals;

    #[test]
    fn parts_make_the_whole() {
        for blocks in [0, 1, 7, 12, 1000] {
            let parts: Vec<u64> =
                (0..5).map(|worker| Share::of_worker(worker, 5).of(blocks)).collect();
            assert_eq!(parts.iter().sum::<u64>(), blocks, "{parts:?}");
            assert!(parts.iter().max().unwrap() - parts.iter().min().unwrap() <= 1, "{parts:?}");
        }
        assert_eq!((Share::WHOLE.of(9), Share::WHOLE.seed(42)), (9, 42));
        assert_ne!(Share::of_worker(1, 2).seed(42), 42);
    }

    #[test]
    fn fixed_starts_of_all_workers_together_are_equally_far_apart() {
        let rate = 3000.0;
        let begin_ns = 1_000_000_000;
        let mut starts = Vec::new();
        for number in 0..3 {
            let share = Share::of_worker(number, 3);
            let mut schedule = share.schedule(Arrivals::Fixed, rate, 1).unwrap();
            schedule.begin(begin_ns - share.ahead_ns(Arrivals::Fixed, rate));
            for _ in 0..4 {
                let due_ns = schedule.due_ns();
                starts.push(schedule.sent(due_ns));
            }
        }
        starts.sort_unstable();
        let gaps: Vec<u64> = starts.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(gaps.iter().all(|gap| gap.abs_diff(333_333) <= 2), "{gaps:?}");
        assert!(starts[0] > begin_ns && starts[0] - begin_ns <= 333_335, "{starts:?}");
    }
}
