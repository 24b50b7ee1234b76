//! Two levels: how often they are found, how often one is split in two, and whether the interval of a share covers.

use super::bars::{Bar, BarSeries, ValidationRow, decided};
use super::noise::{Memory, Modes, Noise, NoiseDistribution, NoiseSource};
use plumb_stats::Interval;
use plumb_stats::levels::{LevelPair, LevelsOf, share};
use plumb_stats::precision::CONFIDENCE;
use plumb_stats::rng::Rng;
use plumb_stats::verdict::MARGIN;

/// How far apart levels are, in standard deviations of each.
const DEVIATIONS: f64 = 6.0;
/// Chance that a process stays if its forerunner was, beyond that of its share, if levels last.
const MEMORY: f64 = 0.6;

/// The mean log time of a delay.
const DELAY: f64 = 1.0 / 1.5;

/// Two levels and who lies on them.
#[derive(Clone, Copy)]
struct SimulatedLevels {
    processes: usize,
    samples: usize,
    /// Relative distance of the levels.
    apart: f64,
    /// Share of the upper one.
    upper: f64,
    of: LevelsOf,
    lasts: bool,
    /// Share of samples that something else delayed, as the outliers of [`Noise`].
    delayed: f64,
}

const COMMANDS: SimulatedLevels = SimulatedLevels {
    processes: 30,
    samples: 1,
    apart: 0.05,
    upper: 0.3,
    of: LevelsOf::Processes,
    lasts: false,
    delayed: 0.0,
};

impl SimulatedLevels {
    fn name(&self) -> String {
        let Self { processes, samples, apart, upper, of, lasts, delayed } = self;
        let what = match (samples, of) {
            (1, _) => format!("{processes} commands"),
            (_, LevelsOf::Processes) => format!("{processes} processes of {samples} samples"),
            (_, LevelsOf::Samples) => format!("samples of {processes} processes of {samples}"),
        };
        let apart = 100.0 * apart;
        let upper = 100.0 * upper;
        let lasts = if *lasts { ", each for a while" } else { "" };
        let delayed = if *delayed > 0.0 {
            format!(", {:.0} % delayed", 100.0 * delayed)
        } else {
            String::new()
        };
        format!("{what}, {upper:.0} % of them {apart:.0} % above the others{lasts}{delayed}")
    }

    fn draw(&self, rng: &mut Rng) -> Vec<Vec<f64>> {
        let mut is_upper = rng.uniform() < self.upper;
        let mut processes = Vec::new();
        for _ in 0..self.processes {
            is_upper = self.next_level(is_upper, rng);
            let mut samples = Vec::new();
            for _ in 0..self.samples {
                if self.of == LevelsOf::Samples {
                    is_upper = self.next_level(is_upper, rng);
                }
                samples.push(self.sample(is_upper, rng));
            }
            processes.push(samples);
        }
        processes
    }

    /// Whether the next process or sample lies on the upper level, if this one does or does not.
    fn next_level(&self, is_upper: bool, rng: &mut Rng) -> bool {
        if !self.lasts || rng.uniform() > MEMORY { rng.uniform() < self.upper } else { is_upper }
    }

    /// A sample on one of the levels.
    fn sample(&self, is_upper: bool, rng: &mut Rng) -> f64 {
        let apart = self.apart.ln_1p();
        let level = if is_upper { apart } else { 0.0 };
        let is_delayed = self.delayed > 0.0 && rng.uniform() < self.delayed;
        let delay = if is_delayed { DELAY * rng.exponential() } else { 0.0 };
        (level + apart / DEVIATIONS * rng.normal() + delay).exp()
    }

    /// The share of samples on the upper level, by the boundary that is found; `None` if one level is found.
    fn found_share(&self, seed: u64) -> Option<Interval> {
        let processes = self.draw(&mut Rng::new(seed));
        let boundary = of(&processes)?.boundary;
        let counts: Vec<(usize, usize)> = processes
            .iter()
            .map(|values| {
                let above = values.iter().filter(|&&value| value > boundary).count();
                (above, values.len())
            })
            .collect();
        share(&counts, CONFIDENCE).ok()
    }

    fn found(&self, seed: u64) -> Option<LevelPair> {
        of(&self.draw(&mut Rng::new(seed)))
    }
}

fn of(processes: &[Vec<f64>]) -> Option<LevelPair> {
    let views: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
    LevelPair::of(&views, MARGIN)
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let promised = [
        COMMANDS,
        SimulatedLevels { upper: 0.5, ..COMMANDS },
        SimulatedLevels { upper: 0.7, ..COMMANDS },
        SimulatedLevels { apart: 0.3, ..COMMANDS },
        SimulatedLevels { processes: 300, ..COMMANDS },
        SimulatedLevels { processes: 100, lasts: true, ..COMMANDS },
        SimulatedLevels { samples: 10, ..COMMANDS },
        SimulatedLevels { samples: 10, of: LevelsOf::Samples, ..COMMANDS },
    ];
    for truth in promised {
        report(decided(replications, replications, |trials| {
            two(truth, Bar::AtLeast(0.95), trials)
        }));
    }
    let lasts = SimulatedLevels { lasts: true, ..COMMANDS };
    report(two(lasts, Bar::Exempt("one level may occur rarely"), replications));
    for processes in [30, 100] {
        let delayed = SimulatedLevels { processes, delayed: 0.05, ..COMMANDS };
        report(two(delayed, Bar::Exempt("delays widen the levels"), replications));
    }
    for processes in [10, 13, 20] {
        let bar = Bar::Exempt("promised for 30 or more");
        report(two(SimulatedLevels { processes, ..COMMANDS }, bar, replications));
    }
    for plan in PLANS {
        for noise in UNIMODAL.into_iter().chain(Noise::ALL).filter(|&noise| is_unimodal(noise)) {
            report(decided(replications, replications, |trials| one(plan, noise, trials)));
        }
    }
    for truth in [
        COMMANDS,
        SimulatedLevels { upper: 0.5, ..COMMANDS },
        SimulatedLevels { processes: 100, ..COMMANDS },
        SimulatedLevels { processes: 100, lasts: true, ..COMMANDS },
        SimulatedLevels { samples: 10, of: LevelsOf::Samples, ..COMMANDS },
    ] {
        report(covers(truth, replications));
    }
}

fn two(truth: SimulatedLevels, bar: Bar, replications: u64) -> ValidationRow {
    let hits = (0..replications)
        .filter(|&seed| truth.found(seed).is_some_and(|found| found.of == truth.of))
        .count() as u64;
    ValidationRow {
        promise: "two levels, six standard deviations apart, found",
        setting: truth.name(),
        bar,
        measured: BarSeries::Share { hits, trials: replications },
        note: String::new(),
    }
}

/// What is measured of one level.
#[derive(Clone, Copy)]
struct OneLevelPlan {
    name: &'static str,
    processes: usize,
    /// Samples of a process; 0 if a sample is a process and follows the one before at once.
    samples: usize,
}

impl OneLevelPlan {
    fn measure(&self, source: &mut NoiseSource, noise: Noise) -> Vec<Vec<f64>> {
        (0..self.processes)
            .map(|_| match (self.samples, noise.memory) {
                (0, Memory::Independent) => source.process(1),
                // Noise with a memory goes on from command to command, as samples of one process do.
                (0, _) => source.samples(1),
                (samples, _) => source.process(samples),
            })
            .collect()
    }
}

const PLANS: [OneLevelPlan; 9] = [
    OneLevelPlan { name: "10 processes of 10", processes: 10, samples: 10 },
    OneLevelPlan { name: "30 processes of 10", processes: 30, samples: 10 },
    OneLevelPlan { name: "100 processes of 5", processes: 100, samples: 5 },
    OneLevelPlan { name: "13 commands", processes: 13, samples: 0 },
    OneLevelPlan { name: "16 commands", processes: 16, samples: 0 },
    OneLevelPlan { name: "20 commands", processes: 20, samples: 0 },
    OneLevelPlan { name: "25 commands", processes: 25, samples: 0 },
    OneLevelPlan { name: "30 commands", processes: 30, samples: 0 },
    OneLevelPlan { name: "300 commands", processes: 300, samples: 0 },
];

/// Kinds of noise that could be taken for two levels, next to those of all bars.
const UNIMODAL: [Noise; 3] = [
    Noise {
        shape: NoiseDistribution::Exponential,
        ..Noise::lognormal("exponential of scale 1", 1.0)
    },
    Noise { drift: 0.01, ..Noise::lognormal("drift 1 % per process", 0.005) },
    Noise::autoregressive("AR(.995)", 0.995),
];

/// Bursts are their own level, if a rare one.
fn is_unimodal(noise: Noise) -> bool {
    noise.modes == Modes::One && !noise.bursts
}

fn one(plan: OneLevelPlan, noise: Noise, replications: u64) -> ValidationRow {
    let hits = (0..replications)
        .filter(|&seed| of(&plan.measure(&mut NoiseSource::new(noise, seed), noise)).is_some())
        .count() as u64;
    ValidationRow {
        promise: "one level split in two",
        setting: format!("{}, {}", noise.name, plan.name),
        bar: Bar::AtMost(0.05),
        measured: BarSeries::Share { hits, trials: replications },
        note: String::new(),
    }
}

/// Whether the interval of the share holds the true one.
fn covers(truth: SimulatedLevels, replications: u64) -> ValidationRow {
    let all: Vec<Interval> = (0..replications).filter_map(|seed| truth.found_share(seed)).collect();
    let hits = all.iter().filter(|interval| interval.contains(truth.upper)).count() as u64;
    ValidationRow {
        promise: "95 % interval of the share of a level",
        setting: truth.name(),
        bar: Bar::AtLeast(0.94),
        measured: BarSeries::Share { hits, trials: all.len() as u64 },
        note: String::new(),
    }
}
