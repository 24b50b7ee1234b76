//! An estimate with its interval, or the reason why there is none.

use std::fmt;

/// A point estimate between two bounds, all three in the unit of the samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The point estimate.
    pub estimate: f64,
    /// The lower confidence bound.
    pub low: f64,
    /// The upper confidence bound.
    pub high: f64,
}

impl Interval {
    /// A value that was not estimated: an interval of no width.
    pub fn exactly(value: f64) -> Self {
        Self { estimate: value, low: value, high: value }
    }

    /// The larger distance from the estimate to a bound, as a share of the estimate's size.
    ///
    /// 0 for an interval of no width, infinite for a wider one around 0.
    pub fn relative_half_width(&self) -> f64 {
        let half = (self.high - self.estimate).max(self.estimate - self.low);
        if half == 0.0 { 0.0 } else { half / self.estimate.abs() }
    }

    /// Whether `value` lies between the bounds, bounds included.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// This quantity less another one that is independent of it, by MOVER (Zou and Donner 2008, *Construction of confidence
    /// limits about effect measures*): the distances of the bounds from the estimates add as squares, crosswise.
    pub fn minus(&self, other: &Self) -> Self {
        let estimate = self.estimate - other.estimate;
        let down = (self.estimate - self.low).hypot(other.high - other.estimate);
        let up = (self.high - self.estimate).hypot(other.estimate - other.low);
        Self { estimate, low: estimate - down, high: estimate + up }
    }

    /// The interval of a monotone increasing function of the quantity, such as `exp` of a log ratio.
    pub fn map(&self, increasing: impl Fn(f64) -> f64) -> Self {
        Self {
            estimate: increasing(self.estimate),
            low: increasing(self.low),
            high: increasing(self.high),
        }
    }
}

/// Why there is no interval. Its `Display` is the sentence to show next to the estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum NoInterval {
    /// Fewer independent processes (or pairs) than the method needs.
    TooFewProcesses {
        /// Processes with at least one sample.
        have: usize,
        /// The fewest that the method accepts.
        need: usize,
    },
    /// The ranks that the level asks for lie outside the sample.
    OutOfRange,
    /// Too few (effective) samples for this quantile.
    TooFewSamples,
    /// The samples depend on each other over a longer time than was observed.
    Unresolved,
    /// All values are equal: an exact comparison, not an estimate.
    AllEqual,
    /// A value is NaN or infinite.
    NotFinite,
    /// A time is zero or negative.
    NotPositive,
    /// Of a figure of a curve: one of the points that it rests on has no interval.
    PointWithout,
}

impl fmt::Display for NoInterval {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewProcesses { have, need } => {
                write!(out, "too few processes: {have}, needs {need}")
            }
            Self::OutOfRange => out.write_str("too little data for an interval at this level"),
            Self::TooFewSamples => out.write_str("too few samples for this quantile"),
            Self::Unresolved => {
                out.write_str("samples are autocorrelated for longer than the measurement lasted")
            }
            Self::AllEqual => out.write_str("all values are equal"),
            Self::NotFinite => out.write_str("a value is not a finite number"),
            Self::NotPositive => out.write_str("a time is zero or negative"),
            Self::PointWithout => out.write_str("a point of the curve has no interval"),
        }
    }
}

impl std::error::Error for NoInterval {}

#[cfg(test)]
mod tests {
    use super::{Interval, NoInterval};

    #[test]
    fn the_wider_side_counts() {
        let lopsided = Interval { estimate: 10.0, low: 9.0, high: 12.0 };
        assert_eq!(lopsided.relative_half_width(), 0.2);
        assert!(lopsided.contains(9.0) && !lopsided.contains(12.1));
    }

    #[test]
    fn around_zero_only_no_width_is_precise() {
        assert_eq!(Interval { estimate: 0.0, low: 0.0, high: 0.0 }.relative_half_width(), 0.0);
        assert_eq!(
            Interval { estimate: 0.0, low: -1.0, high: 0.0 }.relative_half_width(),
            f64::INFINITY
        );
    }

    #[test]
    fn reasons_read_as_lower_case_sentences() {
        let reason = NoInterval::TooFewProcesses { have: 3, need: 6 }.to_string();
        assert_eq!(reason, "too few processes: 3, needs 6");
    }
}
