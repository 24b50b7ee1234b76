//! Plateaus: a staircase on a logarithmic axis, such as the latency of caches and memory over the size.
//!
//! The logarithms of the points are cut into stretches that each lie around one height. The cut is the cheapest one by
//! penalised least squares, found by dynamic programming (optimal partitioning, Jackson et al. 2005), with a loss that
//! is cut off (biweight, as Fearnhead & Rigaill 2019, *Changepoint detection in the presence of outliers*): a point on
//! the slope between two plateaus costs no more than an outlier, and belongs to neither.

use super::point::{CurveFigure, CurvePoint, NoFit, noise, ordered, relative_error};
use crate::describe::{mean_of, variance_of};
use crate::distribution::{two_sided_t, two_sided_z};
use crate::precision::CONFIDENCE;

/// The fewest points of a curve.
pub const FEWEST_POINTS: usize = 3;
/// Differences up to about this size are flat, however precise they are: one standard deviation.
const LEAST_DEVIATION: f64 = 0.1;
/// Points that lie further from a height, in standard deviations, are not on the plateau.
const MOST_DEVIATIONS: f64 = 2.5;
/// The cost of a point off the plateaus, in squares: three standard deviations.
const OFF_COST: f64 = 9.0;
/// The fewest points on a plateau: a single one is unknown from an outlier.
const FEWEST_ON: usize = 2;

/// A stretch of the curve at one height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePlateau {
    /// The least value of the parameter on it.
    pub from: f64,
    /// The greatest; the edge lies between it and the next plateau's `from`.
    pub to: f64,
    /// Points on it.
    pub points: usize,
    /// The mean of these, of logarithms.
    pub height: CurveFigure,
}

/// The plateaus in the order of the parameter; a curve that is flat has one, a curve that nowhere is has none.
///
/// Every further plateau costs 6 + 2 ln n, n being the number of points: more than noise of the size that the points'
/// intervals tell, or of 10 %, makes up for. The interval of a height is the wider one of what the points' intervals
/// give and of what the points' scatter around all heights gives.
///
/// # Errors
/// [`NoFit`]: fewer than three points, or values without a logarithm.
pub fn plateaus(points: &[CurvePoint]) -> Result<Vec<CurvePlateau>, NoFit> {
    let points = ordered(points, FEWEST_POINTS)?;
    let logs: Vec<f64> = points.iter().map(|point| point.estimate.ln()).collect();
    let errors: Vec<Option<f64>> = points.iter().map(relative_error).collect();
    let stretches: Vec<Vec<usize>> = partition(&logs, &noise(&points, LEAST_DEVIATION));
    let scatter = scatter(&stretches, &logs);
    let found = stretches.iter().filter_map(|on| {
        Some(CurvePlateau {
            from: points[*on.first()?].at,
            to: points[*on.last()?].at,
            points: on.len(),
            height: height(on, &logs, &errors, scatter).exp(),
        })
    });
    Ok(found.collect())
}

/// What a point costs at a height, `None` if it is off; `noise` is its standard deviation.
fn cost(log: f64, height: f64, noise: f64) -> Option<f64> {
    let distance = (log - height) / noise;
    (distance.abs() < MOST_DEVIATIONS).then_some(distance * distance)
}

/// The best cut so far of the points before one.
#[derive(Clone, Copy)]
struct BestCut {
    cost: f64,
    /// Where its last stretch begins, and the point whose value is the height there.
    last: Option<(usize, usize)>,
}

/// The indices of the points on each plateau.
fn partition(logs: &[f64], noise: &[f64]) -> Vec<Vec<usize>> {
    let n = logs.len();
    let penalty = 6.0 + 2.0 * (n as f64).ln();
    // Before the first stretch, between two, and after the last, points may lie that are on none.
    let mut cuts = vec![BestCut { cost: 0.0, last: None }];
    let table = StretchCosts::new(logs, noise);
    for end in 1..=n {
        let mut best = BestCut { cost: cuts[end - 1].cost + OFF_COST, last: None };
        for (begin, before) in cuts.iter().enumerate() {
            // The height of a stretch is the value of one of its points, so that all costs come from sums made once.
            for centre in begin..end {
                let cost = before.cost + penalty + table.of(centre, begin, end);
                if cost < best.cost && table.on(centre, begin, end) >= FEWEST_ON {
                    best = BestCut { cost, last: Some((begin, centre)) };
                }
            }
        }
        cuts.push(best);
    }
    let mut stretches = Vec::new();
    let mut end = n;
    while end > 0 {
        let Some((begin, centre)) = cuts[end].last else {
            end -= 1;
            continue;
        };
        stretches.push((begin..end).filter(|&index| table.is_on(centre, index)).collect());
        end = begin;
    }
    stretches.reverse();
    stretches
}

/// What stretches cost with the height of one of the points, as sums that are made once.
struct StretchCosts {
    /// For each centre, the cost of all points before one.
    sums: Vec<Vec<f64>>,
    /// The same of the number of points on the plateau.
    counts: Vec<Vec<usize>>,
}

impl StretchCosts {
    fn new(logs: &[f64], noise: &[f64]) -> Self {
        let mut costs = Self { sums: Vec::new(), counts: Vec::new() };
        for centre in logs {
            let mut sums = vec![0.0];
            let mut counts = vec![0];
            for (index, (log, noise)) in logs.iter().zip(noise).enumerate() {
                let cost = cost(*log, *centre, *noise);
                sums.push(sums[index] + cost.unwrap_or(OFF_COST));
                counts.push(counts[index] + usize::from(cost.is_some()));
            }
            costs.sums.push(sums);
            costs.counts.push(counts);
        }
        costs
    }

    fn of(&self, centre: usize, begin: usize, end: usize) -> f64 {
        self.sums[centre][end] - self.sums[centre][begin]
    }

    fn on(&self, centre: usize, begin: usize, end: usize) -> usize {
        self.counts[centre][end] - self.counts[centre][begin]
    }

    fn is_on(&self, centre: usize, index: usize) -> bool {
        self.on(centre, index, index + 1) == 1
    }
}

/// The standard deviation of the points around their plateaus, and its degrees of freedom; `None` without any.
fn scatter(stretches: &[Vec<usize>], logs: &[f64]) -> Option<(f64, f64)> {
    let degrees: usize = stretches.iter().map(|on| on.len() - 1).sum();
    if degrees == 0 {
        return None;
    }
    let squares: f64 =
        stretches.iter().map(|on| variance_of(&values(on, logs)) * (on.len() - 1) as f64).sum();
    let df = degrees as f64;
    Some(((squares / df).sqrt(), df))
}

fn values(on: &[usize], logs: &[f64]) -> Vec<f64> {
    on.iter().map(|&index| logs[index]).collect()
}

/// The mean of the points on a plateau with its interval.
fn height(
    on: &[usize],
    logs: &[f64],
    errors: &[Option<f64>],
    scatter: Option<(f64, f64)>,
) -> CurveFigure {
    let count = on.len() as f64;
    let mean = mean_of(&values(on, logs));
    let squares: Option<f64> = on.iter().map(|&index| Some(errors[index]?.powi(2))).sum();
    let half = squares.map(|squares| {
        let told = two_sided_z(CONFIDENCE) * squares.sqrt() / count;
        let seen = scatter.map_or(0.0, |(sd, df)| two_sided_t(CONFIDENCE, df) * sd / count.sqrt());
        told.max(seen)
    });
    CurveFigure::new(mean, half.map(|half| (mean - half, mean + half)))
}

#[cfg(test)]
mod tests {
    use super::{CurvePlateau, plateaus};
    use crate::NoInterval;
    use crate::curves::{CurvePoint, NoFit};

    /// Doublings of the parameter from 1 on, each known to within a half-width.
    fn curve(values: &[f64], half: f64) -> Vec<CurvePoint> {
        let point = |(at, value): (i32, &f64)| CurvePoint {
            at: f64::from(at).exp2(),
            estimate: *value,
            ends: Some((value * (1.0 - half), value * (1.0 + half))),
        };
        (0..).zip(values).map(point).collect()
    }

    fn stretches(found: &[CurvePlateau]) -> Vec<(f64, f64)> {
        found.iter().map(|plateau| (plateau.from, plateau.to)).collect()
    }

    /// Latency in ns over 4 KiB to 256 MiB, with slopes between the caches: a virtual machine's.
    #[test]
    fn caches_have_plateaus_and_slopes_belong_to_none() {
        let latency = [
            1.3, 1.3, 1.3, 1.31, 3.0, 4.1, 4.2, 4.3, 4.9, 13.0, 27.0, 29.0, 30.0, 55.0, 98.0,
            108.0, 112.0,
        ];
        let found = plateaus(&curve(&latency, 0.01)).unwrap();
        let expected = [(1.0, 8.0), (32.0, 256.0), (1024.0, 4096.0), (16384.0, 65536.0)];
        assert_eq!(stretches(&found), expected);
        let cache = found[0].height.interval.unwrap();
        assert!(cache.contains(1.3) && cache.relative_half_width() < 0.1, "{cache:?}");
    }

    #[test]
    fn a_flat_curve_has_one_and_an_outlier_makes_none() {
        let flat = plateaus(&curve(&[5.0, 5.1, 4.9, 5.0, 5.05], 0.02)).unwrap();
        assert_eq!(stretches(&flat), [(1.0, 16.0)]);
        let outlier = plateaus(&curve(&[5.0, 5.1, 20.0, 5.0, 5.05], 0.02)).unwrap();
        assert_eq!(stretches(&outlier), [(1.0, 16.0)]);
        assert_eq!(outlier[0].points, 4);
    }

    #[test]
    fn a_curve_that_always_rises_has_none() {
        assert_eq!(plateaus(&curve(&[1.0, 2.0, 4.0, 8.0, 16.0], 0.02)), Ok(Vec::new()));
    }

    #[test]
    fn a_point_without_an_interval_leaves_its_plateau_without_one() {
        let mut points = curve(&[1.0, 1.0, 1.0, 4.0, 4.0, 4.0], 0.01);
        points[2].ends = None;
        let found = plateaus(&points).unwrap();
        assert_eq!(stretches(&found), [(1.0, 4.0), (8.0, 32.0)]);
        assert_eq!(found[0].height.interval, Err(NoInterval::PointWithout));
        assert!(found[1].height.interval.unwrap().contains(4.0), "its own points have theirs");
        let few = plateaus(&points[..2]);
        assert_eq!(few, Err(NoFit::TooFewPoints { have: 2, need: 3 }));
        let many: Vec<f64> = vec![1.0; 201];
        let many: Vec<CurvePoint> = curve(&many, 0.1);
        assert_eq!(plateaus(&many), Err(NoFit::TooManyPoints));
    }
}
