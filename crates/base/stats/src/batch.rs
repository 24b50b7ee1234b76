//! How many calls make one sample: long enough that the clock's resolution and cost vanish, docs/method.md, *Samples*.

use crate::rng::Rng;

/// No batch is shorter than this.
const SHORTEST_NS: f64 = 20_000.0;
/// No batch is longer than this, unless one call alone is, or longer ones are asked for.
pub const LONGEST_NS: u64 = 50_000_000;
/// A batch lasts this many resolutions of the clock, so that rounding is at most .1 %.
const RESOLUTIONS: f64 = 1000.0;
/// A batch lasts this many reads of the clock.
const READS: f64 = 200.0;
/// If a call of one side takes so many times as long as one of another, they share no number of calls: one of them would have
/// batches that are too short or too long, and what a batch costs by itself explains no such difference.
const APART: f64 = 4.0;
/// By how much the number of calls is varied, so that batches do not fall into step with timer ticks.
const JITTER: f64 = 0.1;

/// The resolution and cost of reading the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClockCost {
    /// The smallest difference other than zero between two reads, in nanoseconds.
    pub resolution_ns: f64,
    /// The median time from one read to the next, in nanoseconds.
    pub overhead_ns: f64,
}

/// The shortest batch, in nanoseconds, that this clock measures to within .1 %; at most [`LONGEST_NS`].
pub fn batch_floor_ns(clock: ClockCost) -> u64 {
    let floor = SHORTEST_NS.max(RESOLUTIONS * clock.resolution_ns).max(READS * clock.overhead_ns);
    (floor.ceil() as u64).min(LONGEST_NS)
}

/// The time of one call, in nanoseconds, of `iterations` that took `elapsed_ns`. A time below the clock's resolution counts as
/// one nanosecond.
fn call_ns(elapsed_ns: u64, iterations: u64) -> f64 {
    elapsed_ns.max(1) as f64 / iterations.max(1) as f64
}

/// How many calls last `target_ns`, judged by `iterations` calls that took `elapsed_ns`.
///
/// At least 1. A time below the clock's resolution counts as one nanosecond; measure again with the answer.
pub fn iterations_for(elapsed_ns: u64, iterations: u64, target_ns: u64) -> u64 {
    ((target_ns as f64 / call_ns(elapsed_ns, iterations)).ceil() as u64).max(1)
}

/// How many calls fit into [`LONGEST_NS`], and at least one: a single call that is longer still makes a batch.
fn most_within_longest(elapsed_ns: u64, iterations: u64) -> u64 {
    ((LONGEST_NS as f64 / call_ns(elapsed_ns, iterations)).floor() as u64).max(1)
}

/// The number of calls for all sides of a comparison, each given by its (elapsed_ns, iterations): the largest of the
/// needs, no more than fit into [`LONGEST_NS`] on the slowest side, or than it needs. 1 if there is no side.
pub fn shared_iterations(sides: &[(u64, u64)], target_ns: u64) -> u64 {
    let mut largest_need = 1;
    let mut limit = u64::MAX;
    for &(elapsed_ns, iterations) in sides {
        let need = iterations_for(elapsed_ns, iterations, target_ns);
        largest_need = largest_need.max(need);
        limit = limit.min(most_within_longest(elapsed_ns, iterations).max(need));
    }
    largest_need.min(limit)
}

/// Whether a call of one of the sides, each given by its (elapsed_ns, iterations), takes more than four times as long as a
/// call of another.
pub fn are_apart(sides: &[(u64, u64)]) -> bool {
    let mut fastest = f64::INFINITY;
    let mut slowest = 0.0_f64;
    for &(elapsed_ns, iterations) in sides {
        fastest = fastest.min(call_ns(elapsed_ns, iterations));
        slowest = slowest.max(call_ns(elapsed_ns, iterations));
    }
    slowest > APART * fastest
}

/// `iterations` varied by up to 10 % either way, at least 1. Use the same draw for both sides of a pair.
pub fn jitter(iterations: u64, rng: &mut Rng) -> u64 {
    let factor = 1.0 + JITTER * (2.0 * rng.uniform() - 1.0);
    ((iterations as f64 * factor).round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::{
        ClockCost, LONGEST_NS, are_apart, batch_floor_ns, iterations_for, jitter, shared_iterations,
    };
    use crate::rng::Rng;

    #[test]
    fn the_floor_is_the_largest_of_three_needs() {
        let floor =
            |resolution_ns, overhead_ns| batch_floor_ns(ClockCost { resolution_ns, overhead_ns });
        assert_eq!(floor(1.0, 20.0), 20_000);
        assert_eq!(floor(100.0, 20.0), 100_000);
        assert_eq!(floor(1.0, 1000.0), 200_000);
        assert_eq!(floor(1e6, 1.0), LONGEST_NS);
    }

    #[test]
    fn calls_fill_the_target_and_never_fewer_than_one() {
        assert_eq!(iterations_for(1000, 10, 20_000), 200);
        assert_eq!(iterations_for(3000, 1, 20_000), 7);
        assert_eq!(iterations_for(60_000_000, 1, 20_000), 1);
        assert_eq!(iterations_for(0, 1, 20_000), 20_000);
        assert_eq!(iterations_for(100, 0, 1000), 10);
    }

    #[test]
    fn batches_of_a_pair_are_capped_at_fifty_milliseconds_or_at_a_longer_target() {
        assert_eq!(shared_iterations(&[(1_000_000, 1), (5_000_000, 1)], 20_000_000), 10);
        // A second under a quota, which the other side does not have.
        assert_eq!(shared_iterations(&[(5_000_000, 1), (25_000_000, 1)], 1_000_000_000), 40);
    }

    #[test]
    fn a_pair_shares_the_larger_need_within_the_cap() {
        assert_eq!(shared_iterations(&[(1000, 10), (2000, 10)], 20_000), 200);
        assert_eq!(shared_iterations(&[(10, 1), (30_000_000, 1)], 20_000), 1);
    }

    #[test]
    fn sides_are_apart_if_one_takes_more_than_four_times_as_long() {
        assert!(!are_apart(&[]) && !are_apart(&[(1000, 10)]));
        assert!(!are_apart(&[(1000, 10), (4000, 10)]));
        assert!(are_apart(&[(1000, 10), (1000, 2)]));
    }

    #[test]
    fn jitter_stays_within_a_tenth_and_moves() {
        let mut rng = Rng::new(1);
        let drawn: Vec<u64> = (0..200).map(|_| jitter(1000, &mut rng)).collect();
        assert!(drawn.iter().all(|k| (900..=1100).contains(k)));
        assert!(drawn.iter().any(|&k| k < 950) && drawn.iter().any(|&k| k > 1050));
        assert_eq!(jitter(1, &mut rng), 1);
    }
}
