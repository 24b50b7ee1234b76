//! Curves of known form: whether edges and knees are found where they are, and whether figures hold the truth.

use super::bars::{Bar, Measured, Row};
use plumb_stats::Interval;
use plumb_stats::curves::knee::{Growth, knee};
use plumb_stats::curves::line::line;
use plumb_stats::curves::link::{LinkPoint, link};
use plumb_stats::curves::plateaus::plateaus;
use plumb_stats::curves::scaling::scaling;
use plumb_stats::curves::{CurvePoint, Figure};
use plumb_stats::describe::{mean_of, variance_of};
use plumb_stats::distribution::two_sided_t;
use plumb_stats::rng::Rng;

/// By how much the estimate of a point is off: one standard deviation.
const NOISE: f64 = 0.05;
/// Processes of a point, whose scatter tells its interval.
const PROCESSES: usize = 10;

/// Searches cost more than most: so many times fewer of them.
const DEARER: u64 = 2;

/// A curve of known form.
struct Truth {
    name: &'static str,
    /// Values of the parameter, each with the true value there.
    points: Vec<(f64, f64)>,
}

impl Truth {
    fn new(name: &'static str, at: impl Iterator<Item = f64>, of: impl Fn(f64) -> f64) -> Self {
        Self { name, points: at.map(|at| (at, of(at))).collect() }
    }

    fn drawn(&self, rng: &mut Rng) -> Vec<CurvePoint> {
        self.points.iter().map(|&(at, truth)| measured(at, truth, rng)).collect()
    }

    /// How often what is found in a drawn curve is right.
    fn share(&self, replications: u64, right: impl Fn(&[CurvePoint]) -> bool) -> Measured {
        let mut rng = Rng::new(self.points.len() as u64);
        let hits = (0..replications).filter(|_| right(&self.drawn(&mut rng))).count() as u64;
        Measured::Share { hits, trials: replications }
    }
}

/// A point as its processes tell it: the mean of their logarithms, with Student's interval.
fn measured(at: f64, truth: f64, rng: &mut Rng) -> CurvePoint {
    let root = (PROCESSES as f64).sqrt();
    let logs: Vec<f64> = (0..PROCESSES).map(|_| NOISE * root * rng.normal()).collect();
    let half = two_sided_t(0.95, (PROCESSES - 1) as f64) * variance_of(&logs).sqrt() / root;
    let mean = mean_of(&logs);
    let value = |log: f64| truth * log.exp();
    let ends = Some((value(mean - half), value(mean + half)));
    CurvePoint { at, estimate: value(mean), ends }
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

fn flat() -> [Truth; 3] {
    [
        Truth::new("flat, 5 points", doublings(5), |_| 10.0),
        Truth::new("flat, 17 points", doublings(17), |_| 10.0),
        Truth::new("flat, 64 points", counted(64), |_| 10.0),
    ]
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(Row)) {
    let replications = replications.div_ceil(DEARER);
    for (truth, edges) in staircases() {
        report(row("all plateaus found, edges within one step", 0.95, &truth, |truth| {
            truth.share(replications, |points| has_edges(points, &edges))
        }));
    }
    for truth in flat() {
        report(row("a flat curve has one plateau", 0.95, &truth, |truth| {
            truth.share(replications, |points| plateaus(points).is_ok_and(|it| it.len() == 1))
        }));
    }
    for (truth, edges) in staircases() {
        let promise = "95 % interval of the height of a plateau";
        report(row(promise, 0.94, &truth, |truth| heights(replications, truth, &edges)));
    }
    for (truth, at) in kneed() {
        report(row("a knee within one step", 0.95, &truth, |truth| {
            truth.share(replications, |points| is_near(points, at))
        }));
    }
    for (truth, at) in kneed() {
        let promise = "95 % interval of a knee and of the level there";
        report(row(promise, 0.94, &truth, |truth| knee_and_level(replications, truth, at)));
    }
    for truth in flat() {
        report(row("a flat curve has no knee", 0.95, &truth, |truth| {
            truth.share(replications, |points| knee(points) == Ok(Growth::Never))
        }));
    }
    for truth in growing() {
        report(row("a curve that still grows has no knee yet", 0.95, &truth, |truth| {
            truth.share(replications, |points| knee(points) == Ok(Growth::Unfinished))
        }));
    }
    for truth in lines() {
        let promise = "95 % interval of the cost of a call and of a byte";
        report(row(promise, 0.94, &truth, |truth| of_line(replications, truth)));
    }
    for (name, depth, operations) in LINKS {
        report(Row {
            promise: "95 % interval of what operations behind a link wait for, and of each term's share",
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
    truth: &Truth,
    measure: impl Fn(&Truth) -> Measured,
) -> Row {
    Row {
        promise,
        setting: format!("{}, noise {} %", truth.name, NOISE * 100.0),
        bar: Bar::AtLeast(bar),
        measured: measure(truth),
        note: String::new(),
    }
}

/// Staircases, with the indices of the points where a plateau ends and the next one begins.
fn staircases() -> Vec<(Truth, Vec<(usize, usize)>)> {
    let caches =
        [1.3, 1.3, 1.3, 1.3, 4.2, 4.2, 4.2, 4.2, 4.2, 4.2, 28.0, 28.0, 28.0, 28.0, 105.0, 105.0];
    let slopes = [
        1.3, 1.3, 1.3, 1.3, 2.6, 4.2, 4.2, 4.2, 4.2, 4.2, 12.0, 28.0, 28.0, 28.0, 60.0, 105.0,
        105.0, 105.0,
    ];
    let of = |name, values: &[f64]| {
        let at = doublings(i32::try_from(values.len()).unwrap_or(0));
        Truth { name, points: at.zip(values.iter().copied()).collect() }
    };
    let step = |at: f64| if at < 16.0 { 10.0 } else { 15.0 };
    vec![
        (of("three caches and memory", &caches), vec![(3, 4), (9, 10), (13, 14)]),
        (of("the same with slopes between", &slopes), vec![(3, 5), (9, 11), (13, 15)]),
        (Truth::new("one step of a half", doublings(9), step), vec![(3, 4)]),
        (Truth::new("the same by quarters", quarters(33), step), vec![(15, 16)]),
    ]
}

fn has_edges(points: &[CurvePoint], edges: &[(usize, usize)]) -> bool {
    let index = |at: f64| points.iter().position(|it| it.at == at).unwrap_or(usize::MAX);
    let near = |found: f64, edge: usize| index(found).abs_diff(edge) <= 1;
    let Ok(found) = plateaus(points) else { return false };
    let pairs = found.windows(2).zip(edges);
    found.len() == edges.len() + 1
        && pairs.into_iter().all(|(it, edge)| near(it[0].to, edge.0) && near(it[1].from, edge.1))
}

/// Of the curves whose plateaus were found, at each of their heights.
fn heights(replications: u64, truth: &Truth, edges: &[(usize, usize)]) -> Measured {
    let begins = std::iter::once(0).chain(edges.iter().map(|edge| edge.1));
    let true_heights: Vec<f64> = begins.map(|index| truth.points[index].1).collect();
    covered(replications, truth, |points| {
        let found = plateaus(points).ok().filter(|it| it.len() == true_heights.len());
        let all = found.unwrap_or_default().into_iter().map(|it| it.height);
        all.zip(true_heights.iter().copied()).collect()
    })
}

/// How often the figures of drawn curves hold their truths.
fn covered(
    replications: u64,
    truth: &Truth,
    figures: impl Fn(&[CurvePoint]) -> Vec<(Figure, f64)>,
) -> Measured {
    let mut rng = Rng::new(truth.points.len() as u64);
    let found = (0..replications).flat_map(|_| figures(&truth.drawn(&mut rng)));
    let holds = |(figure, truth): (Figure, f64)| {
        figure.interval.is_ok_and(|it: Interval| it.contains(truth))
    };
    let found: Vec<bool> = found.map(holds).collect();
    let hits = found.iter().filter(|holds| **holds).count() as u64;
    Measured::Share { hits, trials: found.len() as u64 }
}

/// Curves with a knee, and where it is.
fn kneed() -> Vec<(Truth, f64)> {
    let until = |knee: f64| move |at: f64| 100.0 * at.min(knee);
    let slow = |at: f64| 100.0 * at.min(8.0).sqrt();
    let falling = |at: f64| 100.0 * if at <= 8.0 { at } else { 8.0 * (8.0 / at).sqrt() };
    vec![
        (Truth::new("1..64, linear to 8", doublings(7), until(8.0)), 8.0),
        (Truth::new("1..16+1, linear to 6", counted(16), until(6.0)), 6.0),
        (Truth::new("1..64, as the square root to 8", doublings(7), slow), 8.0),
        (Truth::new("1..64, linear to 8, then falling", doublings(7), falling), 8.0),
        (Truth::new("1..16, linear to 4", doublings(5), until(4.0)), 4.0),
    ]
}

/// Whether the point next to the knee that was found is the true one's neighbour at most.
fn is_near(points: &[CurvePoint], truth: f64) -> bool {
    let Ok(Growth::Until { knee, .. }) = knee(points) else { return false };
    let steps = |one: f64, other: f64| {
        let (low, high) = (one.min(other), one.max(other));
        points.iter().filter(|it| low < it.at && it.at < high).count()
    };
    steps(knee.value, truth) == 0
}

fn knee_and_level(replications: u64, truth: &Truth, at: f64) -> Measured {
    let level = truth.points.iter().find(|point| point.0 == at).map_or(f64::NAN, |point| point.1);
    covered(replications, truth, |points| match knee(points) {
        Ok(Growth::Until { knee, level: found }) => vec![(knee, at), (found, level)],
        _ => Vec::new(),
    })
}

fn growing() -> [Truth; 3] {
    let amdahl = |serial: f64| move |at: f64| 100.0 * at / (1.0 + serial * (at - 1.0));
    [
        Truth::new("linear, 1..64", doublings(7), |at| 100.0 * at),
        Truth::new("a tenth is serial, 1..16", doublings(5), amdahl(0.1)),
        Truth::new("linear, 1..8+1", counted(8), |at| 100.0 * at),
    ]
}

/// The cost of a call and of a byte of the lines below.
const COST: (f64, f64) = (50e-9, 0.1e-9);

fn lines() -> [Truth; 4] {
    let time = |at: f64| COST.0 + COST.1 * at;
    [
        Truth::new("1 B to 64 KiB", doublings(17), time),
        Truth::new("16 B to 4 KiB, 5 points", quarters(5).map(|at| 16.0 * at.powi(8)), time),
        Truth::new("100 to 900 B, 9 points", counted(9).map(|at| 100.0 * at), time),
        Truth::new("3 points", [64.0, 512.0, 4096.0].into_iter(), time),
    ]
}

fn of_line(replications: u64, truth: &Truth) -> Measured {
    covered(replications, truth, |points| {
        let found = line(points).ok();
        found.map_or_else(Vec::new, |it| vec![(it.fixed, COST.0), (it.each, COST.1)])
    })
}

/// What is sent through a link: how many operations share a round trip, and how many there are.
const LINKS: [(&str, f64, f64); 3] = [
    ("32 share a round trip, bandwidth binds", 32.0, 1000.0),
    ("4 share a round trip", 4.0, 4000.0),
    ("each waits, the round trip binds", 1.0, 6000.0),
];
/// Seconds that sending takes, and a round trip.
const GRID: [(f64, f64); 4] = [(4.0, 75e-5), (4.0, 37.5e-5), (1.3, 75e-5), (1.3, 37.5e-5)];
/// Seconds that depend on neither.
const REST: f64 = 0.3;

/// How often the figures of points behind a link hold their truths.
fn of_link(replications: u64, depth: f64, operations: f64) -> Measured {
    let mut rng = Rng::new(17);
    let wait = |round_trip: f64| operations * round_trip / depth;
    let time = |&(sending, round_trip): &(f64, f64)| sending + wait(round_trip) + REST;
    let (mut hits, mut trials) = (0, 0);
    for _ in 0..replications {
        let points = GRID.map(|at| {
            let it = measured(at.1, time(&at), &mut rng);
            let (sending, round_trip) = at;
            LinkPoint { sending, operations, round_trip, time: it.estimate, ends: it.ends }
        });
        let Ok(found) = link(&points) else { continue };
        let shares = found.shares.iter().zip(&GRID).flat_map(|(it, at)| {
            let (sending, waiting, all) = (at.0, wait(at.1), time(at));
            [(it.bandwidth, sending / all), (it.round_trips, waiting / all), (it.rest, REST / all)]
        });
        let all = [(found.wait, depth.recip()), (found.rest, REST)].into_iter().chain(shares);
        for (figure, truth) in all {
            trials += 1;
            hits += u64::from(figure.interval.is_ok_and(|it| it.contains(truth)));
        }
    }
    Measured::Share { hits, trials }
}

fn of_scaling(replications: u64, truth: &Truth) -> Measured {
    let (first, rate) = truth.points[0];
    let true_of = |at: f64| {
        let found = truth.points.iter().find(|point| point.0 == at);
        found.map_or(f64::NAN, |point| point.1 / rate / (at / first))
    };
    covered(replications, truth, |points| {
        let found = scaling(points).unwrap_or_default();
        found.into_iter().map(|it| (it.efficiency, true_of(it.at))).collect()
    })
}
