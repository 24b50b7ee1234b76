//! The knee: where a rate stops to grow with a parameter (workers, requests in flight), and the level there.
//!
//! On logarithmic axes growth is a line: what doubles with the parameter has the slope 1. Models of straight pieces are
//! fitted by least squares, and the cheapest is taken, a slope costing 6 and the place of a bend 12 (Akaike's criterion
//! would take 2 for each, and find knees in noise): flat; one slope; growth and then flat; flat and then a slope; two
//! slopes. There is a knee where a piece that grows is followed by one that is flat or falls. Hinges on
//! logarithms, as for thresholds in dose-response curves (Hinkley 1971, *Inference in two-phase regression*).
//!
//! That a curve still grows at its end is a statement of its own: the interval of the slope over the last doubling of the
//! parameter (or the last step, if that is larger) has to exclude no growth. Models prefer a slope to nothing where two
//! levels or a neighbour made one point low, and points without intervals show no growth at all.

use super::least_squares::fit;
use super::point::{CurveFigure, CurvePoint, LEAST_ERROR, NoFit, noise, ordered, relative_errors};
use crate::distribution::two_sided_z;
use crate::precision::CONFIDENCE;

/// The fewest points of a curve.
pub const FEWEST_POINTS: usize = 3;
/// What lies on its piece to within about this fits, however precise it is: one standard deviation.
const LEAST_DEVIATION: f64 = 0.03;
/// The cost of a coefficient, in addition to the level.
const SLOPE: f64 = 6.0;
/// What the place of a bend costs.
const BEND: f64 = 12.0;
/// Places of the bend that are tried between two points.
const STEPS: usize = 8;

/// How a rate grows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateGrowth {
    /// It does not: it is flat, or falls.
    Never,
    /// It still grows at the last point, so that the knee lies beyond.
    Unfinished,
    /// It grew, and the points' intervals do not show whether it still does at the last point.
    Undecided,
    /// It grows up to a knee.
    Until {
        /// The parameter's value there, with its interval.
        knee: CurveFigure,
        /// The rate there.
        level: CurveFigure,
    },
}

/// A model with a bend, fitted.
struct Bend {
    at: f64,
    /// To the next place that was tried.
    step: f64,
    level: f64,
    error: f64,
    growth: GrowthShape,
    squares: f64,
    /// How many slopes it has.
    slopes: usize,
}

impl Bend {
    /// The model of these columns, the first of which is the level; `None` if they have no fit.
    fn fitted(
        (at, step): (f64, f64),
        columns: &[Vec<f64>],
        y: &[f64],
        noise: &[f64],
        shape: fn(&[f64]) -> GrowthShape,
    ) -> Option<Self> {
        let found = fit(columns, y, noise)?;
        Some(Self {
            at,
            step,
            level: found.coefficients[0],
            error: found.errors[0],
            growth: shape(&found.coefficients[1..]),
            squares: found.squares,
            slopes: columns.len() - 1,
        })
    }

    fn total(&self) -> f64 {
        self.squares + BEND + SLOPE * self.slopes as f64
    }
}

/// The growth of a model.
#[derive(Clone, Copy, PartialEq)]
enum GrowthShape {
    Never,
    Unfinished,
    Until,
}

/// Where growth stops; estimates are rates, more is better.
///
/// The bend has two points on either side at least, itself included. Its interval holds every place where the fit is
/// not significantly worse than at the best (profile likelihood), and that of the level the levels at all of these.
/// Noise is what the points' intervals tell, and 3 % at least; if the best fit leaves more, so much. A point at 0 (no
/// pause, say) is infinitely far from the others and is passed over.
///
/// # Errors
/// [`NoFit`]: fewer than three points above 0, or values without a logarithm.
pub fn knee(points: &[CurvePoint]) -> Result<RateGrowth, NoFit> {
    let above_zero: Vec<CurvePoint> =
        points.iter().copied().filter(|point| point.at != 0.0).collect();
    let points = ordered(&above_zero, FEWEST_POINTS)?;
    if points[0].at <= 0.0 {
        return Err(NoFit::NotPositive);
    }
    let x: Vec<f64> = points.iter().map(|point| point.at.ln()).collect();
    let y: Vec<f64> = points.iter().map(|point| point.estimate.ln()).collect();
    let noise = noise(&points, LEAST_DEVIATION);
    let bends = bends(&x, &y, &noise);
    let straight = straight(&x, &y, &noise);
    let best = bends.iter().min_by(|a, b| a.total().total_cmp(&b.total()));
    let bend = best.filter(|best| best.total() < straight.1);
    let shape = bend.map_or(straight.0, |bend| bend.growth);
    Ok(match (shape, bend) {
        (GrowthShape::Until, Some(bend)) => {
            until(bend, &bends, &x, relative_errors(&points).is_some())
        }
        (GrowthShape::Unfinished, _) if grows_at_its_end(&points) => RateGrowth::Unfinished,
        (GrowthShape::Unfinished, _) => RateGrowth::Undecided,
        _ => RateGrowth::Never,
    })
}

/// Whether the interval of the slope over the last doubling, or over the last step if that is larger, lies above 0. No
/// point without an interval shows growth.
fn grows_at_its_end(points: &[CurvePoint]) -> bool {
    let last = points[points.len() - 1].at;
    let in_last_doubling = points.iter().filter(|point| point.at >= 0.5 * last).count();
    let end = &points[points.len() - in_last_doubling.max(2)..];
    let Some(errors) = relative_errors(end) else { return false };
    let noise: Vec<f64> = errors.into_iter().map(|error| error.max(LEAST_ERROR)).collect();
    let x: Vec<f64> = end.iter().map(|point| point.at.ln()).collect();
    let y: Vec<f64> = end.iter().map(|point| point.estimate.ln()).collect();
    let Some(line) = fit(&[vec![1.0; x.len()], x], &y, &noise) else { return false };
    // Two points lie on their line.
    let df = (end.len() - 2).max(1) as f64;
    let scale = (line.squares / df).max(1.0);
    line.coefficients[1] > two_sided_z(CONFIDENCE) * line.errors[1] * scale.sqrt()
}

/// The better one of a level and a slope, and what it costs in all.
fn straight(x: &[f64], y: &[f64], noise: &[f64]) -> (GrowthShape, f64) {
    let ones = vec![1.0; x.len()];
    let level = fit(std::slice::from_ref(&ones), y, noise);
    let level_cost = level.map_or(f64::INFINITY, |level| level.squares);
    let slope = fit(&[ones, x.to_vec()], y, noise);
    let Some(slope) = slope.filter(|slope| slope.squares + SLOPE < level_cost) else {
        return (GrowthShape::Never, level_cost);
    };
    let shape =
        if slope.coefficients[1] > 0.0 { GrowthShape::Unfinished } else { GrowthShape::Never };
    (shape, slope.squares + SLOPE)
}

/// All models with a bend, at every place.
fn bends(x: &[f64], y: &[f64], noise: &[f64]) -> Vec<Bend> {
    // A bend at the first or last point would leave one side without a slope to fit.
    let inner = &x[1..x.len() - 1];
    let between = inner.windows(2).flat_map(|pair| {
        let step = (pair[1] - pair[0]) / STEPS as f64;
        (0..STEPS).map(move |index| (pair[0] + index as f64 * step, step))
    });
    let places = between.chain(inner.last().map(|last| (*last, 0.0)));
    places.flat_map(|place| bends_at(place, x, y, noise)).collect()
}

/// The models with a bend at this place, which lies a step before the next.
fn bends_at(place: (f64, f64), x: &[f64], y: &[f64], noise: &[f64]) -> Vec<Bend> {
    let (at, _) = place;
    let ones = vec![1.0; x.len()];
    // Both columns are 0 at the bend, so the pieces meet there and the first coefficient is the level at the bend.
    let before: Vec<f64> = x.iter().map(|x| (x - at).min(0.0)).collect();
    let after: Vec<f64> = x.iter().map(|x| (x - at).max(0.0)).collect();
    let models = [
        Bend::fitted(place, &[ones.clone(), before.clone()], y, noise, slope_then_level),
        Bend::fitted(place, &[ones.clone(), after.clone()], y, noise, level_then_slope),
        Bend::fitted(place, &[ones, before, after], y, noise, two_slopes),
    ];
    models.into_iter().flatten().collect()
}

/// The growth of a slope that ends at the bend.
fn slope_then_level(slopes: &[f64]) -> GrowthShape {
    if slopes[0] > 0.0 { GrowthShape::Until } else { GrowthShape::Never }
}

/// The growth of a slope that begins at the bend.
fn level_then_slope(slopes: &[f64]) -> GrowthShape {
    if slopes[0] > 0.0 { GrowthShape::Unfinished } else { GrowthShape::Never }
}

/// What the slopes before and after the bend say.
fn two_slopes(slopes: &[f64]) -> GrowthShape {
    match (slopes[0] > 0.0, slopes[1] > 0.0) {
        (_, true) => GrowthShape::Unfinished,
        (true, false) => GrowthShape::Until,
        (false, false) => GrowthShape::Never,
    }
}

/// The knee and its level with what else fits as well.
fn until(best: &Bend, bends: &[Bend], x: &[f64], known: bool) -> RateGrowth {
    let z = two_sided_z(CONFIDENCE);
    // A level, the bend, and the slopes.
    let df = x.len() as f64 - 2.0 - best.slopes as f64;
    let scale = if df > 0.0 { (best.squares / df).max(1.0) } else { 1.0 };
    // Profile likelihood: twice the log-likelihood falls by up to z² at places inside the interval.
    let most_squares = best.squares + z * z * scale;
    let mut ends = (best.at, best.at);
    let mut levels = (best.level, best.level);
    for bend in bends {
        let is_alike = bend.growth == GrowthShape::Until && bend.slopes == best.slopes;
        if !is_alike || bend.squares > most_squares {
            continue;
        }
        let half = z * bend.error * scale.sqrt();
        // What was tried lies up to a step inside of what fits as well.
        ends = (ends.0.min(bend.at - bend.step), ends.1.max(bend.at + bend.step));
        levels = (levels.0.min(bend.level - half), levels.1.max(bend.level + half));
    }
    RateGrowth::Until {
        knee: CurveFigure::new(best.at, known.then_some(ends)).exp(),
        level: CurveFigure::new(best.level, known.then_some(levels)).exp(),
    }
}

#[cfg(test)]
mod tests {
    use super::{RateGrowth, knee};
    use crate::NoInterval;
    use crate::curves::{CurvePoint, NoFit};

    fn curve(values: &[(f64, f64)]) -> Vec<CurvePoint> {
        let point = |&(at, estimate): &(f64, f64)| {
            let ends = Some((estimate * 0.99, estimate * 1.01));
            CurvePoint { at, estimate, ends }
        };
        values.iter().map(point).collect()
    }

    #[test]
    fn growth_stops_at_four_workers() {
        let workers = [(1.0, 100.0), (2.0, 199.0), (4.0, 398.0), (8.0, 402.0), (16.0, 400.0)];
        let RateGrowth::Until { knee, level } = knee(&curve(&workers)).unwrap() else {
            panic!("no knee")
        };
        let knee = knee.interval.unwrap();
        let level = level.interval.unwrap();
        assert!(knee.contains(4.0) && knee.low > 3.2 && knee.high < 4.9, "{knee:?}");
        assert!(level.contains(400.0) && level.relative_half_width() < 0.06, "{level:?}");
    }

    #[test]
    fn a_rate_that_falls_after_its_best_has_its_knee_there() {
        let workers = [(1.0, 100.0), (2.0, 200.0), (4.0, 400.0), (8.0, 280.0), (16.0, 200.0)];
        let RateGrowth::Until { knee, .. } = knee(&curve(&workers)).unwrap() else {
            panic!("no knee")
        };
        assert!((knee.value - 4.0).abs() < 0.1, "{knee:?}");
    }

    #[test]
    fn what_is_flat_or_falls_or_still_grows_has_none() {
        let of = |values: [f64; 5]| {
            let at = [1.0, 2.0, 4.0, 8.0, 16.0];
            knee(&curve(&at.into_iter().zip(values).collect::<Vec<_>>())).unwrap()
        };
        assert_eq!(of([100.0, 101.0, 99.0, 100.0, 102.0]), RateGrowth::Never);
        assert_eq!(of([100.0, 80.0, 64.0, 51.0, 41.0]), RateGrowth::Never);
        assert_eq!(of([100.0, 101.0, 99.0, 50.0, 25.0]), RateGrowth::Never);
        assert_eq!(of([100.0, 200.0, 400.0, 800.0, 1600.0]), RateGrowth::Unfinished);
        // Amdahl's law with a tenth that is serial: the last doubling still gives a quarter more.
        assert_eq!(of([100.0, 182.0, 308.0, 471.0, 640.0]), RateGrowth::Unfinished);
        assert_eq!(of([100.0, 100.0, 101.0, 200.0, 400.0]), RateGrowth::Unfinished);
    }

    #[test]
    fn growth_at_the_end_needs_an_interval_that_excludes_none() {
        let of = |values: &[(f64, f64)], half: Option<f64>| {
            let mut points = curve(values);
            for point in &mut points {
                let ends =
                    |half: f64| (point.estimate * (1.0 - half), point.estimate * (1.0 + half));
                point.ends = half.map(ends);
            }
            knee(&points).unwrap()
        };
        // Two flows that lay on the lower of two levels read as one.
        let flows = [(1.0, 412.0), (2.0, 496.0), (4.0, 789.0), (8.0, 723.0)];
        let slow = [(1.0, 96.0), (2.0, 121.0), (4.0, 146.0), (8.0, 147.0)];
        let doubles = [(1.0, 100.0), (2.0, 200.0), (4.0, 400.0), (8.0, 800.0)];
        for half in [None, Some(0.02), Some(0.1)] {
            assert_ne!(of(&flows, half), RateGrowth::Unfinished, "{half:?}");
            assert_ne!(of(&slow, half), RateGrowth::Unfinished, "{half:?}");
        }
        assert_eq!(of(&doubles, None), RateGrowth::Undecided);
        assert_eq!(of(&doubles, Some(0.1)), RateGrowth::Unfinished);
        // As wide as the growth itself.
        assert_eq!(of(&doubles, Some(0.6)), RateGrowth::Undecided);
    }

    #[test]
    fn reasons_and_missing_intervals_are_said() {
        let mut points = curve(&[(1.0, 1.0), (2.0, 2.0), (4.0, 4.0), (8.0, 4.0), (16.0, 4.0)]);
        points[0].ends = None;
        let RateGrowth::Until { level, .. } = knee(&points).unwrap() else { panic!("no knee") };
        assert_eq!(level.interval, Err(NoInterval::PointWithout));
        assert_eq!(knee(&points[..2]), Err(NoFit::TooFewPoints { have: 2, need: 3 }));
        points[0].at = -1.0;
        assert_eq!(knee(&points), Err(NoFit::NotPositive));
        let found = knee(&points[1..]);
        points[0].at = 0.0;
        assert_eq!(knee(&points), found);
    }
}
