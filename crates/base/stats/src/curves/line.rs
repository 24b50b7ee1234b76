//! A line: the cost of a call, and of each byte or other unit in it, t = a + b·n.
//!
//! The noise of times is relative, so every point counts by its relative distance from the line: iteratively
//! reweighted least squares, weights from the fitted and not from the measured times (as in a generalised linear model
//! with constant coefficient of variation, McCullagh & Nelder 1989, chapter 8). Weights from measured times would pull
//! the line down.

use super::least_squares::{LEAST_SHARE, ROUNDS, fit, widening};
use super::point::{CurveFigure, CurvePoint, NoFit, ordered, weighing_noise};

/// The fewest points of a curve.
pub const FEWEST_POINTS: usize = 3;

/// A line through times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FittedLine {
    /// The time of a call without any unit in it.
    pub fixed: CurveFigure,
    /// The time of each further unit.
    pub each: CurveFigure,
    /// How far a point lies off the line at most, relative to the line there.
    pub off: f64,
}

/// The line through times at numbers of units.
///
/// The interval of a figure is the wider one of what the points' intervals give and of what their distances from the
/// line give (Student's t on n − 2 degrees of freedom). So a curve that is not a line has wide intervals, and three
/// points, which tell little of that, wider ones than five.
///
/// # Errors
/// [`NoFit`]: fewer than three points, or times that are not above 0.
pub fn line(points: &[CurvePoint]) -> Result<FittedLine, NoFit> {
    let points = ordered(points, FEWEST_POINTS)?;
    let n: Vec<f64> = points.iter().map(|point| point.at).collect();
    let times: Vec<f64> = points.iter().map(|point| point.estimate).collect();
    let (relative, known) = weighing_noise(&points);
    let columns = [vec![1.0; n.len()], n.clone()];
    let mut fitted = times.clone();
    let mut found = None;
    // The weights come from the fit that they make, so it is repeated until both have settled.
    for _ in 0..ROUNDS {
        let noise: Vec<f64> =
            fitted.iter().zip(&relative).map(|(time, share)| time * share).collect();
        let next = fit(&columns, &times, &noise).ok_or(NoFit::NotFinite)?;
        let fixed = next.coefficients[0];
        let each = next.coefficients[1];
        let least = times.iter().map(|time| time * LEAST_SHARE);
        fitted = n.iter().zip(least).map(|(n, least)| (fixed + each * n).max(least)).collect();
        found = Some(next);
    }
    let found = found.ok_or(NoFit::NotFinite)?;
    let factor = widening(found.squares, n.len() - 2);
    let [fixed, each] = [0, 1].map(|index| {
        let value = found.coefficients[index];
        let half = found.errors[index] * factor;
        CurveFigure::new(value, known.then_some((value - half, value + half)))
    });
    let distances = times.iter().zip(&fitted).map(|(time, line)| (time / line - 1.0).abs());
    Ok(FittedLine { fixed, each, off: distances.fold(0.0, f64::max) })
}

#[cfg(test)]
mod tests {
    use super::line;
    use crate::NoInterval;
    use crate::curves::{CurvePoint, NoFit};

    fn point(at: f64, estimate: f64) -> CurvePoint {
        CurvePoint { at, estimate, ends: Some((estimate * 0.99, estimate * 1.01)) }
    }

    #[test]
    fn a_call_and_a_byte_have_their_cost_over_four_decades() {
        let time = |n: f64| 50e-9 + 0.1e-9 * n;
        let points = [16.0, 256.0, 4096.0, 65536.0, 1e6].map(|n| point(n, time(n)));
        let found = line(&points).unwrap();
        let fixed = found.fixed.interval.unwrap();
        let each = found.each.interval.unwrap();
        assert!((fixed.estimate - 50e-9).abs() < 1e-15 && fixed.relative_half_width() < 0.02);
        assert!((each.estimate - 0.1e-9).abs() < 1e-18 && each.relative_half_width() < 0.01);
        assert!(found.off < 1e-9);
    }

    #[test]
    fn what_is_no_line_says_so_by_its_distance_and_its_intervals() {
        let points = [1.0, 2.0, 4.0, 8.0, 16.0].map(|n: f64| point(n, n * n));
        let found = line(&points).unwrap();
        assert!(found.off > 0.3, "{found:?}");
        assert!(found.each.interval.unwrap().relative_half_width() > 0.2, "{found:?}");
    }

    #[test]
    fn reasons_and_missing_intervals_are_said() {
        let mut points = [0.0, 1.0, 2.0].map(|n| point(n, 1.0 + n));
        assert!((line(&points).unwrap().each.value - 1.0).abs() < 1e-9);
        points[1].ends = None;
        let found = line(&points).unwrap();
        assert_eq!(found.fixed.interval, Err(NoInterval::PointWithout));
        assert_eq!(line(&points[..2]), Err(NoFit::TooFewPoints { have: 2, need: 3 }));
        points[1].estimate = f64::NAN;
        assert_eq!(line(&points), Err(NoFit::NotFinite));
    }
}
