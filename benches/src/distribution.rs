//! The cost of recording a value of a distribution.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use plumb_protocol::{Distribution, SplitMix64};

use crate::BenchResult;

/// Values of a batch.
const VALUES: u64 = 1_000_000;
/// Batches, of which the fastest is taken as the cost.
const BATCHES: usize = 15;

/// Records batches of latencies, in turns with the same loop that records nothing.
pub fn bench(_: &Path) -> BenchResult<String> {
    let mut latency = Distribution::of("latency");
    let mut with = f64::INFINITY;
    let mut without = f64::INFINITY;
    for _ in 0..BATCHES {
        // Touched before it is timed: page faults are not part of the cost of a value.
        latency.make_room(1, VALUES);
        // Interference only adds time, so the fastest batch is nearest to the cost itself.
        with = with.min(each(|value| latency.record(black_box(value))));
        without = without.min(each(|value| {
            black_box(value);
        }));
    }
    Ok(format!(
        "**{:.1} ns** per latency (bar 20): {VALUES} random values, minus the same loop without recording ({without:.1} ns per \
         iteration); the fastest of {BATCHES} batches each.\n",
        with - without
    ))
}

/// Nanoseconds a turn.
#[expect(clippy::cast_precision_loss, reason = "a time for people")]
fn each(mut record: impl FnMut(u64)) -> f64 {
    let mut random = SplitMix64::new(1);
    let start = Instant::now();
    for _ in 0..VALUES {
        record(1_000 + random.below(1 << 20));
    }
    start.elapsed().as_nanos() as f64 / VALUES as f64
}
