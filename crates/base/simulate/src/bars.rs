//! The bars: what the method promises, measured, with a verdict.

use plumb_stats::describe::{mean_of, variance_of};
use plumb_stats::distribution::binomial_cdf;

/// A bar fails when a method that just clears it would do so badly once in 10,000 times.
const CHANCE: f64 = 1e-4;
/// The same for a mean: this many standard errors.
const CHANCE_Z: f64 = 3.72;

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
}

#[cfg(test)]
mod tests {
    use super::{Bar, BarSeries, ValidationRow};

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
}
