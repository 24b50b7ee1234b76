//! Counted things on an axis.

/// A number as a place on an axis of counted things.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts of points, samples and invocations")]
pub fn place(index: usize) -> f64 {
    index as f64
}
