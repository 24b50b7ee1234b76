//! Times that other work on the machine may disturb.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plumb_protocol::StartedWorkload;

use crate::taking::samples;

/// Times a ratio is measured before it counts as wrong.
const MAX_ATTEMPTS: u32 = 20;

/// Held by tests that time something or that make the process large: two at once would time each other.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The least time of a few samples of k iterations, in nanoseconds: what other work on the machine disturbs
/// least.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
pub fn fastest_ns(started: &mut StartedWorkload, k: u64) -> f64 {
    let samples = samples(started, &[k; 7]);
    samples.elapsed_ns.iter().copied().min().unwrap_or(0) as f64
}

/// Measures a ratio until it lies where it should; other work on the machine gets a few chances to pass by.
pub fn assert_ratio(what: &str, range: Range<f64>, mut ratio: impl FnMut() -> f64) {
    let mut seen = Vec::new();
    for chance in 0..MAX_ATTEMPTS {
        let ratio = ratio();
        if range.contains(&ratio) {
            return;
        }
        seen.push(ratio);
        std::thread::sleep(Duration::from_millis(5 << chance.min(6)));
    }
    panic!("{what}: not in {range:?}: {seen:?}");
}

/// Twice the iterations take about twice the time: the work is done each time, and nothing else.
pub fn assert_doubles(what: &str, started: &mut StartedWorkload, k: u64) {
    assert_ratio(what, 1.5..2.7, || fastest_ns(started, 2 * k) / fastest_ns(started, k));
}
