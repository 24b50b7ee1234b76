//! Points of a curve, and what is found of one.

use std::fmt;

use crate::describe::{all_finite, mean_of};
use crate::distribution::two_sided_z;
use crate::precision::CONFIDENCE;
use crate::{Interval, NoInterval};

/// A point is known no better than so, or few very precise ones would decide a fit alone.
pub(super) const LEAST_ERROR: f64 = 0.005;

/// The most points that are fitted; the searches take the third power of their number.
pub const MOST_POINTS: usize = 200;

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// The parameter's value.
    pub at: f64,
    /// The estimate there, in any unit.
    pub estimate: f64,
    /// The ends of its 95 % interval; `None` if it has none.
    pub ends: Option<(f64, f64)>,
}

impl CurvePoint {
    /// Whether no number of it is NaN or infinite.
    fn is_finite(&self) -> bool {
        let (low, high) = self.ends.unwrap_or((self.estimate, self.estimate));
        all_finite(&[self.at, self.estimate, low, high])
    }
}

/// A figure of a curve: a value in the unit of the estimates (or of the parameter), and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurveFigure {
    /// The estimate, in the unit of the points' estimates or of the parameter.
    pub value: f64,
    /// Its interval, or why it has none.
    pub interval: Result<Interval, NoInterval>,
}

impl CurveFigure {
    /// A figure with these ends; without an interval if a point has none.
    pub(super) fn new(value: f64, ends: Option<(f64, f64)>) -> Self {
        let interval = ends.map(|(low, high)| Interval { estimate: value, low, high });
        Self { value, interval: interval.ok_or(NoInterval::PointWithout) }
    }

    /// The figure of which this is the logarithm.
    pub(super) fn exp(&self) -> Self {
        let interval = self.interval.map(|interval| interval.map(f64::exp));
        Self { value: self.value.exp(), interval }
    }
}

/// Why nothing can be said of a curve. Its `Display` is the sentence to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoFit {
    /// Fewer points than the fit needs.
    TooFewPoints {
        /// Points with different values of the parameter.
        have: usize,
        /// The fewest that the fit accepts.
        need: usize,
    },
    /// More points than [`MOST_POINTS`].
    TooManyPoints,
    /// Two points have one value of the parameter.
    Repeated,
    /// A value is NaN or infinite.
    NotFinite,
    /// A value that has no logarithm.
    NotPositive,
    /// Of points behind a link: their round trips do not differ, so that nothing tells waiting from the rest.
    OneRoundTrip,
}

impl fmt::Display for NoFit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewPoints { have, need } => {
                write!(out, "too few points: {have}, needs {need}")
            }
            Self::TooManyPoints => write!(out, "more than {MOST_POINTS} points"),
            Self::Repeated => out.write_str("two points have the same value of the parameter"),
            Self::NotFinite => out.write_str("a value is not finite"),
            Self::NotPositive => out.write_str("a value is zero or negative"),
            Self::OneRoundTrip => out.write_str("all points have the same round-trip time"),
        }
    }
}

/// The points in the order of the parameter, checked: from `fewest` to [`MOST_POINTS`] of them, all finite, estimates
/// above 0, no two at one place.
pub(super) fn ordered(points: &[CurvePoint], fewest: usize) -> Result<Vec<CurvePoint>, NoFit> {
    let mut points = points.to_vec();
    points.sort_by(|one, other| one.at.total_cmp(&other.at));
    if points.len() < fewest {
        Err(NoFit::TooFewPoints { have: points.len(), need: fewest })
    } else if points.len() > MOST_POINTS {
        Err(NoFit::TooManyPoints)
    } else if !points.iter().all(CurvePoint::is_finite) {
        Err(NoFit::NotFinite)
    } else if points.iter().any(|point| point.estimate <= 0.0) {
        Err(NoFit::NotPositive)
    } else if points.windows(2).any(|pair| pair[0].at >= pair[1].at) {
        Err(NoFit::Repeated)
    } else {
        Ok(points)
    }
}

/// The standard error of a point's logarithm, from its interval; `None` without one, or if it reaches 0.
pub(super) fn relative_error(point: &CurvePoint) -> Option<f64> {
    let (low, high) = point.ends.filter(|(low, _)| *low > 0.0)?;
    Some((high / low).ln() / 2.0 / two_sided_z(CONFIDENCE))
}

/// The standard errors of all, if all are known.
pub(super) fn relative_errors(points: &[CurvePoint]) -> Option<Vec<f64>> {
    points.iter().map(relative_error).collect()
}

/// The relative noise by which a weighted fit counts each point, half a per cent at least, and whether all of it is
/// known; if it is not, all points count alike.
pub(super) fn weighing_noise(points: &[CurvePoint]) -> (Vec<f64>, bool) {
    match relative_errors(points) {
        Some(errors) => {
            (shrunk(&errors).into_iter().map(|error| error.max(LEAST_ERROR)).collect(), true)
        }
        None => (vec![LEAST_ERROR; points.len()], false),
    }
}

/// Errors half-way to what all points together show, as variances: ten processes tell their own noise to a quarter
/// only, and weights that follow such errors make intervals too narrow.
fn shrunk(errors: &[f64]) -> Vec<f64> {
    let squares: Vec<f64> = errors.iter().map(|error| error * error).collect();
    let mean = mean_of(&squares);
    squares.iter().map(|square| ((square + mean) / 2.0).sqrt()).collect()
}

/// The standard deviations of the logarithms that a fit allows for: the points' errors and what is never distinguished
/// from noise. A point without an error has the greatest one of the others.
pub(super) fn noise(points: &[CurvePoint], never_told: f64) -> Vec<f64> {
    let errors: Vec<Option<f64>> = points.iter().map(relative_error).collect();
    let greatest = errors.iter().flatten().copied().fold(0.0, f64::max);
    errors.into_iter().map(|error| error.unwrap_or(greatest).hypot(never_told)).collect()
}
