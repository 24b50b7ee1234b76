//! Curves of known form: whether edges and knees are found where they are, and whether figures hold the truth.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::curves::knee::{RateGrowth, knee};
use plumb_stats::curves::line::line;
use plumb_stats::curves::link::{LinkPoint, link};
use plumb_stats::curves::plateaus::plateaus;
use plumb_stats::curves::scaling::scaling;
use plumb_stats::curves::{CurveFigure, CurvePoint};
use plumb_stats::describe::{mean_of, variance_of};
use plumb_stats::distribution::two_sided_t;
use plumb_stats::precision::CONFIDENCE;
use plumb_stats::rng::Rng;

/// By how much the estimate of a point is off: one standard deviation.
const NOISE: f64 = 0.05;
/// Processes of a point, whose scatter tells its interval.
const PROCESSES: usize = 10;

/// Searches cost more than most: so many times fewer of them.
const DEARER: u64 = 2;

/// A curve of known form.
struct TrueCurve {
    name: &'static str,
    /// Values of the parameter, each with the true value there.
    points: Vec<(f64, f64)>,
}

impl TrueCurve {
    fn new(name: &'static str, at: impl Iterator<Item = f64>, of: impl Fn(f64) -> f64) -> Self {
        Self { name, points: at.map(|at| (at, of(at))).collect() }
    }

    /// A curve with these values at 1, 2, 4 and so on.
    fn at_doublings(name: &'static str, values: &[f64]) -> Self {
        let at = doublings(i32::try_from(values.len()).unwrap_or(0));
        Self { name, points: at.zip(values.iter().copied()).collect() }
    }

    /// The true value of the point at this value of the parameter.
    fn value_at(&self, at: f64) -> f64 {
        self.points.iter().find(|point| point.0 == at).map_or(f64::NAN, |point| point.1)
    }

    fn drawn(&self, rng: &mut Rng) -> Vec<CurvePoint> {
        self.points.iter().map(|&(at, truth)| measured(at, truth, rng)).collect()
    }

    /// How often what is found in a drawn curve is right.
    fn share(&self, replications: u64, right: impl Fn(&[CurvePoint]) -> bool) -> BarSeries {
        let mut rng = Rng::new(self.points.len() as u64);
        let hits = (0..replications).filter(|_| right(&self.drawn(&mut rng))).count() as u64;
        BarSeries::Share { hits, trials: replications }
    }
}

/// A point as its processes tell it: the mean of their logarithms, with Student's interval.
fn measured(at: f64, truth: f64, rng: &mut Rng) -> CurvePoint {
    let root = (PROCESSES as f64).sqrt();
    // A process has so much more noise that their mean has NOISE.
    let logs: Vec<f64> = (0..PROCESSES).map(|_| NOISE * root * rng.normal()).collect();
    let half = two_sided_t(CONFIDENCE, (PROCESSES - 1) as f64) * variance_of(&logs).sqrt() / root;
    let mean = mean_of(&logs);
    let [low, estimate, high] = [mean - half, mean, mean + half].map(|log| truth * log.exp());
    CurvePoint { at, estimate, ends: Some((low, high)) }
}

fn doublings(count: i32) -> impl Iterator<Item = f64> {
    (0..count).map(|exponent| f64::from(exponent).exp2())
}

fn quarters(count: i32) -> impl Iterator<Item = f64> {
    (0..count).map(|exponent| (f64::from(exponent) / 4.0).exp2())
}

fn counted(count: i32) -> impl Iterator<Item = f64> {
    (1..=count).map(f64::from)
}

fn flat() -> [TrueCurve; 3] {
    [
        TrueCurve::new("flat, 5 points", doublings(5), |_| 10.0),
        TrueCurve::new("flat, 17 points", doublings(17), |_| 10.0),
        TrueCurve::new("flat, 64 points", counted(64), |_| 10.0),
    ]
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let replications = replications.div_ceil(DEARER);
    for (truth, edges) in staircases() {
        report(row("all plateaus found, with edges within one step", 0.95, &truth, |truth| {
            truth.share(replications, |points| has_edges(points, &edges))
        }));
    }
    for truth in flat() {
        report(row("a flat curve has one plateau", 0.95, &truth, |truth| {
            truth.share(replications, has_one_plateau)
        }));
    }
    for (truth, edges) in staircases() {
        let promise = "95 % interval of the height of a plateau";
        report(row(promise, 0.94, &truth, |truth| heights(replications, truth, &edges)));
    }
    for (truth, at) in kneed() {
        report(row("a knee found within one step", 0.95, &truth, |truth| {
            truth.share(replications, |points| is_near(points, at))
        }));
    }
    for (truth, at) in kneed() {
        let promise = "95 % interval of a knee and of the level there";
        report(row(promise, 0.94, &truth, |truth| knee_and_level(replications, truth, at)));
    }
    for truth in flat() {
        report(row("a flat curve has no knee", 0.95, &truth, |truth| {
            truth.share(replications, |points| knee(points) == Ok(RateGrowth::Never))
        }));
    }
    for truth in growing() {
        report(row("a curve that still grows has no knee yet", 0.95, &truth, |truth| {
            truth.share(replications, |points| knee(points) == Ok(RateGrowth::Unfinished))
        }));
    }
    for truth in stops() {
        report(ValidationRow {
            bar: Bar::AtMost(0.05),
            ..row(
                "a curve said to grow at its end although its last doubling is flat",
                0.0,
                &truth,
                |truth| {
                    truth.share(replications, |points| knee(points) == Ok(RateGrowth::Unfinished))
                },
            )
        });
    }
    for truth in lines() {
        let promise = "95 % interval of the cost of a call and of a byte";
        report(row(promise, 0.94, &truth, |truth| of_line(replications, truth)));
    }
    for (name, depth, operations) in LINKS {
        report(ValidationRow {
            promise: "95 % interval of the operation depth over a link, and of each term's share",
            setting: format!("{name}, noise {} %", NOISE * 100.0),
            bar: Bar::AtLeast(0.94),
            measured: of_link(replications, depth, operations),
            note: String::new(),
        });
    }
    for truth in growing().into_iter().chain(flat()) {
        let promise = "95 % interval of an efficiency";
        report(row(promise, 0.94, &truth, |truth| of_scaling(replications, truth)));
    }
}

fn row(
    promise: &'static str,
    bar: f64,
    truth: &TrueCurve,
    measure: impl Fn(&TrueCurve) -> BarSeries,
) -> ValidationRow {
    ValidationRow {
        promise,
        setting: format!("{}, noise {} %", truth.name, NOISE * 100.0),
        bar: Bar::AtLeast(bar),
        measured: measure(truth),
        note: String::new(),
    }
}

/// Staircases, with the indices of the points where a plateau ends and the next one begins.
fn staircases() -> Vec<(TrueCurve, Vec<(usize, usize)>)> {
    let caches =
        [1.3, 1.3, 1.3, 1.3, 4.2, 4.2, 4.2, 4.2, 4.2, 4.2, 28.0, 28.0, 28.0, 28.0, 105.0, 105.0];
    let slopes = [
        1.3, 1.3, 1.3, 1.3, 2.6, 4.2, 4.2, 4.2, 4.2, 4.2, 12.0, 28.0, 28.0, 28.0, 60.0, 105.0,
        105.0, 105.0,
    ];
    let with_caches = TrueCurve::at_doublings("three caches and memory", &caches);
    let with_slopes = TrueCurve::at_doublings("the same with slopes between plateaus", &slopes);
    let by_doublings = TrueCurve::new("one step of 50 %", doublings(9), step_at_sixteen);
    let by_quarters =
        TrueCurve::new("the same, four points per doubling", quarters(33), step_at_sixteen);
    vec![
        (with_caches, vec![(3, 4), (9, 10), (13, 14)]),
        (with_slopes, vec![(3, 5), (9, 11), (13, 15)]),
        (by_doublings, vec![(3, 4)]),
        (by_quarters, vec![(15, 16)]),
    ]
}

fn step_at_sixteen(at: f64) -> f64 {
    if at < 16.0 { 10.0 } else { 15.0 }
}

fn has_one_plateau(points: &[CurvePoint]) -> bool {
    plateaus(points).is_ok_and(|found| found.len() == 1)
}

fn has_edges(points: &[CurvePoint], edges: &[(usize, usize)]) -> bool {
    let Ok(found) = plateaus(points) else { return false };
    let mut pairs = found.windows(2).zip(edges);
    found.len() == edges.len() + 1
        && pairs.all(|(pair, edge)| {
            is_at(points, pair[0].to, edge.0) && is_at(points, pair[1].from, edge.1)
        })
}

/// Whether a value of the parameter belongs to the point with this index, or to one of its neighbours.
fn is_at(points: &[CurvePoint], found: f64, index: usize) -> bool {
    let place = points.iter().position(|point| point.at == found).unwrap_or(usize::MAX);
    place.abs_diff(index) <= 1
}

/// Of the curves whose plateaus were found, at each of their heights.
fn heights(replications: u64, truth: &TrueCurve, edges: &[(usize, usize)]) -> BarSeries {
    let begins = std::iter::once(0).chain(edges.iter().map(|edge| edge.1));
    let true_heights: Vec<f64> = begins.map(|index| truth.points[index].1).collect();
    covered(replications, truth, |points| {
        let found = plateaus(points).unwrap_or_default();
        if found.len() != true_heights.len() {
            return Vec::new();
        }
        let heights = found.into_iter().map(|plateau| plateau.height);
        heights.zip(true_heights.iter().copied()).collect()
    })
}

/// How often the figures of drawn curves hold their truths.
fn covered(
    replications: u64,
    truth: &TrueCurve,
    figures: impl Fn(&[CurvePoint]) -> Vec<(CurveFigure, f64)>,
) -> BarSeries {
    let mut rng = Rng::new(truth.points.len() as u64);
    let mut hits = 0;
    let mut trials = 0;
    for _ in 0..replications {
        for (figure, value) in figures(&truth.drawn(&mut rng)) {
            trials += 1;
            hits += u64::from(holds(figure, value));
        }
    }
    BarSeries::Share { hits, trials }
}

/// Whether the interval of a figure contains its true value; not if it has none.
fn holds(figure: CurveFigure, truth: f64) -> bool {
    figure.interval.is_ok_and(|interval| interval.contains(truth))
}

/// Curves with a knee, and where it is.
fn kneed() -> Vec<(TrueCurve, f64)> {
    let falling = "1..64, linear to 8, then falling";
    let root = "1..64, as the square root to 8";
    vec![
        (TrueCurve::new("1..64, linear to 8", doublings(7), |at| 100.0 * at.min(8.0)), 8.0),
        (TrueCurve::new("1..16+1, linear to 6", counted(16), |at| 100.0 * at.min(6.0)), 6.0),
        (TrueCurve::new(root, doublings(7), |at| 100.0 * at.min(8.0).sqrt()), 8.0),
        (TrueCurve::new(falling, doublings(7), falling_beyond_eight), 8.0),
        (TrueCurve::new("1..16, linear to 4", doublings(5), |at| 100.0 * at.min(4.0)), 4.0),
    ]
}

fn falling_beyond_eight(at: f64) -> f64 {
    100.0 * if at <= 8.0 { at } else { 8.0 * (8.0 / at).sqrt() }
}

/// Whether the point next to the knee that was found is the true one's neighbour at most.
fn is_near(points: &[CurvePoint], truth: f64) -> bool {
    let Ok(RateGrowth::Until { knee, .. }) = knee(points) else { return false };
    let low = knee.value.min(truth);
    let high = knee.value.max(truth);
    !points.iter().any(|point| low < point.at && point.at < high)
}

fn knee_and_level(replications: u64, truth: &TrueCurve, at: f64) -> BarSeries {
    let level = truth.value_at(at);
    covered(replications, truth, |points| match knee(points) {
        Ok(RateGrowth::Until { knee, level: found }) => vec![(knee, at), (found, level)],
        _ => Vec::new(),
    })
}

fn growing() -> [TrueCurve; 3] {
    [
        TrueCurve::new("linear, 1..64", doublings(7), |at| 100.0 * at),
        // Amdahl's law.
        TrueCurve::new("a tenth is serial, 1..16", doublings(5), |at| {
            100.0 * at / (1.0 + 0.1 * (at - 1.0))
        }),
        TrueCurve::new("linear, 1..8+1", counted(8), |at| 100.0 * at),
    ]
}

/// Curves that grow up to their last doubling, which has too few points for a knee.
fn stops() -> [TrueCurve; 3] {
    [
        TrueCurve::new("linear to 8, 1..16", doublings(5), |at| 100.0 * at.min(8.0)),
        TrueCurve::new("root to 4, 1..8", doublings(4), |at| 100.0 * at.min(4.0).sqrt()),
        TrueCurve::new("linear to 4, 1..8+1", counted(8), |at| 100.0 * at.min(4.0)),
    ]
}

/// The cost of a call and of a byte of the lines below.
const COST: (f64, f64) = (50e-9, 0.1e-9);

fn lines() -> [TrueCurve; 4] {
    [
        TrueCurve::new("1 B to 64 KiB", doublings(17), time_of_call),
        TrueCurve::new(
            "16 B to 4 KiB, 5 points",
            quarters(5).map(|at| 16.0 * at.powi(8)),
            time_of_call,
        ),
        TrueCurve::new("100 to 900 B, 9 points", counted(9).map(|at| 100.0 * at), time_of_call),
        TrueCurve::new("3 points", [64.0, 512.0, 4096.0].into_iter(), time_of_call),
    ]
}

fn time_of_call(bytes: f64) -> f64 {
    COST.0 + COST.1 * bytes
}

fn of_line(replications: u64, truth: &TrueCurve) -> BarSeries {
    covered(replications, truth, |points| {
        let found = line(points).ok();
        found.map_or_else(Vec::new, |line| vec![(line.fixed, COST.0), (line.each, COST.1)])
    })
}

/// What is sent through a link: how many operations share a round trip, and how many there are.
const LINKS: [(&str, f64, f64); 3] = [
    ("32 operations share a round trip, limited by bandwidth", 32.0, 1000.0),
    ("4 operations share a round trip", 4.0, 4000.0),
    ("one operation per round trip, limited by round trips", 1.0, 6000.0),
];
/// Seconds that sending takes, and a round trip.
const GRID: [(f64, f64); 4] = [(4.0, 75e-5), (4.0, 37.5e-5), (1.3, 75e-5), (1.3, 37.5e-5)];
/// Seconds that depend on neither.
const REST: f64 = 0.3;

/// How often the figures of points behind a link hold their truths.
fn of_link(replications: u64, depth: f64, operations: f64) -> BarSeries {
    let mut rng = Rng::new(17);
    let mut hits = 0;
    let mut trials = 0;
    for _ in 0..replications {
        let points = GRID.map(|(sending, round_trip)| {
            let time = sending + operations * round_trip / depth + REST;
            let point = measured(round_trip, time, &mut rng);
            LinkPoint { sending, operations, round_trip, time: point.estimate, ends: point.ends }
        });
        let Ok(found) = link(&points) else { continue };
        let mut figures = vec![(found.wait, depth.recip()), (found.rest, REST)];
        for (shares, (sending, round_trip)) in found.shares.iter().zip(GRID) {
            let waiting = operations * round_trip / depth;
            let time = sending + waiting + REST;
            figures.push((shares.bandwidth, sending / time));
            figures.push((shares.round_trips, waiting / time));
            figures.push((shares.rest, REST / time));
        }
        for (figure, truth) in figures {
            trials += 1;
            hits += u64::from(holds(figure, truth));
        }
    }
    BarSeries::Share { hits, trials }
}

fn of_scaling(replications: u64, truth: &TrueCurve) -> BarSeries {
    let (first, rate) = truth.points[0];
    covered(replications, truth, |points| {
        let found = scaling(points).unwrap_or_default();
        found
            .into_iter()
            .map(|point| {
                let true_efficiency = truth.value_at(point.at) / rate / (point.at / first);
                (point.efficiency, true_efficiency)
            })
            .collect()
    })
}
