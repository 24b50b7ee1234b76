//! An estimate of a finding as text.

use plumb_analysis::Estimate;
use plumb_units::Figure;

/// An estimate as people read it.
#[must_use]
pub fn figure(estimate: &Estimate, unit: &str) -> Figure {
    let interval =
        estimate.interval.as_ref().map(|ends| (ends.low, ends.high)).map_err(String::as_str);
    Figure::new(estimate.value, interval, unit)
}
