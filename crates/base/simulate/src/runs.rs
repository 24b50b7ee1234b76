//! Two stored runs of one program: how often they are called different.

use super::bars::{Bar, BarSeries, ValidationRow};
use plumb_stats::describe::median_of;
use plumb_stats::precision::CONFIDENCE;
use plumb_stats::rng::Rng;
use plumb_stats::stored_runs::{FEWEST_RUNS, compare_runs};

/// Processes of a run, and the standard deviation of their log costs.
const PROCESSES: usize = 10;
const PROCESS_SD: f64 = 0.01;
/// Runs cost little to simulate: so many times more of them.
const RUNS_CHEAPER: u64 = 5;

/// Runs the bars of this file.
pub fn run(replications: u64, report: &mut dyn FnMut(ValidationRow)) {
    let trials = RUNS_CHEAPER * replications;
    for run_sd in [0.0, 0.005, 0.01, 0.02] {
        for earlier in [0, FEWEST_RUNS, 10] {
            report(same_program(run_sd, earlier, trials));
        }
    }
}

fn same_program(run_sd: f64, earlier: usize, trials: u64) -> ValidationRow {
    let mut hits = 0;
    for seed in 0..trials {
        let mut rng = Rng::new(seed);
        let a = measure(run_sd, &mut rng);
        let b = measure(run_sd, &mut rng);
        let runs: Vec<f64> = (0..earlier).map(|_| median_of(&measure(run_sd, &mut rng))).collect();
        let found = compare_runs(&a, &b, &runs, CONFIDENCE);
        hits += u64::from(found.is_ok_and(|found| !found.interval.contains(0.0)));
    }
    let bar = match earlier {
        0 => Bar::Exempt("uncalibrated, so no verdict"),
        _ => Bar::AtMost(0.06),
    };
    ValidationRow {
        promise: "two stored runs of a program called different",
        setting: format!("runs differ by {} %, {earlier} earlier ones", 100.0 * run_sd),
        bar,
        measured: BarSeries::Share { hits, trials },
        note: String::new(),
    }
}

/// The log costs of the processes of a run.
fn measure(run_sd: f64, rng: &mut Rng) -> Vec<f64> {
    let level = run_sd * rng.normal();
    (0..PROCESSES).map(|_| level + PROCESS_SD * rng.normal()).collect()
}
