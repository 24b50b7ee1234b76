//! An estimate of a finding as text.

use plumb_analysis::{Arm, Estimate};
use plumb_units::{Figure, largest_of};

/// An estimate as people read it.
#[must_use]
pub fn figure(estimate: &Estimate, unit: &str) -> Figure {
    let interval =
        estimate.interval.as_ref().map(|ends| (ends.low, ends.high)).map_err(String::as_str);
    Figure::new(estimate.value, interval, unit)
}

/// An estimate with its interval in brackets if it has one: the reason for a missing one stands elsewhere.
pub(crate) fn in_brackets(estimate: &Estimate, unit: &str) -> String {
    let shown = figure(estimate, unit);
    if shown.interval.is_ok() { shown.to_string() } else { shown.quantity() }
}

/// The estimate of one arm of a comparison, in one unit with those of all arms.
#[must_use]
pub(crate) fn figure_of_arm(arm: &Arm, all: &[Option<Arm>], unit: &str) -> Figure {
    let size = largest_of(all.iter().flatten().map(|arm| arm.estimate.value));
    let estimate = &arm.estimate;
    let interval =
        estimate.interval.as_ref().map(|ends| (ends.low, ends.high)).map_err(String::as_str);
    Figure::in_unit_of(size, estimate.value, interval, unit)
}
