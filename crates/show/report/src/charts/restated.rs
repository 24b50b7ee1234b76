//! Which metrics are computed of another one, as a rate is of a time.

use plumb_analysis::PointSamples;

/// How far what should be one number may vary, relatively: values have 53 bits, and some came through text.
const ROUNDING: f64 = 1e-9;
/// Fewer samples may agree by chance.
const FEWEST: usize = 3;

/// Whether one metric says nothing that another does not: at every point the products of their values, or the
/// quotients, are one number, while the values differ.
pub(super) fn is_computed(all: &[PointSamples], of: &str, metric: &str) -> bool {
    let mut varied = false;
    for own in all.iter().filter(|samples| samples.metric.name == metric) {
        let other = all.iter().find(|samples| {
            samples.metric.name == of
                && samples.point.index == own.point.index
                && samples.target == own.target
        });
        let Some(other) = other else { return false };
        let values = values_of(own);
        let others = values_of(other);
        if values.len() != others.len() {
            return false;
        }
        let is_product = is_one_number(values.iter().zip(&others).map(|(a, b)| a * b));
        let is_quotient = is_one_number(values.iter().zip(&others).map(|(a, b)| a / b));
        if !is_product && !is_quotient {
            return false;
        }
        // Two constants are in proportion, whatever they are.
        varied |= values.len() >= FEWEST && !is_one_number(values.iter().copied());
    }
    varied
}

fn values_of(of: &PointSamples) -> Vec<f64> {
    of.invocations.iter().flat_map(|invocation| invocation.values.iter().copied()).collect()
}

fn is_one_number(mut values: impl Iterator<Item = f64>) -> bool {
    let Some(first) = values.next() else { return true };
    first.is_finite() && first != 0.0 && values.all(|value| (value / first - 1.0).abs() < ROUNDING)
}
