//! A run of many points whose time was short, and the longer one that its end advises.

use super::trace::{ChunkTrace, PROCESS};
use crate::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::precision::{
    Clustered, FIRST_LOOK, PER_LOOK_LEVEL, TIMES_LONGER, clustered, half_after, looks,
};
use plumb_stats::rng::Rng;

/// As many points and seconds as the suite `first-look` has.
const POINTS: usize = 24;
const SECONDS: f64 = 120.0;
/// Between the two runs, in seconds.
const PAUSE: f64 = 2.0;
/// Wanted, on a machine with nothing else to do and beside other work.
const WANTED: [f64; 3] = [0.005, 0.01, 0.015];
const WANTED_BESIDE: [f64; 3] = [0.04, 0.08, 0.15];
/// Where runs begin on a trace, a precision.
const RUNS: u64 = 60;
/// Fewer say nothing.
const FEWEST: u64 = 8;
/// A run may be so much wider than was foretold.
const FACTOR: f64 = 1.5;
/// Promised: so often.
const SHARE: f64 = 0.8;

/// One point of a run.
#[derive(Default)]
struct TracePoint {
    processes: Vec<Vec<f64>>,
    precise: bool,
}

impl TracePoint {
    fn found(&self) -> Option<Clustered> {
        let views: Vec<&[f64]> = self.processes.iter().map(Vec::as_slice).collect();
        clustered(&views, 0.5, PER_LOOK_LEVEL).ok()
    }
}

/// The points in turns, from a chunk on for so many seconds; None if the trace ends before.
fn run(trace: &ChunkTrace, from: usize, seconds: f64, wanted: f64) -> Option<Vec<TracePoint>> {
    let counts: Vec<usize> = looks(FIRST_LOOK).take_while(|count| *count < trace.len()).collect();
    let mut points: Vec<TracePoint> = (0..POINTS).map(|_| TracePoint::default()).collect();
    let mut at = from;
    while points.iter().any(|point| !point.precise) {
        for point in points.iter_mut().filter(|point| !point.precise) {
            if at + PROCESS > trace.len() {
                return None;
            }
            if trace.time(from, at - from) > seconds {
                return Some(points);
            }
            point.processes.push(trace.samples(at));
            at += PROCESS;
            if counts.contains(&point.processes.len()) {
                point.precise = point.found().is_some_and(|found| {
                    found.resolved && found.interval.relative_half_width() <= wanted
                });
            }
        }
    }
    Some(points)
}

/// The widest interval of the points that are not precise.
fn widest(points: &[TracePoint], of: impl Fn(&Clustered) -> f64) -> Option<f64> {
    let late = points.iter().filter(|point| !point.precise);
    let widths: Option<Vec<f64>> =
        late.map(|point| point.found().map(|found| of(&found))).collect();
    Some(widths?.into_iter().fold(0.0, f64::max))
}

/// The widest half-width that a run so many times as long is to reach.
fn widest_after(points: &[TracePoint], times: f64) -> Option<f64> {
    widest(points, |found| half_after(found.interval.relative_half_width(), found.stretch, times))
}

/// Whether a run that misses what is wanted foretells what a longer one reaches, no more than [`FACTOR`] too narrow; None
/// where it misses nothing, or the trace ends.
fn holds(trace: &ChunkTrace, from: usize, wanted: f64) -> Option<bool> {
    let short = run(trace, from, SECONDS, wanted)?;
    if short.iter().all(|point| point.precise) {
        return None;
    }
    let times = TIMES_LONGER
        .into_iter()
        .find(|&times| widest_after(&short, times).is_some_and(|half| half <= wanted))
        .unwrap_or(TIMES_LONGER[TIMES_LONGER.len() - 1]);
    let foretold = widest_after(&short, times)?.max(wanted);
    let begin = trace.chunk_at(trace.sums[from] + SECONDS + PAUSE);
    let long = run(trace, begin, times * SECONDS, wanted)?;
    let reached = widest(&long, |found| found.interval.relative_half_width());
    Some(reached.is_some_and(|half| half <= FACTOR * foretold))
}

/// How often a longer run reaches what the end of a shorter one foretells.
pub(super) fn measure(
    trace: &ChunkTrace,
    runs: u64,
    name: &str,
    report: &mut dyn FnMut(ValidationRow),
) {
    let mut rng = Rng::new(3);
    let mut hits = 0;
    let mut trials = 0;
    for wanted in if trace.beside { WANTED_BESIDE } else { WANTED } {
        for _ in 0..runs.min(RUNS) {
            let from = (rng.uniform() * trace.len() as f64) as usize;
            let Some(held) = holds(trace, from, wanted) else { continue };
            trials += 1;
            hits += u64::from(held);
        }
    }
    if trials < FEWEST {
        return;
    }
    report(ValidationRow {
        promise: "Recorded traces: a longer run reaches the predicted precision",
        setting: format!("{POINTS} points in {SECONDS} s, then up to four times as long, {name}"),
        bar: Bar::AtLeast(SHARE),
        measured: BarSeries::Share { hits, trials },
        note: String::new(),
    });
}
