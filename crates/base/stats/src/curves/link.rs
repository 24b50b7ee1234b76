//! Points behind a link: what of their time is bandwidth, what round trips, and what neither.
//!
//! ```text
//! time = bytes / bandwidth + operations × round trip × wait + rest
//! ```
//!
//! Of each point the time of sending (bytes / bandwidth), the operations and the round trip are known. Fitted are the
//! share of a round trip for which an operation waits, 1 if each waits for the one before and 1 / depth where `depth`
//! of them share a round trip, and the rest, which takes as long whatever the link is. Neither is negative
//! (non-negative least squares, Lawson & Hanson 1974). As for [`super::line`], noise is relative, and weights come from
//! the fitted times.
//!
//! The terms are added. Where sending hides behind waiting, or waiting behind sending, that is not quite so; how well
//! points are predicted from the others shows how far that goes.

use super::least_squares::{LEAST_SHARE, ROUNDS, WeightedFit, fit, widening};
use super::point::{CurveFigure, CurvePoint, MOST_POINTS, NoFit, weighing_noise};
use crate::describe::all_finite;

/// The fewest points: two figures are fitted, and one more point shows whether they hold.
pub const FEWEST_POINTS: usize = 3;
/// A term with more than this share of the time binds.
const BINDING_SHARE: f64 = 0.5;

/// A point behind a link; times are of an iteration, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkPoint {
    /// Bytes over bandwidth, of the direction that takes longer.
    pub sending: f64,
    /// Operations of an iteration, each of which waits for an answer.
    pub operations: f64,
    /// The time of one round trip.
    pub round_trip: f64,
    /// The measured time of an iteration.
    pub time: f64,
    /// The ends of its 95 % interval; `None` if it has none.
    pub ends: Option<(f64, f64)>,
}

impl LinkPoint {
    /// The time of all round trips, one after the other.
    fn trips(&self) -> f64 {
        self.operations * self.round_trip
    }

    /// Whether no number of it is NaN or infinite.
    fn is_finite(&self) -> bool {
        let (low, high) = self.ends.unwrap_or((self.time, self.time));
        all_finite(&[self.sending, self.operations, self.round_trip, self.time, low, high])
    }

    /// Whether its time is above 0, and no other number below 0.
    fn is_possible(&self) -> bool {
        let parts = [self.sending, self.operations, self.round_trip];
        self.time > 0.0 && parts.iter().all(|part| *part >= 0.0)
    }

    fn curve_point(&self) -> CurvePoint {
        CurvePoint { at: self.round_trip, estimate: self.time, ends: self.ends }
    }
}

/// The parts of the time of such points.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkParts {
    /// The share of a round trip for which an operation waits: 1 / depth.
    pub wait: CurveFigure,
    /// The time of an iteration that depends on neither bandwidth nor round trip, in seconds.
    pub rest: CurveFigure,
    /// The parts of each point's time, in the order of the points.
    pub shares: Vec<LinkPartShares>,
}

/// The parts of a point's time: shares of the fitted time, 1 together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkPartShares {
    /// The share of sending.
    pub bandwidth: CurveFigure,
    /// The share of waiting for round trips.
    pub round_trips: CurveFigure,
    /// The share that depends on neither.
    pub rest: CurveFigure,
    /// Which of them binds.
    pub binds: Binds,
    /// How far the time that the other points predict lies off the measured one, relative to it; `None` if they
    /// predict none.
    pub left_out: Option<f64>,
}

/// Which term of a time binds: the one with more than half of it, beyond doubt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binds {
    /// More bandwidth would make it faster.
    Bandwidth,
    /// Shorter round trips would, or more operations under way.
    RoundTrips,
    /// The link does not bind.
    Rest,
    /// No term has half of the time.
    NoTerm,
    /// The intervals leave it open.
    Open,
}

impl Binds {
    /// Its word, as written in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Bandwidth => "bandwidth",
            Self::RoundTrips => "round-trips",
            Self::Rest => "rest",
            Self::NoTerm => "none",
            Self::Open => "open",
        }
    }
}

/// The shares of bandwidth, round trips and the rest in the time of these points.
///
/// The interval of a figure is the wider one of what the points' intervals give and of what their distances from the
/// fit give; that of a share follows from the covariance of both fitted figures. Bytes and operations count as exact.
///
/// # Errors
/// [`NoFit`]: fewer than three points, round trips that do not differ, or times that are not above 0.
pub fn link(points: &[LinkPoint]) -> Result<LinkParts, NoFit> {
    checked(points)?;
    let (model, known) = Model::of(points).ok_or(NoFit::OneRoundTrip)?;
    let factor = widening(model.squares, points.len() - 2);
    let [wait, rest] = [0, 1].map(|index: usize| {
        let value = model.coefficients[index];
        let free = model.free.coefficients[index];
        let half = model.free.errors[index] * factor;
        // The errors are those of the free fit; the interval still holds the value that is not negative.
        let ends = ((free - half).clamp(0.0, value), (free + half).max(value));
        CurveFigure::new(value, known.then_some(ends))
    });
    let shares = points.iter().enumerate().map(|(index, point)| {
        let parts = model.parts(point, known.then_some(factor));
        let [bandwidth, round_trips, rest] = parts;
        LinkPartShares {
            bandwidth,
            round_trips,
            rest,
            binds: binds(&parts),
            left_out: left_out(points, index),
        }
    });
    Ok(LinkParts { wait, rest, shares: shares.collect() })
}

/// From three to [`MOST_POINTS`] points with numbers that make sense, and round trips that differ.
fn checked(points: &[LinkPoint]) -> Result<(), NoFit> {
    if points.len() < FEWEST_POINTS {
        Err(NoFit::TooFewPoints { have: points.len(), need: FEWEST_POINTS })
    } else if points.len() > MOST_POINTS {
        Err(NoFit::TooManyPoints)
    } else if !points.iter().all(LinkPoint::is_finite) {
        Err(NoFit::NotFinite)
    } else if !points.iter().all(LinkPoint::is_possible) {
        Err(NoFit::NotPositive)
    } else if !round_trips_differ(points) {
        Err(NoFit::OneRoundTrip)
    } else {
        Ok(())
    }
}

fn round_trips_differ(points: &[LinkPoint]) -> bool {
    points.windows(2).any(|pair| pair[0].round_trip != pair[1].round_trip)
}

/// The fitted terms.
struct Model {
    /// Wait and rest, neither negative.
    coefficients: [f64; 2],
    /// The sum of squares that they leave, in standard deviations.
    squares: f64,
    /// The same fit where they may be negative: its errors are theirs.
    free: WeightedFit,
}

impl Model {
    /// The model of these points, and whether their noise is known; `None` if they don't tell waiting from the rest.
    fn of(points: &[LinkPoint]) -> Option<(Self, bool)> {
        let trips: Vec<f64> = points.iter().map(LinkPoint::trips).collect();
        let columns = [trips, vec![1.0; points.len()]];
        // Bytes over bandwidth is known, so sending needs no coefficient and three points are enough for the others.
        let beyond_sending: Vec<f64> =
            points.iter().map(|point| point.time - point.sending).collect();
        let curve_points: Vec<CurvePoint> = points.iter().map(LinkPoint::curve_point).collect();
        let (relative, known) = weighing_noise(&curve_points);
        let mut fitted: Vec<f64> = points.iter().map(|point| point.time).collect();
        let mut found = None;
        // The weights come from the fit that they make, so it is repeated until both have settled.
        for _ in 0..ROUNDS {
            let noise: Vec<f64> =
                fitted.iter().zip(&relative).map(|(time, share)| time * share).collect();
            let next = Self::weighted(&columns, &beyond_sending, &noise)?;
            fitted =
                points.iter().map(|point| next.time(point).max(point.time * LEAST_SHARE)).collect();
            found = Some(next);
        }
        Some((found?, known))
    }

    /// The coefficients of least squares of which none is negative.
    fn weighted(columns: &[Vec<f64>; 2], values: &[f64], noise: &[f64]) -> Option<Self> {
        let free = fit(columns, values, noise)?;
        if let [wait, rest] = free.coefficients[..]
            && wait >= 0.0
            && rest >= 0.0
        {
            return Some(Self { coefficients: [wait, rest], squares: free.squares, free });
        }
        // The best lies where one of them is 0: the other is fitted alone.
        let wait = fit(&columns[..1], values, noise)?.coefficients[0].max(0.0);
        let squares_of_wait = squares(columns, [wait, 0.0], values, noise);
        let rest = fit(&columns[1..], values, noise)?.coefficients[0].max(0.0);
        let squares_of_rest = squares(columns, [0.0, rest], values, noise);
        if squares_of_wait < squares_of_rest {
            return Some(Self { coefficients: [wait, 0.0], squares: squares_of_wait, free });
        }
        Some(Self { coefficients: [0.0, rest], squares: squares_of_rest, free })
    }

    /// The fitted time of a point.
    fn time(&self, point: &LinkPoint) -> f64 {
        let [wait, rest] = self.coefficients;
        point.sending + wait * point.trips() + rest
    }

    /// The shares of sending, round trips and rest in the time of a point, with intervals so many standard errors wide.
    fn parts(&self, point: &LinkPoint, factor: Option<f64>) -> [CurveFigure; 3] {
        let [wait, rest] = self.coefficients;
        let trips = point.trips();
        [
            self.share(point, point.sending, [0.0, 0.0], factor),
            self.share(point, wait * trips, [trips, 0.0], factor),
            self.share(point, rest, [0.0, 1.0], factor),
        ]
    }

    /// The share of a term in the time of a point. The term changes with wait and rest by `by_wait` and `by_rest`.
    fn share(
        &self,
        point: &LinkPoint,
        term: f64,
        [by_wait, by_rest]: [f64; 2],
        factor: Option<f64>,
    ) -> CurveFigure {
        let time = self.time(point);
        let value = term / time;
        // How the share changes with each coefficient: the term itself does, and the whole time.
        let gradient = [(by_wait - value * point.trips()) / time, (by_rest - value) / time];
        let half = factor.map(|factor| factor * self.free.error_of(&gradient));
        let ends = half.map(|half| ((value - half).max(0.0), (value + half).min(1.0)));
        CurveFigure::new(value, ends)
    }
}

/// What these coefficients leave, in standard deviations.
fn squares(columns: &[Vec<f64>; 2], coefficients: [f64; 2], values: &[f64], noise: &[f64]) -> f64 {
    let rows = columns[0].iter().zip(&columns[1]).zip(values.iter().zip(noise));
    let [wait, rest] = coefficients;
    rows.map(|((a, b), (value, noise))| ((value - wait * a - rest * b) / noise).powi(2)).sum()
}

/// How far off the others predict a point.
fn left_out(points: &[LinkPoint], index: usize) -> Option<f64> {
    let point = points.get(index)?;
    let others: Vec<LinkPoint> = [&points[..index], &points[index + 1..]].concat();
    let model = round_trips_differ(&others).then(|| Model::of(&others)).flatten()?.0;
    Some((model.time(point) / point.time - 1.0).abs())
}

/// Which of sending, round trips and rest has most of the time beyond doubt.
fn binds([bandwidth, round_trips, rest]: &[CurveFigure; 3]) -> Binds {
    let terms =
        [(bandwidth, Binds::Bandwidth), (round_trips, Binds::RoundTrips), (rest, Binds::Rest)];
    // A share without an interval neither has most of the time nor less than that, so it leaves the answer open.
    for (share, term) in terms {
        if share.interval.is_ok_and(|interval| interval.low > BINDING_SHARE) {
            return term;
        }
    }
    let all_less = terms
        .iter()
        .all(|(share, _)| share.interval.is_ok_and(|interval| interval.high < BINDING_SHARE));
    if all_less { Binds::NoTerm } else { Binds::Open }
}

#[cfg(test)]
mod tests {
    use super::{Binds, LinkParts, LinkPoint, link};
    use crate::NoInterval;
    use crate::curves::NoFit;

    /// Bytes and operations of every point.
    const BYTES: f64 = 49e6;
    const OPERATIONS: f64 = 1000.0;
    /// The time that does not depend on the link, in seconds.
    const REST: f64 = 0.2;
    /// Bandwidths in bytes per second, and round trips in seconds.
    const GRID: [(f64, f64); 4] =
        [(12.5e6, 75e-5), (12.5e6, 37.5e-5), (37.5e6, 75e-5), (37.5e6, 37.5e-5)];

    /// A point whose time is this, known to within 1 %.
    fn point((bandwidth, round_trip): (f64, f64), time: f64) -> LinkPoint {
        let ends = Some((time * 0.99, time * 1.01));
        LinkPoint { sending: BYTES / bandwidth, operations: OPERATIONS, round_trip, time, ends }
    }

    /// Points where so many operations share a round trip.
    fn at_depth(depth: f64, of: &[(f64, f64)]) -> Vec<LinkPoint> {
        let time = |&(bandwidth, round_trip): &(f64, f64)| {
            BYTES / bandwidth + OPERATIONS * round_trip / depth + REST
        };
        of.iter().map(|at| point(*at, time(at))).collect()
    }

    fn binding(found: &LinkParts) -> Vec<Binds> {
        found.shares.iter().map(|shares| shares.binds).collect()
    }

    #[test]
    fn the_depth_and_the_rest_are_found() {
        for depth in [1.0, 2.0, 8.0] {
            let found = link(&at_depth(depth, &GRID)).unwrap();
            let wait = found.wait.interval.unwrap();
            let rest = found.rest.interval.unwrap();
            assert!((wait.estimate * depth - 1.0).abs() < 1e-6 && wait.contains(1.0 / depth));
            assert!((rest.estimate - REST).abs() < 1e-6 && rest.contains(REST), "{rest:?}");
            assert!(wait.high - wait.low < 0.4, "{wait:?}");
            for shares in &found.shares {
                let parts = [shares.bandwidth, shares.round_trips, shares.rest];
                assert!((parts.iter().map(|part| part.value).sum::<f64>() - 1.0).abs() < 1e-9);
                assert!(parts.iter().all(|part| part.interval.unwrap().contains(part.value)));
                assert!(shares.left_out.unwrap() < 1e-6, "{shares:?}");
            }
        }
    }

    #[test]
    fn many_under_way_are_bound_by_bandwidth() {
        let found = link(&at_depth(32.0, &GRID)).unwrap();
        assert_eq!(binding(&found), [Binds::Bandwidth; 4]);
        let share = found.shares[0].bandwidth.interval.unwrap();
        assert!(share.low > 0.9 && share.high < 0.98, "{share:?}");
    }

    #[test]
    fn lone_operations_are_bound_by_round_trips_where_they_are_small() {
        let large = at_depth(1.0, &GRID);
        assert_eq!(binding(&link(&large).unwrap()), [Binds::Bandwidth; 4]);
        let small: Vec<LinkPoint> = large
            .into_iter()
            .map(|point| {
                let sending = point.sending / 50.0;
                LinkPoint { sending, time: point.time - point.sending + sending, ..point }
            })
            .collect();
        assert_eq!(binding(&link(&small).unwrap()), [Binds::RoundTrips; 4]);
    }

    #[test]
    fn a_shorter_round_trip_that_gives_nothing_leaves_only_a_least_depth() {
        let times = [4.11, 4.14, 1.50, 1.52];
        let points: Vec<LinkPoint> = GRID.iter().zip(times).map(|(at, t)| point(*at, t)).collect();
        let found = link(&points).unwrap();
        let wait = found.wait.interval.unwrap();
        assert_eq!((wait.estimate, wait.low), (0.0, 0.0));
        assert!(wait.high > 0.0 && wait.high < 0.5, "{wait:?}");
        assert!(
            found.rest.value > 0.1
                && found.shares.iter().all(|shares| shares.left_out.unwrap() < 0.1)
        );
        assert_eq!(binding(&found)[..2], [Binds::Bandwidth; 2]);
    }

    #[test]
    fn points_that_the_terms_do_not_describe_are_badly_predicted_and_leave_it_open() {
        let times = [4.0, 4.1, 4.2, 2.1];
        let points: Vec<LinkPoint> = GRID.iter().zip(times).map(|(at, t)| point(*at, t)).collect();
        let found = link(&points).unwrap();
        assert!(found.shares.iter().any(|shares| shares.left_out.unwrap() > 0.2), "{found:?}");
        assert!(binding(&found).contains(&Binds::Open), "{found:?}");
    }

    #[test]
    fn what_can_not_be_told_is_said() {
        let alike = [12.5e6, 25e6, 37.5e6].map(|bandwidth| (bandwidth, 75e-5));
        assert_eq!(link(&at_depth(1.0, &alike)), Err(NoFit::OneRoundTrip));
        let points = at_depth(1.0, &GRID);
        assert_eq!(link(&points[..2]), Err(NoFit::TooFewPoints { have: 2, need: 3 }));
        // Without the second, both others have one round trip.
        let three = link(&points[..3]).unwrap();
        let predicted: Vec<bool> =
            three.shares.iter().map(|shares| shares.left_out.is_some()).collect();
        assert_eq!(predicted, [true, false, true]);
        let mut points = points;
        points[1].ends = None;
        let found = link(&points).unwrap();
        assert_eq!(found.wait.interval, Err(NoInterval::PointWithout));
        assert_eq!(binding(&found), [Binds::Open; 4]);
        points[1].time = 0.0;
        assert_eq!(link(&points), Err(NoFit::NotPositive));
        points[1].time = f64::NAN;
        assert_eq!(link(&points), Err(NoFit::NotFinite));
    }
}
