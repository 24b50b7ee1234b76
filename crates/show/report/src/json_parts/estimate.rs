//! An estimate in a document.

use plumb_analysis::Estimate;
use serde::Serialize;

/// An estimate with its interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct EstimatePart {
    /// The estimate, in the base unit of what it is of.
    pub estimate: f64,
    /// Lower end of the interval; null without one.
    pub low: Option<f64>,
    /// Upper end of the interval; null without one.
    pub high: Option<f64>,
    /// Why there is no interval.
    pub no_interval: Option<String>,
}

/// An estimate with its interval, or why there is none.
pub(crate) fn estimate(estimate: &Estimate) -> EstimatePart {
    EstimatePart {
        estimate: estimate.value,
        low: estimate.low(),
        high: estimate.high(),
        no_interval: estimate.interval.clone().err(),
    }
}
