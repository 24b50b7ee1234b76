//! When to look, and what is asked of a quantile at every look.

use crate::NoInterval;

/// The level of every interval that is shown.
pub const CONFIDENCE: f64 = 0.95;
/// The relative half-width that is wanted if neither the user nor a suite states one.
pub const DEFAULT_PRECISION: f64 = 0.01;
/// Processes of the pilot, which shows how long samples and how many processes a point needs.
pub const PILOT: usize = 3;
/// The level of the interval at each look; stopping at the first look that is precise enough leaves 95 %.
pub const PER_LOOK_LEVEL: f64 = 0.97;
/// Processes before the first look.
pub const FIRST_LOOK: usize = 10;
/// Processes before the first look if a sample is a process, and a process thus gives one number.
pub const FIRST_LOOK_SINGLE: usize = 13;
/// Samples before the first look in a single process (mode S).
pub const FIRST_LOOK_SERIAL: usize = 100;
/// A tail quantile needs this many effective samples beyond it.
pub(crate) const FEWEST_BEYOND: f64 = 10.0;

/// The numbers of processes (or samples) at which to look: `first` times 1.25, 1.25^2 and so on, rounded up.
///
/// `looks(10)` gives 10, 13, 16, 20, 25, 31, 39 without end.
pub fn looks(first: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(first as f64), |look| Some(look * 1.25))
        .map(|look| look.ceil() as usize)
}

/// Refuses a quantile or a level outside (0, 1).
pub(crate) fn interior(q: f64, level: f64) -> Result<(), NoInterval> {
    // Written so that NaN is refused, too.
    let inside = q > 0.0 && q < 1.0 && level > 0.0 && level < 1.0;
    if inside { Ok(()) } else { Err(NoInterval::OutOfRange) }
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
