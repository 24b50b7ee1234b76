//! Which metrics are computed of another one, as a rate is of a time.

use plumb_analysis::PointSamples;

/// How far what should be one number may vary, relatively: values have 53 bits, and some came through text.
const ROUNDING: f64 = 1e-9;
/// Fewer samples may agree by chance.
const FEWEST: usize = 3;

/// Whether one metric says nothing that another does not: at every point the products of their values, or the
/// quotients, are one number, while the values differ.
pub(super) fn is_computed(all: &[PointSamples], of: &str, metric: &str) -> bool {
    let with = |name| move |it: &&PointSamples| it.metric.name == name;
    let mut varied = false;
    let mut points = all.iter().filter(with(metric)).map(|own| {
        let is_same =
            |it: &&PointSamples| it.point.index == own.point.index && it.target == own.target;
        let other = all.iter().filter(with(of)).find(is_same)?;
        let (own, other) = (values(own), values(other));
        if own.len() != other.len() {
            return None;
        }
        let pairs = || own.iter().zip(&other);
        let computed = is_one_number(pairs().map(|(a, b)| a * b))
            || is_one_number(pairs().map(|(a, b)| a / b));
        varied |= own.len() >= FEWEST && !is_one_number(own.iter().copied());
        computed.then_some(())
    });
    points.all(|it| it.is_some()) && varied
}

fn values(of: &PointSamples) -> Vec<f64> {
    of.invocations.iter().flat_map(|it| it.values.iter().copied()).collect()
}

fn is_one_number(mut values: impl Iterator<Item = f64>) -> bool {
    let Some(first) = values.next() else { return true };
    first.is_finite() && first != 0.0 && values.all(|it| (it / first - 1.0).abs() < ROUNDING)
}
