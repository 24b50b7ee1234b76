//! Efficiency: what a unit of the parameter still gives, against the smallest point.

use super::point::{CurveFigure, CurvePoint, NoFit, ordered};
use crate::{Interval, NoInterval};

/// How a point compares with the smallest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScalingEfficiency {
    /// The parameter's value.
    pub at: f64,
    /// The rate over that of the smallest point.
    pub speedup: CurveFigure,
    /// The same over the ratio of the parameter's values: 1 is perfect.
    pub efficiency: CurveFigure,
}

/// The efficiency of every point but the smallest; estimates are rates, more is better.
///
/// The interval of a quotient is made of the intervals of both on logarithms ([`Interval::minus`]), because the points are
/// independent. So it holds where they hold, and needs no shape of the noise.
///
/// # Errors
/// [`NoFit`]: fewer than two points, or values that are no rates.
pub fn scaling(points: &[CurvePoint]) -> Result<Vec<ScalingEfficiency>, NoFit> {
    let points = ordered(points, 2)?;
    let (first, rest) = points.split_first().ok_or(NoFit::TooFewPoints { have: 0, need: 2 })?;
    if first.at <= 0.0 {
        return Err(NoFit::NotPositive);
    }
    Ok(rest.iter().map(|point| ScalingEfficiency::of(point, first)).collect())
}

impl ScalingEfficiency {
    /// The efficiency of a point compared with the smallest.
    fn of(point: &CurvePoint, first: &CurvePoint) -> Self {
        let speedup = quotient(point, first);
        let share = first.at / point.at;
        let scaled = speedup.interval.map(|interval| interval.map(|value| value * share));
        let efficiency = CurveFigure { value: speedup.value * share, interval: scaled };
        Self { at: point.at, speedup, efficiency }
    }
}

/// The estimate of one point over that of another.
fn quotient(above: &CurvePoint, below: &CurvePoint) -> CurveFigure {
    let value = above.estimate / below.estimate;
    let Some((above, below)) = interval(above).zip(interval(below)) else {
        return CurveFigure::new(value, None);
    };
    // An interval that reaches 0 has no logarithm.
    if above.low <= 0.0 || below.low <= 0.0 {
        return CurveFigure { value, interval: Err(NoInterval::NotPositive) };
    }
    let found = above.map(f64::ln).minus(&below.map(f64::ln)).map(f64::exp);
    CurveFigure::new(value, Some((found.low, found.high)))
}

fn interval(point: &CurvePoint) -> Option<Interval> {
    point.ends.map(|(low, high)| Interval { estimate: point.estimate, low, high })
}

#[cfg(test)]
mod tests {
    use super::scaling;
    use crate::NoInterval;
    use crate::curves::{CurvePoint, NoFit};

    fn point(at: f64, low: f64, estimate: f64, high: f64) -> CurvePoint {
        CurvePoint { at, estimate, ends: Some((low, high)) }
    }

    #[test]
    fn efficiency_is_against_the_smallest_whatever_the_order() {
        let found = scaling(&[
            point(8.0, 56.0, 56.0, 56.0),
            point(2.0, 18.0, 20.0, 22.0),
            point(4.0, 39.0, 40.0, 41.0),
        ])
        .unwrap();
        assert_eq!((found[0].at, found[1].at, found.len()), (4.0, 8.0, 2));
        assert!((found[0].speedup.value - 2.0).abs() < 1e-12);
        assert!((found[0].efficiency.value - 1.0).abs() < 1e-12);
        assert!((found[1].efficiency.value - 0.7).abs() < 1e-12);
        // A point without error leaves the interval of the other.
        let exact = found[1].speedup.interval.unwrap();
        assert!((exact.low - 56.0 / 22.0).abs() < 1e-12, "{exact:?}");
        assert!((exact.high - 56.0 / 18.0).abs() < 1e-12, "{exact:?}");
        let both = found[0].speedup.interval.unwrap();
        assert!(both.low > 39.0 / 22.0 && both.low < 40.0 / 22.0, "{both:?}");
    }

    #[test]
    fn what_has_no_interval_says_why() {
        let none = CurvePoint { at: 2.0, estimate: 2.0, ends: None };
        let found = scaling(&[point(1.0, 1.0, 1.0, 1.0), none]).unwrap();
        assert_eq!(found[0].efficiency.interval, Err(NoInterval::PointWithout));
        let found = scaling(&[point(1.0, -1.0, 1.0, 3.0), point(2.0, 1.0, 2.0, 3.0)]).unwrap();
        assert_eq!(found[0].efficiency.interval, Err(NoInterval::NotPositive));
        assert_eq!(scaling(&[none]), Err(NoFit::TooFewPoints { have: 1, need: 2 }));
        assert_eq!(scaling(&[none, none]), Err(NoFit::Repeated));
        let zero = CurvePoint { at: 1.0, estimate: 0.0, ends: None };
        assert_eq!(scaling(&[zero, none]), Err(NoFit::NotPositive));
    }
}
