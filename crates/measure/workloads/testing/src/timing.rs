//! Times that other work on the machine may disturb.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use plumb_protocol::StartedWorkload;
use plumb_stats::Interval;
use plumb_stats::verdict::interval_of_pairs;

use crate::taking::samples;

/// Times that a ratio is measured: after each, its interval is looked at.
const MOST_MEASUREMENTS: usize = 3;
/// Values of each measurement: fewer have no interval.
const VALUES: usize = 8;
/// A value that takes longer is a summary of many samples by itself, and a measurement of its own.
const LONG: Duration = Duration::from_millis(500);
/// Samples of either length for one value of [`growth`], and of long ones.
const PAIRS: usize = 6;
const LONG_PAIRS: usize = 2;
/// A sample of this length is hardly disturbed by anything short.
const LONG_SAMPLE_NS: u64 = 50_000_000;
/// Level of the interval. As usual for equivalence, either end is wrong in at most one case of 20 (Schuirmann 1987).
const LEVEL: f64 = 0.9;
/// Other work gets so long to pass by before a ratio is measured again.
const PAUSE: Duration = Duration::from_millis(200);

/// What twice the work may take: work that is done once gives 1, and work that grows with its square 4. A hypervisor that takes
/// time from the longer samples gave up to 3 (2026-11-29).
pub const TWICE: Range<f64> = 1.5..3.2;

/// Held by tests that time something or that make the process large: two at once would time each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The least time of a few samples of k iterations, in nanoseconds: what other work on the machine disturbs
/// least. Of long samples, two are few enough.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
pub fn fastest_ns(started: &mut StartedWorkload, k: u64) -> f64 {
    let fastest = |elapsed_ns: &[u64]| elapsed_ns.iter().copied().min().unwrap_or(0);
    let first = fastest(&samples(started, &[k]).elapsed_ns);
    let more: &[u64] = if first > LONG_SAMPLE_NS { &[k] } else { &[k; 6] };
    first.min(fastest(&samples(started, more).elapsed_ns)) as f64
}

/// Measures a ratio and asserts that it lies in a range, as plumb decides that two sides are equivalent: the whole interval
/// of the values lies in it. Other work on the machine widens the interval, so it is measured at most three times.
///
/// # Panics
/// If the interval of all values does not lie in the range after the last measurement.
pub fn assert_ratio(what: &str, range: Range<f64>, mut ratio: impl FnMut() -> f64) {
    let mut values = Vec::with_capacity(MOST_MEASUREMENTS * VALUES);
    let mut seen = None;
    for measurement in 0..MOST_MEASUREMENTS {
        if measurement > 0 {
            std::thread::sleep(PAUSE);
        }
        let begun = Instant::now();
        let first = ratio();
        values.push(first);
        let interval = if begun.elapsed() > LONG {
            Ok(Interval::exactly(first))
        } else {
            values.extend((1..VALUES).map(|_| ratio()));
            interval_of_pairs(&values, LEVEL)
        };
        if interval.is_ok_and(|ends| range.start <= ends.low && ends.high < range.end) {
            return;
        }
        seen = Some(interval);
    }
    panic!("{what}: {seen:?} is not in {range:?}: {values:?}");
}

/// Twice the iterations take about twice the time: the work is done each time, and nothing else.
///
/// # Panics
/// If the ratio of the times is not in [`TWICE`], or a sample fails.
pub fn assert_doubles(what: &str, started: &mut StartedWorkload, k: u64) {
    assert_growth(what, TWICE, started, k, 2);
}

/// The time of `factor` times k iterations over that of k lies in a range. Each measurement takes samples four times as long as
/// the one before, so that what comes and goes within milliseconds evens out.
///
/// # Panics
/// If it does not, or a sample fails.
pub fn assert_growth(
    what: &str,
    range: Range<f64>,
    started: &mut StartedWorkload,
    k: u64,
    factor: u64,
) {
    let mut taken = 0;
    assert_ratio(what, range, || {
        let longer = 1 << (2 * (taken / VALUES));
        taken += 1;
        growth(started, longer * k, factor)
    });
}

/// The time of `factor` times k iterations over that of k. Short and long samples are taken in turn, because a CPU can be in
/// another state a second later: waking a thread takes 10 or 30 µs, for seconds at a time.
///
/// # Panics
/// If a sample fails.
fn growth(started: &mut StartedWorkload, k: u64, factor: u64) -> f64 {
    let pair = [k, factor * k];
    let mut elapsed_ns = samples(started, &pair).elapsed_ns;
    let is_long = elapsed_ns.first().is_some_and(|elapsed_ns| *elapsed_ns > LONG_SAMPLE_NS);
    let pairs = if is_long { LONG_PAIRS } else { PAIRS };
    elapsed_ns.extend(samples(started, &pair.repeat(pairs - 1)).elapsed_ns);
    shortest_ratio(&elapsed_ns)
}

/// The shortest time of every second sample over the shortest of the others.
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
fn shortest_ratio(elapsed_ns: &[u64]) -> f64 {
    every_second_shortest(elapsed_ns, 1) as f64 / every_second_shortest(elapsed_ns, 0) as f64
}

fn every_second_shortest(elapsed_ns: &[u64], first: usize) -> u64 {
    elapsed_ns.iter().skip(first).step_by(2).min().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{MOST_MEASUREMENTS, VALUES, assert_ratio, shortest_ratio};

    /// How many values were taken, and whether the assertion held.
    fn asserted(value: impl Fn(usize) -> f64) -> (usize, bool) {
        let taken = Cell::new(0);
        let next = || {
            taken.set(taken.get() + 1);
            value(taken.get() - 1)
        };
        let held = catch_unwind(AssertUnwindSafe(|| assert_ratio("twice", 1.5..2.7, next)));
        (taken.get(), held.is_ok())
    }

    #[test]
    fn a_ratio_in_its_range_holds_at_once_and_another_never() {
        assert_eq!(asserted(|index| if index % 2 == 0 { 2.0 } else { 2.1 }), (VALUES, true));
        assert_eq!(asserted(|_| 2.0), (VALUES, true));
        let all = MOST_MEASUREMENTS * VALUES;
        assert_eq!(asserted(|_| 1.2), (all, false));
        // One value in range is no proof, however many are tried.
        assert_eq!(asserted(|index| if index == 3 { 2.0 } else { 3.0 }), (all, false));
        assert_eq!(asserted(|_| f64::NAN), (all, false));
    }

    #[test]
    fn the_shortest_samples_of_either_length_are_compared() {
        assert_eq!(shortest_ratio(&[10, 90, 30, 20, 10, 60]).to_bits(), 2.0_f64.to_bits());
        assert_eq!(shortest_ratio(&[10, 10, 30, 30]).to_bits(), 1.0_f64.to_bits());
        assert!(shortest_ratio(&[]).is_nan());
    }

    #[test]
    fn other_work_that_passes_by_is_outvoted() {
        let (taken, held) = asserted(|index| if index < 3 { 9.0 } else { 2.0 });
        assert!(taken > VALUES && held, "{taken}");
    }
}
