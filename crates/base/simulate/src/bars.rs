//! The bars: what the method promises, measured, with a verdict.

use std::ops::Range;

use plumb_stats::describe::{mean_of, variance_of};
use plumb_stats::distribution::binomial_cdf;

/// A bar fails when a method that just clears it would do so badly once in 10,000 times.
const CHANCE: f64 = 1e-4;
/// The same for a mean: this many standard errors.
const CHANCE_Z: f64 = 3.72;
/// Rows on the wrong side of their bar are measured again, with so many trials or more.
const TRIALS_IF_IN_DOUBT: u64 = 20_000;
/// Runs of fewer replications are only a quick look, and leave rows in doubt.
const QUICK: u64 = 1000;

/// The promised bar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// No less than this.
    AtLeast(f64),
    /// No more than this.
    AtMost(f64),
    /// Measured, but not promised; the reason.
    Exempt(&'static str),
}

/// The measured series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BarSeries {
    /// How often something happened.
    Share {
        /// Times it did.
        hits: u64,
        /// Times it could.
        trials: u64,
    },
    /// An average with its standard error.
    Mean {
        /// The average over all draws.
        mean: f64,
        /// Its standard error.
        error: f64,
    },
}

impl BarSeries {
    /// The mean of values that were drawn independently, of two or more.
    pub fn mean(values: &[f64]) -> Self {
        let error = (variance_of(values) / values.len() as f64).sqrt();
        Self::Mean { mean: mean_of(values), error }
    }

    /// The number to show.
    pub fn value(&self) -> f64 {
        match *self {
            Self::Share { hits, trials } => hits as f64 / trials.max(1) as f64,
            Self::Mean { mean, .. } => mean,
        }
    }

    /// The largest value that would be lower than the bar although chance is allowed for.
    fn missed_below(&self, bar: f64) -> Option<f64> {
        match *self {
            Self::Share { trials, .. } => {
                let share = |hits| Self::Share { hits, trials };
                let least = first_in(0..trials + 1, |hits| share(hits).at_least(bar));
                Some(share(least.checked_sub(1)?).value())
            }
            Self::Mean { error, .. } => Some(bar - CHANCE_Z * error),
        }
    }

    /// The smallest value that would be higher than the bar although chance is allowed for.
    fn missed_above(&self, bar: f64) -> Option<f64> {
        match *self {
            Self::Share { trials, .. } => {
                let share = |hits| Self::Share { hits, trials };
                let first = first_in(0..trials + 1, |hits| !share(hits).at_most(bar));
                (first <= trials).then(|| share(first).value())
            }
            Self::Mean { error, .. } => Some(bar + CHANCE_Z * error),
        }
    }

    /// Whether it is no lower than the bar, chance allowed for.
    fn at_least(&self, bar: f64) -> bool {
        match *self {
            Self::Share { hits, trials } => binomial_cdf(hits, trials, bar) > CHANCE,
            Self::Mean { mean, error } => mean + CHANCE_Z * error >= bar,
        }
    }

    /// Whether it is no higher than the bar, chance allowed for.
    fn at_most(&self, bar: f64) -> bool {
        match *self {
            // Misses have the other side of the same law.
            Self::Share { hits, trials } => binomial_cdf(trials - hits, trials, 1.0 - bar) > CHANCE,
            Self::Mean { mean, error } => mean - CHANCE_Z * error <= bar,
        }
    }
}

/// The first number of a range for which something holds that then holds for all the later ones; the end of the range
/// if there is none.
fn first_in(range: Range<u64>, holds: impl Fn(u64) -> bool) -> u64 {
    let Range { mut start, mut end } = range;
    while start < end {
        let middle = start + (end - start) / 2;
        if holds(middle) {
            end = middle;
        } else {
            start = middle + 1;
        }
    }
    start
}

/// One line of the validation.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidationRow {
    /// The promise, the same for a group of rows.
    pub promise: &'static str,
    /// Under which noise or setting.
    pub setting: String,
    /// The least or the most that is promised.
    pub bar: Bar,
    /// The result of the simulation.
    pub measured: BarSeries,
    /// A remark for the reader.
    pub note: String,
}

impl ValidationRow {
    /// Whether the bar is cleared; exempt rows always are.
    pub fn passes(&self) -> bool {
        match self.bar {
            Bar::AtLeast(bar) => self.measured.at_least(bar),
            Bar::AtMost(bar) => self.measured.at_most(bar),
            Bar::Exempt(_) => true,
        }
    }

    /// The nearest value that would miss the bar; none if nothing is promised or no value would.
    pub fn missed_from(&self) -> Option<f64> {
        match self.bar {
            Bar::AtLeast(bar) => self.measured.missed_below(bar),
            Bar::AtMost(bar) => self.measured.missed_above(bar),
            Bar::Exempt(_) => None,
        }
    }

    /// Whether the measured value itself is on the wrong side of the bar.
    fn is_in_doubt(&self) -> bool {
        match self.bar {
            Bar::AtLeast(bar) => self.measured.value() < bar,
            Bar::AtMost(bar) => self.measured.value() > bar,
            Bar::Exempt(_) => false,
        }
    }
}

/// The row that `measure` returns for so many trials; if it is in doubt, the row of many more trials instead.
pub fn decided(
    replications: u64,
    trials: u64,
    measure: impl Fn(u64) -> ValidationRow,
) -> ValidationRow {
    let row = measure(trials);
    if replications >= QUICK && row.is_in_doubt() {
        measure(TRIALS_IF_IN_DOUBT.max(10 * trials))
    } else {
        row
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::{Bar, BarSeries, TRIALS_IF_IN_DOUBT, ValidationRow, decided};

    fn row(bar: Bar, hits: u64) -> ValidationRow {
        let measured = BarSeries::Share { hits, trials: 1000 };
        ValidationRow { promise: "", setting: String::new(), bar, measured, note: String::new() }
    }

    #[test]
    fn chance_is_allowed_for_and_no_more() {
        assert!(row(Bar::AtLeast(0.94), 915).passes());
        assert!(!row(Bar::AtLeast(0.94), 905).passes());
        assert!(row(Bar::AtMost(0.05), 75).passes());
        assert!(!row(Bar::AtMost(0.05), 85).passes());
        assert!(row(Bar::Exempt("why"), 0).passes());
    }

    #[test]
    fn the_nearest_value_that_misses_is_known() {
        for bar in [Bar::AtLeast(0.94), Bar::AtMost(0.05)] {
            let missed = row(bar, 500).missed_from().unwrap();
            let hits = (1000.0 * missed).round() as u64;
            let inside = if bar == Bar::AtMost(0.05) { hits - 1 } else { hits + 1 };
            assert!(!row(bar, hits).passes(), "{bar:?}: {hits}");
            assert!(row(bar, inside).passes(), "{bar:?}: {inside}");
        }
        assert_eq!(row(Bar::AtLeast(0.0), 500).missed_from(), None);
        assert_eq!(row(Bar::AtMost(1.0), 500).missed_from(), None);
        assert_eq!(row(Bar::Exempt("why"), 500).missed_from(), None);
        let mean = BarSeries::Mean { mean: 1.0, error: 0.1 };
        let row = ValidationRow { measured: mean, ..row(Bar::AtMost(2.0), 0) };
        assert_eq!(row.missed_from(), Some(2.0 + 0.372));
    }

    #[test]
    fn rows_in_doubt_are_measured_again() {
        let asked = RefCell::new(Vec::new());
        let measure = |trials| {
            asked.borrow_mut().push(trials);
            row(Bar::AtMost(0.05), 55)
        };
        decided(2000, 400, measure);
        assert_eq!(asked.take(), [400, TRIALS_IF_IN_DOUBT]);
        decided(100, 400, measure);
        assert_eq!(asked.take(), [400]);
        decided(2000, 4000, |trials| {
            assert_eq!(trials, 4000);
            row(Bar::AtMost(0.05), 45)
        });
    }
}
