//! Systems under load with known limits, and how well a search finds them.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::describe::median_of;
use plumb_stats::precision::{
    DEFAULT_PRECISION, FIRST_LOOK_SINGLE, PER_LOOK_LEVEL, clustered_quantile, looks,
};
use plumb_stats::rng::Rng;
use plumb_stats::search::{LoadGoal, LoadSearch, LoadTrial, Loads, NextTrial, SearchLimit};

/// Share of trials in which a noisy system stalls, and what it then loses of its capacity.
const STALLS: (f64, f64) = (0.05, 0.4);
/// How much the capacity of processes differs, in log time.
const PROCESS_SD: f64 = 0.01;
/// Processes after which it is given up, and those that tell the truth.
const MOST_PROCESSES: usize = 1000;
const TRUTH_PROCESSES: u64 = 4001;

/// How a system loses operations when the load rises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collapse {
    /// None up to its capacity, then all that is above.
    Cliff,
    /// More and more from well below its capacity on.
    Slope,
    /// A cliff whose capacity varies from trial to trial, with stalls.
    Noisy,
}

impl Collapse {
    /// Every shape, in the order of the report.
    pub const ALL: [Self; 3] = [Self::Cliff, Self::Slope, Self::Noisy];

    /// The name that reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cliff => "hard cliff",
            Self::Slope => "soft slope",
            Self::Noisy => "noisy, with stalls",
        }
    }
}

/// A system that answers trials, the same ones every time it is made again.
#[derive(Debug, Clone)]
pub struct System {
    shape: Collapse,
    /// Operations a second.
    capacity: f64,
    /// How steeply a slope falls.
    steepness: f64,
    /// Standard deviation of the capacity in log time, from trial to trial.
    sd: f64,
    rng: Rng,
}

impl System {
    /// A system of this shape, drawn from a seed: a capacity from 20,000 to 2,000,000 per second.
    pub fn new(shape: Collapse, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let capacity = 20_000.0 * 100_f64.powf(rng.uniform());
        let steepness = 4.0 + 16.0 * rng.uniform();
        let sd = 0.02 * rng.uniform();
        Self { shape, capacity, steepness, sd, rng }
    }

    /// The process of a machine: its capacity differs from that of others by 1 %.
    fn process(shape: Collapse, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let capacity = 100_000.0 * (PROCESS_SD * rng.normal()).exp();
        Self { shape, capacity, steepness: 10.0, sd: 0.01, rng }
    }

    /// Carries a trial out.
    pub fn trial(&mut self, next: NextTrial) -> LoadTrial {
        let NextTrial { load, duration_ns } = next;
        let offered = (load * duration_ns as f64 * 1e-9).round();
        // The same numbers are drawn whatever the shape and the load, so that they belong to the trial.
        let noise = self.rng.normal();
        let stall = self.rng.uniform();
        let loss = match self.shape {
            Collapse::Cliff => 1.0 - self.capacity / load,
            Collapse::Slope => 0.02 * (load / self.capacity).powf(self.steepness) - 1e-4,
            Collapse::Noisy => {
                let stalled = if stall < STALLS.0 { 1.0 - STALLS.1 } else { 1.0 };
                1.0 - self.capacity * stalled * (self.sd * noise).exp() / load
            }
        };
        let good = offered * (1.0 - loss.clamp(0.0, 1.0));
        let whole_offered = offered as u64;
        LoadTrial {
            load,
            duration_ns,
            elapsed_ns: duration_ns,
            offered: whole_offered,
            good: (good.floor() as u64).min(whole_offered),
        }
    }
}

/// Searches a system; what was found, and how long all trials took, in nanoseconds.
pub fn search(goal: LoadGoal, loads: Loads, system: &mut System) -> (Option<SearchLimit>, u64) {
    let Ok(mut search) = LoadSearch::new(goal, loads) else { return (None, 0) };
    let mut spent_ns = 0;
    while let Some(next) = search.next_trial() {
        spent_ns += next.duration_ns;
        search.take(system.trial(next));
    }
    (search.found(), spent_ns)
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for shape in Collapse::ALL {
        // Seeds from the other end: the measured processes are none of those that tell the truth.
        let limits: Vec<f64> =
            (0..TRUTH_PROCESSES).map(|seed| process_limit(shape, !seed)).collect();
        let truth = median_of(&limits);
        let ends: Vec<(bool, usize)> = (0..replications.div_ceil(4))
            .filter_map(|seed| stopped(shape, truth, seed << 32))
            .collect();
        let trials = ends.len() as u64;
        let hits = ends.iter().filter(|end| end.0).count() as u64;
        let processes: usize = ends.iter().map(|end| end.1).sum();
        report(ValidationRow {
            promise: "stopped 95 % interval of a limit: one search per process",
            setting: shape.name().to_owned(),
            bar: Bar::AtLeast(0.94),
            measured: BarSeries::Share { hits, trials },
            note: format!("{:.0} processes", processes as f64 / trials.max(1) as f64),
        });
    }
}

/// The limit that one process of a machine shows. Its range of loads begins at random within a width of the goal.
fn process_limit(shape: Collapse, seed: u64) -> f64 {
    // Another seed than the system's: its capacity must not depend on the shift.
    let shift = Rng::new(!seed).uniform();
    let goal = LoadGoal { loss_ratio: 0.01, ..LoadGoal::QUICK };
    let loads = Loads { least: 10.0, most: 1e7 }.shifted(&goal, shift);
    let found = search(goal, loads, &mut System::process(shape, seed)).0;
    found.map_or(0.0, |found| found.throughput)
}

/// Processes until the interval is narrow enough: whether it has the truth, and how many they were.
fn stopped(shape: Collapse, truth: f64, seed: u64) -> Option<(bool, usize)> {
    let mut limits: Vec<[f64; 1]> = Vec::new();
    for look in looks(FIRST_LOOK_SINGLE).take_while(|&look| look <= MOST_PROCESSES) {
        let more = limits.len()..look;
        limits.extend(more.map(|process| [process_limit(shape, seed + process as u64)]));
        let views: Vec<&[f64]> = limits.iter().map(<[f64; 1]>::as_slice).collect();
        match clustered_quantile(&views, 0.5, PER_LOOK_LEVEL) {
            Ok(found) if found.relative_half_width() <= DEFAULT_PRECISION => {
                return Some((found.contains(truth), look));
            }
            _ => {}
        }
    }
    None
}
