//! Quick checks against healthy machines: false alarms, slow machines that are found, and how many processes it takes.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::health::{FEWEST_HEALTHY_RUNS, HealthState, HealthTest, HealthyCosts};
use plumb_stats::rng::Rng;

/// Promised: no more checks of a healthy machine find it slow.
const FALSE_ALARMS: f64 = 0.01;
/// Promised: so many checks find a machine that is 15 % slow in one result.
const FOUND: f64 = 0.95;
/// Promised: so many checks of a healthy machine decide every result.
const DECIDED: f64 = 0.9;
/// Results of a check.
const SERIES: usize = 20;
/// The standard deviation between runs of healthy machines.
const RUN_SD: f64 = 0.01;
/// The standard deviation between processes of a run.
const PROCESS_SD: f64 = 0.02;
/// Processes of each healthy run.
const PROCESSES: usize = 5;
/// The processes for which two minutes have room, if each takes 1.2 s.
const MOST_PROCESSES: usize = 100;
/// Smallest relative change that matters.
const MARGIN: f64 = 0.05;
/// Degrees of freedom of heavy tails.
const TAIL_DF: u32 = 5;

/// Machines of a kind, and one that is checked.
#[derive(Debug, Clone, Copy)]
struct CheckedKind {
    /// Number of healthy runs.
    runs: usize,
    /// Whether runs and processes have the tails of Student's t with 5 degrees of freedom.
    heavy: bool,
    /// By how much the checked machine is slow in its first result, as a share.
    slow_by: f64,
}

impl CheckedKind {
    fn name(&self) -> String {
        let tails = if self.heavy { ", t of 5" } else { "" };
        let slow = match self.slow_by {
            0.0 => "healthy".to_owned(),
            share => format!("{:.0} % slow in one result", 100.0 * share),
        };
        format!("{SERIES} results, {} healthy runs{tails}; {slow}", self.runs)
    }

    /// A value with a standard deviation of 1.
    fn draw(&self, rng: &mut Rng) -> f64 {
        let normal = rng.normal();
        if !self.heavy {
            return normal;
        }
        let squares: f64 = (0..TAIL_DF).map(|_| rng.normal().powi(2)).sum();
        let df = f64::from(TAIL_DF);
        normal / (squares / df).sqrt() * ((df - 2.0) / df).sqrt()
    }

    /// The log costs of the processes of a run.
    fn run(&self, processes: usize, rng: &mut Rng) -> Vec<f64> {
        let own = RUN_SD * self.draw(rng);
        (0..processes).map(|_| own + PROCESS_SD * self.draw(rng)).collect()
    }

    /// A check: the states of all results, and the processes that they took.
    fn check(&self, rng: &mut Rng) -> (Vec<HealthState>, usize) {
        let mut all: Vec<HealthyCosts> = Vec::new();
        for _ in 0..SERIES {
            let runs: Vec<Vec<f64>> = (0..self.runs).map(|_| self.run(PROCESSES, rng)).collect();
            all.extend(HealthyCosts::learn(&runs));
        }
        HealthyCosts::draw_together(&mut all);
        let mut open: Vec<CheckedResult> = Vec::new();
        for (series, healthy) in all.into_iter().enumerate() {
            open.push(CheckedResult {
                test: HealthTest::new(healthy, MARGIN, SERIES),
                level: if series == 0 { self.slow_by.ln_1p() } else { 0.0 }
                    + RUN_SD * self.draw(rng),
            });
        }
        let mut processes = 0;
        while processes < MOST_PROCESSES && !is_decided(&open) {
            for result in open.iter_mut().filter(|result| result.is_open()) {
                result.test.add(result.level + PROCESS_SD * self.draw(rng));
                processes += 1;
            }
        }
        (open.iter().map(|result| result.test.state()).collect(), processes)
    }
}

/// A result of the checked machine.
struct CheckedResult {
    test: HealthTest,
    /// Its log cost, without the noise of processes.
    level: f64,
}

impl CheckedResult {
    fn is_open(&self) -> bool {
        matches!(self.test.state(), HealthState::Open | HealthState::Suspect)
    }
}

/// Whether a check is over: nothing is open, or something is slow.
fn is_decided(results: &[CheckedResult]) -> bool {
    let is_slow = results.iter().any(|result| result.test.state() == HealthState::Slow);
    is_slow || !results.iter().any(CheckedResult::is_open)
}

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    for heavy in [false, true] {
        for runs in [FEWEST_HEALTHY_RUNS, 8, 20] {
            let healthy = CheckedKind { runs, heavy, slow_by: 0.0 };
            report(share(
                "a quick check of a healthy machine that finds it slow",
                healthy,
                Bar::AtMost(FALSE_ALARMS),
                |states| states.contains(&HealthState::Slow),
                replications,
            ));
        }
        let healthy = CheckedKind { runs: 8, heavy, slow_by: 0.0 };
        report(share(
            "a quick check that decides every result of a healthy machine",
            healthy,
            Bar::AtLeast(DECIDED),
            |states| states.iter().all(|state| *state == HealthState::Healthy),
            replications,
        ));
        let small = Bar::Exempt("near the limit of eight runs");
        for (slow_by, bar) in [(0.15, Bar::AtLeast(FOUND)), (0.08, small)] {
            report(share(
                "a quick check that finds a slow result",
                CheckedKind { slow_by, ..healthy },
                bar,
                |states| states[0] == HealthState::Slow,
                replications,
            ));
        }
    }
}

/// How often the states of a check are `wanted`.
fn share(
    promise: &'static str,
    kind: CheckedKind,
    bar: Bar,
    wanted: fn(&[HealthState]) -> bool,
    replications: u64,
) -> ValidationRow {
    super::bars::decided(replications, replications, |trials| {
        let mut rng = Rng::new(0x6865_616c_7468);
        let mut hits = 0;
        let mut processes = 0;
        for _ in 0..trials {
            let (states, took) = kind.check(&mut rng);
            hits += u64::from(wanted(&states));
            processes += took;
        }
        let each = processes as f64 / (trials.max(1) * SERIES as u64) as f64;
        ValidationRow {
            promise,
            setting: kind.name(),
            bar,
            measured: BarSeries::Share { hits, trials },
            note: format!("{each:.1} processes per result"),
        }
    })
}
