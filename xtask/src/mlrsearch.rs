//! Our search against the reference implementation of RFC 9971 (MLRsearch on PyPI): both search the same simulated
//! systems, which answer the n-th trial of either with the same draw.
//!
//! Who talks to whom: this starts `mlrsearch.py`, writes goals to it, answers the trials that it asks for, and reads
//! what it found.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use plumb_simulate::bars::{Bar, BarSeries, ValidationRow};
use plumb_simulate::limits::{Collapse, System, search};
use plumb_stats::rng::Rng;
use plumb_stats::search::{LoadGoal, Loads, NextTrial};
use serde_json::{Value, json};

/// The range of loads, in operations per second.
const LOADS: Loads = Loads { least: 9001.0, most: 1e7 };
/// Shares of systems on which both must agree.
const AGREE: f64 = 0.99;

/// The reference implementation, running.
struct MlrSearchReference {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// The root of the sources.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Python that has the reference implementation.
///
/// # Errors
/// When it is not installed, with the remedy.
pub fn python() -> Result<PathBuf, String> {
    let python = root().join("target/test-needs/venv/bin/python");
    if python.exists() {
        return Ok(python);
    }
    Err(format!("{} is not there; try: bash scripts/install-test-needs", python.display()))
}

impl MlrSearchReference {
    fn start() -> Result<Self, String> {
        let python = python()?;
        let script = root().join("xtask/src/mlrsearch.py");
        let mut child = Command::new(&python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", python.display()))?;
        let input = child.stdin.take().ok_or("it has no stdin")?;
        let output = child.stdout.take().ok_or("it has no stdout")?;
        Ok(Self { child, input, output: BufReader::new(output) })
    }

    fn say(&mut self, line: &Value) -> Result<(), String> {
        writeln!(self.input, "{line}").map_err(|error| format!("MLRsearch takes no line: {error}"))
    }

    fn hear(&mut self) -> Result<Value, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|error| error.to_string())?;
        serde_json::from_str(&line).map_err(|error| format!("MLRsearch said `{line}`: {error}"))
    }

    /// The conditional throughput that it finds, and how long all of its trials took, in nanoseconds.
    fn search(
        &mut self,
        goal: &LoadGoal,
        system: &mut System,
    ) -> Result<(Option<f64>, u64), String> {
        self.say(&json!({
            "loss_ratio": goal.loss_ratio,
            "exceed_ratio": goal.exceed_ratio,
            "width": goal.width,
            "initial_s": goal.initial_trial_ns as f64 * 1e-9,
            "final_s": goal.final_trial_ns as f64 * 1e-9,
            "sum_s": goal.duration_sum_ns as f64 * 1e-9,
            "least": LOADS.least,
            "most": LOADS.most,
        }))?;
        let mut spent_ns = 0;
        loop {
            let asked = self.hear()?;
            let (Some(load), Some(seconds)) =
                (asked["load"].as_f64(), asked["duration_s"].as_f64())
            else {
                return Ok((asked["throughput"].as_f64(), spent_ns));
            };
            let duration_ns = (seconds * 1e9).round() as u64;
            spent_ns += duration_ns;
            let trial = system.trial(NextTrial { load, duration_ns });
            self.say(&json!({ "offered": trial.offered, "lost": trial.offered - trial.good }))?;
        }
    }
}

impl Drop for MlrSearchReference {
    fn drop(&mut self) {
        // It may have ended by itself.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A goal drawn from a seed: one of those that we offer, with a loss ratio.
fn goal(seed: u64) -> LoadGoal {
    // The system takes the seed itself: its draws must not decide the goal.
    let mut rng = Rng::new(!seed);
    let effort =
        [LoadGoal::QUICK, LoadGoal::CSIT, LoadGoal::RFC2544, LoadGoal::TST009][rng.below(4)];
    let loss_ratio = [0.0, 0.005, 0.01][rng.below(3)];
    LoadGoal { loss_ratio, most_ns: u64::MAX, ..effort }
}

/// Searches so many systems on both sides, a row of the validation for each shape.
///
/// # Errors
/// When MLRsearch is not installed or breaks off.
pub fn compare(systems: u64, report: &mut dyn FnMut(ValidationRow)) -> Result<(), String> {
    let mut reference = MlrSearchReference::start()?;
    for shape in Collapse::ALL {
        let trials = systems.div_ceil(Collapse::ALL.len() as u64);
        let mut hits = 0;
        let mut ours_ns = 0;
        let mut theirs_ns = 0;
        for seed in 0..trials {
            let goal = goal(seed);
            let (ours, spent_ns) = search(goal, LOADS, &mut System::new(shape, seed));
            ours_ns += spent_ns;
            // A fresh system of the same seed, so that both meet the same limit and the same noise.
            let (theirs, spent_ns) = reference.search(&goal, &mut System::new(shape, seed))?;
            theirs_ns += spent_ns;
            hits += u64::from(agree(ours.map(|found| found.throughput), theirs, goal.width));
        }
        report(ValidationRow {
            promise: "the limit of MLRsearch's own implementation, within the width of the goal",
            setting: shape.name().to_owned(),
            bar: Bar::AtLeast(AGREE),
            measured: BarSeries::Share { hits, trials },
            note: format!(
                "{trials} systems; trials last {:.2} times as long",
                ours_ns as f64 / theirs_ns as f64
            ),
        });
    }
    Ok(())
}

fn agree(ours: Option<f64>, theirs: Option<f64>, width: f64) -> bool {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => (ours - theirs).abs() <= width * ours.max(theirs),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::compare;

    #[test]
    fn our_search_finds_what_the_reference_implementation_finds() {
        let mut missed = Vec::new();
        let compared = compare(150, &mut |row| {
            if !row.passes() {
                missed.push(row);
            }
        });
        compared.unwrap();
        assert!(missed.is_empty(), "{missed:#?}");
    }
}
