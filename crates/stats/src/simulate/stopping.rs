//! Does an interval still cover when sampling stopped because it was narrow enough?

use super::bars::{Bar, Measured, Row};
use super::noise::{Memory, Modes, Noise, Source};
use crate::Interval;
use crate::precision::{
    FIRST_LOOK, FIRST_LOOK_SERIAL, FIRST_LOOK_SINGLE, PER_LOOK_LEVEL, clustered_quantile, looks,
    serial_quantile,
};

/// The wanted relative half-width.
const PRECISION: f64 = 0.01;
/// Coverage that is promised of the interval at which sampling stopped.
const COVERAGE: f64 = 0.94;
/// Samples in a single process, and processes, after which it is given up.
const MOST_SAMPLES: usize = 30_000;
const MOST_PROCESSES: usize = 1000;
/// Processes of a pilot.
const PILOT: usize = 3;
/// The noise of the oracle.
const FIVE_PERCENT: Noise = Noise::lognormal("lognormal 5 %", 0.05);
/// Samples of 5 % noise that a median needs for 1 % at 95 %, were the noise known: (1.96 * 1.2533 * 5)^2.
const ORACLE: f64 = 151.0;

/// Samples of each of the first three processes, and of each later one.
#[derive(Clone, Copy)]
struct Sizes {
    pilot: usize,
    later: usize,
}

impl Sizes {
    fn even(each: usize) -> Self {
        Self { pilot: each, later: each }
    }

    fn of(self, process: usize) -> usize {
        if process < PILOT { self.pilot } else { self.later }
    }
}

/// How one simulated measurement ended.
struct End {
    covered: bool,
    samples: usize,
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(Row)) {
    for noise in Noise::ALL {
        let ends = repeat(replications, |seed| clustered(noise, seed, FIRST_LOOK, Sizes::even(10)));
        report(coverage(
            "stopped 95 % interval of the median: processes of 10 samples",
            noise,
            &ends,
            None,
        ));
        if noise.name == "lognormal 5 %" {
            report(cost(&ends));
        }
    }
    for noise in Noise::ALL {
        let ends = repeat(replications, |seed| clustered(noise, seed, FIRST_LOOK, Sizes::even(3)));
        let promise = "stopped 95 % interval of the median: processes of 3 samples";
        report(coverage(promise, noise, &ends, outlasting(noise)));
    }
    for noise in Noise::ALL {
        let sizes = Sizes { pilot: 40, later: 5 };
        let ends = repeat(replications, |seed| clustered(noise, seed, FIRST_LOOK, sizes));
        let promise = "stopped 95 % interval of the median: 3 processes of 40 samples, then of 5";
        report(coverage(promise, noise, &ends, outlasting(noise)));
    }
    for noise in Noise::ALL.into_iter().filter(|noise| noise.drift == 0.0 && noise.sd < 0.2) {
        let ends =
            repeat(replications, |seed| clustered(noise, seed, FIRST_LOOK_SINGLE, Sizes::even(1)));
        let promise = "stopped 95 % interval of the median: a sample is a process";
        report(coverage(promise, noise, &ends, outlasting(noise)));
    }
    for noise in Noise::ALL.into_iter().filter(|&noise| one_process_tells(noise)) {
        let ends = repeat(replications, |seed| serial(noise, seed));
        report(coverage(
            "stopped 95 % interval of the median: one long process",
            noise,
            &ends,
            unseen(noise),
        ));
    }
}

fn repeat(replications: u64, once: impl Fn(u64) -> Option<End>) -> Vec<Option<End>> {
    (0..replications).map(once).collect()
}

/// Measures processes until the interval is narrow enough; `None` if it never is.
fn clustered(noise: Noise, seed: u64, first: usize, sizes: Sizes) -> Option<End> {
    let mut source = Source::new(noise, seed);
    let mut processes: Vec<Vec<f64>> = vec![source.samples(sizes.of(0))];
    for look in looks(first).take_while(|&look| look <= MOST_PROCESSES) {
        processes.extend((processes.len()..look).map(|process| source.process(sizes.of(process))));
        let views: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
        match clustered_quantile(&views, 0.5, PER_LOOK_LEVEL) {
            Ok(found) if found.relative_half_width() <= PRECISION => {
                let samples = views.iter().map(|samples| samples.len()).sum();
                return Some(end(&found, &source, samples));
            }
            _ => {}
        }
    }
    None
}

/// Measures one process until the interval is narrow enough; `None` if it never is.
fn serial(noise: Noise, seed: u64) -> Option<End> {
    let mut source = Source::new(noise, seed);
    let mut samples = Vec::new();
    for look in looks(FIRST_LOOK_SERIAL).take_while(|&look| look <= MOST_SAMPLES) {
        samples.extend(source.samples(look - samples.len()));
        match serial_quantile(&samples, 0.5, PER_LOOK_LEVEL) {
            Ok(found) if found.may_stop(PRECISION) => {
                return Some(end(&found.interval, &source, look));
            }
            _ => {}
        }
    }
    None
}

fn end(found: &Interval, source: &Source, samples: usize) -> End {
    End { covered: found.contains(source.truth(0.5)), samples }
}

fn coverage(
    promise: &'static str,
    noise: Noise,
    ends: &[Option<End>],
    exempt: Option<&'static str>,
) -> Row {
    let stopped: Vec<&End> = ends.iter().flatten().collect();
    let hits = stopped.iter().filter(|end| end.covered).count() as u64;
    let gave_up = ends.len() - stopped.len();
    let note = if gave_up > 0 { format!(", {gave_up} gave up") } else { String::new() };
    Row {
        promise,
        setting: noise.name.to_owned(),
        bar: exempt.map_or(Bar::AtLeast(COVERAGE), Bar::Exempt),
        measured: Measured::Share { hits, trials: stopped.len() as u64 },
        note: format!("{:.0} samples{note}", mean_samples(&stopped).0),
    }
}

/// The cost in samples against what an oracle would have needed.
fn cost(ends: &[Option<End>]) -> Row {
    let stopped: Vec<&End> = ends.iter().flatten().collect();
    let (mean, error) = mean_samples(&stopped);
    Row {
        promise: "samples for 1 % under 5 % noise, over those of an oracle",
        setting: FIVE_PERCENT.name.to_owned(),
        bar: Bar::AtMost(2.2),
        measured: Measured::Mean { mean: mean / ORACLE, error: error / ORACLE },
        note: format!("{mean:.0} against {ORACLE} samples"),
    }
}

fn mean_samples(ends: &[&End]) -> (f64, f64) {
    let samples: Vec<f64> = ends.iter().map(|end| end.samples as f64).collect();
    let mean = crate::describe::mean(&samples).unwrap_or(0.0);
    let variance = crate::describe::variance(&samples).unwrap_or(0.0);
    (mean, (variance / samples.len().max(1) as f64).sqrt())
}

/// Noise that spans several short processes makes them dependent.
fn outlasting(noise: Noise) -> Option<&'static str> {
    noise.bursts.then_some("bursts outlast a process")
}

/// Whether the noise is one that a single process shows.
fn one_process_tells(noise: Noise) -> bool {
    noise.modes != Modes::ByProcess && noise.process_sd == 0.0 && !noise.moves()
}

/// What a single process may fail to see.
fn unseen(noise: Noise) -> Option<&'static str> {
    match (noise.modes, noise.memory) {
        (Modes::Markov, _) => Some("regimes that were not visited"),
        (_, Memory::Pink) => Some("memory without end"),
        _ => None,
    }
}
