//! Estimates with intervals.

use serde::{Deserialize, Serialize};

use crate::bits;

/// An estimate with its interval, or with the reason why it has none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The estimate, in the unit of its metric.
    #[serde(with = "bits")]
    pub value: f64,
    /// The ends of its interval, or why there is none.
    pub interval: Result<Ends, String>,
}

/// The ends of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ends {
    /// Lower end of the interval.
    #[serde(with = "bits")]
    pub low: f64,
    /// Upper end of the interval.
    #[serde(with = "bits")]
    pub high: f64,
}

impl Estimate {
    /// Lower end, if there is an interval.
    #[must_use]
    pub fn low(&self) -> Option<f64> {
        self.interval.as_ref().ok().map(|ends| ends.low)
    }

    /// Upper end, if there is an interval.
    #[must_use]
    pub fn high(&self) -> Option<f64> {
        self.interval.as_ref().ok().map(|ends| ends.high)
    }

    /// Larger distance from the estimate to an end, relative to the estimate.
    #[must_use]
    pub fn relative_half_width(&self) -> Option<f64> {
        let ends = self.interval.as_ref().ok()?;
        let half = (ends.high - self.value).max(self.value - ends.low);
        let relative = if half == 0.0 { 0.0 } else { half / self.value.abs() };
        relative.is_finite().then_some(relative)
    }
}
