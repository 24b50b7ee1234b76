//! When to stop measuring, and the interval to print: docs/method.md, *Precision* and *Dependence*.
//!
//! Mode P, the default ([`clustered_quantile`]): samples come in clusters, one per fresh process, and only processes
//! are independent. Mode S ([`serial_quantile`]): one long series from a single process, whose dependence is measured.
//! In both the interval is made of order statistics, which hold for any shape of noise: bimodal, skewed, heavy-tailed.
//!
//! Looking at the data again and again costs coverage; each look therefore has the level [`PER_LOOK_LEVEL`], so that
//! the interval at which sampling stops still covers at least 95 %.

use crate::NoInterval;

mod clustered;
mod serial;

pub use clustered::{clustered_estimate, clustered_mean, clustered_quantile, fewest_processes};
pub use serial::{Serial, serial_mean, serial_quantile};

/// The level of the interval at each look; stopping at the first look that is precise enough leaves 95 %.
pub const PER_LOOK_LEVEL: f64 = 0.97;
/// Processes before the first look.
pub const FIRST_LOOK: usize = 10;
/// Processes before the first look where a sample is a process, and a process thus gives one number.
pub const FIRST_LOOK_SINGLE: usize = 13;
/// Samples before the first look in a single process (mode S).
pub const FIRST_LOOK_SERIAL: usize = 100;
/// A tail quantile needs this many effective samples beyond it.
const FEWEST_BEYOND: f64 = 10.0;

/// The numbers of processes (or samples) at which to look: `first` times 1.25, 1.25^2 and so on, rounded up.
///
/// `looks(10)` gives 10, 13, 16, 20, 25, 31, 39 without end.
pub fn looks(first: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first as f64), |look| Some(look * 1.25))
        .map(|look| look.ceil() as usize)
}

/// Refuses a quantile or a level outside (0, 1).
pub(crate) fn interior(q: f64, level: f64) -> Result<(), NoInterval> {
    let inside = |p: f64| p > 0.0 && p < 1.0;
    if inside(q) && inside(level) { Ok(()) } else { Err(NoInterval::OutOfRange) }
}

#[cfg(test)]
mod tests {
    use super::{FIRST_LOOK, FIRST_LOOK_SERIAL, looks};

    #[test]
    fn looks_grow_by_a_quarter_rounded_up() {
        assert_eq!(
            looks(FIRST_LOOK).take(9).collect::<Vec<_>>(),
            [10, 13, 16, 20, 25, 31, 39, 48, 60]
        );
        assert_eq!(looks(FIRST_LOOK_SERIAL).take(4).collect::<Vec<_>>(), [100, 125, 157, 196]);
        assert_eq!(looks(13).take(4).collect::<Vec<_>>(), [13, 17, 21, 26]);
    }
}
