//! Does an interval still cover when sampling stopped because it was narrow enough?

use super::bars::{Bar, BarSeries, ValidationRow};
use super::noise::{Memory, Modes, Noise, NoiseSource};
use plumb_stats::Interval;
use plumb_stats::precision::{
    self, DEFAULT_PRECISION, FIRST_LOOK, FIRST_LOOK_SERIAL, FIRST_LOOK_SINGLE, PER_LOOK_LEVEL,
    PILOT, looks, serial_quantile,
};

/// Coverage that is promised of the interval at which sampling stopped.
const COVERAGE: f64 = 0.94;
/// Samples in a single process, and processes, after which it is given up.
const MOST_SAMPLES: usize = 30_000;
const MOST_PROCESSES: usize = 3000;
/// The noise of the oracle.
const FIVE_PERCENT: Noise = Noise::lognormal("lognormal 5 %", 0.05);
/// Samples of 5 % noise that a median needs for 1 % at 95 %, were the noise known: (1.96 * 1.2533 * 5)^2.
const ORACLE: f64 = 151.0;

/// How processes are measured.
#[derive(Clone, Copy)]
struct SamplingPlan {
    promise: &'static str,
    first_look: usize,
    /// Samples of each of the first three processes, and of each later one.
    pilot: usize,
    later: usize,
}

impl SamplingPlan {
    const STANDARD: Self = Self {
        promise: "stopped 95 % interval of the median: processes of 10 samples",
        first_look: FIRST_LOOK,
        pilot: 10,
        later: 10,
    };
    const LONG_SAMPLES: Self = Self {
        promise: "stopped 95 % interval of the median: processes of 3 samples",
        pilot: 3,
        later: 3,
        ..Self::STANDARD
    };
    const AFTER_PILOT: Self = Self {
        promise: "stopped 95 % interval of the median: 3 processes of 40 samples, then of 5",
        pilot: 40,
        later: 5,
        ..Self::STANDARD
    };
    const COMMANDS: Self = Self {
        promise: "stopped 95 % interval of the median: a sample is a process",
        first_look: FIRST_LOOK_SINGLE,
        pilot: 1,
        later: 1,
    };

    fn samples_of(&self, process: usize) -> usize {
        if process < PILOT { self.pilot } else { self.later }
    }

    /// Commands follow each other at once; other processes warm up first.
    fn source(&self, noise: Noise, seed: u64) -> NoiseSource {
        let source = NoiseSource::new(noise, seed);
        if self.later == 1 { source.back_to_back() } else { source }
    }

    /// Why the bar does not hold for this noise.
    fn exempt(&self, noise: Noise) -> Option<&'static str> {
        (self.later == 1 && noise.bursts).then_some("bursts outlast a command")
    }

    /// Whether the noise is worth simulating: a drift without end never stops if processes are many and short.
    fn meets(&self, noise: Noise) -> bool {
        self.later > 1 || (noise.drift == 0.0 && noise.sd < 0.2)
    }
}

/// How one simulated measurement ended.
struct StoppedMeasurement {
    covered: bool,
    samples: usize,
}

/// Processes of ten samples, as most benchmarks have them.
pub fn standard(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    measure(SamplingPlan::STANDARD, replications, report);
}

/// Processes of few samples, because samples are long.
pub fn long_samples(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    measure(SamplingPlan::LONG_SAMPLES, replications, report);
}

/// A pilot and shorter processes after it.
pub fn after_pilot(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    measure(SamplingPlan::AFTER_PILOT, replications, report);
}

/// Commands, whose samples are processes.
pub fn commands(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    measure(SamplingPlan::COMMANDS, replications, report);
}

fn measure(plan: SamplingPlan, replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for noise in Noise::ALL.into_iter().filter(|&noise| plan.meets(noise)) {
        let ends = repeat(replications, |seed| clustered(plan, noise, seed));
        report(coverage(plan.promise, noise, &ends, plan.exempt(noise)));
    }
}

/// One long process, whose samples are the units.
pub fn one_process(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for noise in Noise::ALL.into_iter().filter(|&noise| one_process_tells(noise)) {
        let ends = repeat(replications, |seed| serial(noise, seed));
        let promise = "stopped 95 % interval of the median: one long process";
        report(coverage(promise, noise, &ends, unseen(noise)));
    }
}

/// The cost of a wanted precision.
pub fn cost(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let ends = repeat(replications, |seed| clustered(SamplingPlan::STANDARD, FIVE_PERCENT, seed));
    report(cost_of(&ends));
}

fn repeat(
    replications: u64,
    once: impl Fn(u64) -> Option<StoppedMeasurement>,
) -> Vec<Option<StoppedMeasurement>> {
    (0..replications).map(once).collect()
}

/// Measures processes until the interval is narrow enough; `None` if it never is.
fn clustered(plan: SamplingPlan, noise: Noise, seed: u64) -> Option<StoppedMeasurement> {
    let mut source = plan.source(noise, seed);
    // A source begins in its first process.
    let mut processes: Vec<Vec<f64>> = vec![source.samples(plan.samples_of(0))];
    for look in looks(plan.first_look).take_while(|&look| look <= MOST_PROCESSES) {
        processes.extend(
            (processes.len()..look).map(|process| source.process(plan.samples_of(process))),
        );
        let views: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
        match precision::clustered(&views, 0.5, PER_LOOK_LEVEL) {
            Ok(found)
                if found.resolved && found.interval.relative_half_width() <= DEFAULT_PRECISION =>
            {
                let samples = views.iter().map(|samples| samples.len()).sum();
                return Some(end(&found.interval, &source, samples));
            }
            _ => {}
        }
    }
    None
}

/// Measures one process until the interval is narrow enough; `None` if it never is.
fn serial(noise: Noise, seed: u64) -> Option<StoppedMeasurement> {
    let mut source = NoiseSource::new(noise, seed);
    let mut samples = Vec::new();
    for look in looks(FIRST_LOOK_SERIAL).take_while(|&look| look <= MOST_SAMPLES) {
        samples.extend(source.samples(look - samples.len()));
        match serial_quantile(&samples, 0.5, PER_LOOK_LEVEL) {
            Ok(found) if found.may_stop(DEFAULT_PRECISION) => {
                return Some(end(&found.interval, &source, look));
            }
            _ => {}
        }
    }
    None
}

fn end(found: &Interval, source: &NoiseSource, samples: usize) -> StoppedMeasurement {
    StoppedMeasurement { covered: found.contains(source.truth(0.5)), samples }
}

fn coverage(
    promise: &'static str,
    noise: Noise,
    ends: &[Option<StoppedMeasurement>],
    exempt: Option<&'static str>,
) -> ValidationRow {
    let stopped: Vec<&StoppedMeasurement> = ends.iter().flatten().collect();
    let hits = stopped.iter().filter(|end| end.covered).count() as u64;
    let gave_up = ends.len() - stopped.len();
    let note = if gave_up > 0 { format!(", {gave_up} gave up") } else { String::new() };
    ValidationRow {
        promise,
        setting: noise.name.to_owned(),
        bar: exempt.map_or(Bar::AtLeast(COVERAGE), Bar::Exempt),
        measured: BarSeries::Share { hits, trials: stopped.len() as u64 },
        note: format!("{:.0} samples{note}", mean_samples(&stopped).0),
    }
}

/// The cost in samples against what an oracle would have needed.
fn cost_of(ends: &[Option<StoppedMeasurement>]) -> ValidationRow {
    let stopped: Vec<&StoppedMeasurement> = ends.iter().flatten().collect();
    let (mean, error) = mean_samples(&stopped);
    ValidationRow {
        promise: "samples needed for 1 % precision with 5 % noise, relative to an oracle",
        setting: FIVE_PERCENT.name.to_owned(),
        // 2.2, and a tenth of it for finding out that processes are independent in time, too.
        bar: Bar::AtMost(2.4),
        measured: BarSeries::Mean { mean: mean / ORACLE, error: error / ORACLE },
        note: format!("{mean:.0} samples; oracle {ORACLE}"),
    }
}

fn mean_samples(ends: &[&StoppedMeasurement]) -> (f64, f64) {
    let samples: Vec<f64> = ends.iter().map(|end| end.samples as f64).collect();
    let mean = plumb_stats::describe::mean(&samples).unwrap_or(0.0);
    let variance = plumb_stats::describe::variance(&samples).unwrap_or(0.0);
    (mean, (variance / samples.len().max(1) as f64).sqrt())
}

/// Whether the noise is one that a single process shows.
fn one_process_tells(noise: Noise) -> bool {
    noise.modes != Modes::ByProcess && noise.process_sd == 0.0 && !noise.moves()
}

/// What a single process may fail to see.
fn unseen(noise: Noise) -> Option<&'static str> {
    match (noise.modes, noise.memory) {
        (Modes::Markov, _) => Some("some modes may not occur"),
        (_, Memory::Pink) => Some("unlimited autocorrelation"),
        _ => None,
    }
}
