//! Rows of plumb next to a classic tool: what both do a second, and a second of CPU time.

use std::path::Path;
use std::process::{Command, Stdio};

use plumb_units::quantity;
use serde_json::Value;

use crate::BenchResult;
use crate::page::{median, ratio};
use crate::shares::TemporaryFolder;

/// Pairs of each row; the sides take turns in who is first.
const PAIRS: usize = 8;
/// What a side has for its samples.
pub const SECONDS: u64 = 2;

/// The work of one process.
#[derive(Clone, Copy)]
pub struct Done {
    /// Work a second.
    pub rate: f64,
    /// CPU time over wall time.
    pub cpu: f64,
}

/// One side of a row: of plumb's path, in a folder.
pub type Side = fn(&Path, &Path) -> BenchResult<Done>;

/// A comparison: a title, plumb's side, the classic's, and the unit of work.
pub struct PairRow {
    pub title: &'static str,
    pub unit: &'static str,
    pub ours: Side,
    pub classic: Side,
}

/// How rows are measured.
pub fn note() -> String {
    format!(
        "{PAIRS} pairs of {SECONDS} s processes, alternating. CPU time covers user mode and the kernel."
    )
}

/// Measures every row, and writes them as a Markdown table.
pub fn table(rows: &[PairRow], plumb: &Path) -> BenchResult<String> {
    let mut table = "| measurement; classic tool | classic | plumb | ratio, over 1 favours plumb | ratio of work per CPU second |\n\
                     | --- | --: | --: | --- | --- |\n"
        .to_owned();
    for row in rows {
        let line = line(row, plumb)?;
        // Some rows take minutes.
        eprint!("{line}");
        table.push_str(&line);
    }
    Ok(table)
}

fn line(row: &PairRow, plumb: &Path) -> BenchResult<String> {
    let folder = TemporaryFolder::new()?;
    let mut ours = Vec::new();
    let mut classic = Vec::new();
    // Who goes first alternates: a machine that slows down while it measures must not favour one side.
    for pair in 0..PAIRS {
        if pair % 2 == 0 {
            ours.push((row.ours)(plumb, &folder.0)?);
            classic.push((row.classic)(plumb, &folder.0)?);
        } else {
            classic.push((row.classic)(plumb, &folder.0)?);
            ours.push((row.ours)(plumb, &folder.0)?);
        }
    }
    let over = |of: fn(&Done) -> f64| {
        let logs = ours.iter().zip(&classic).map(|(ours, classic)| (of(ours) / of(classic)).ln());
        ratio(&logs.collect::<Vec<_>>())
    };
    Ok(format!(
        "| {} | {} | {} | {} | {} |\n",
        row.title,
        quantity(median_rate(&classic), row.unit),
        quantity(median_rate(&ours), row.unit),
        over(|done| done.rate),
        over(|done| done.rate / done.cpu),
    ))
}

fn median_rate(side: &[Done]) -> f64 {
    median(&side.iter().map(|done| done.rate).collect::<Vec<_>>())
}

/// One invocation of a workload.
pub fn run(plumb: &Path, folder: &Path, words: &str, metric: &str) -> BenchResult<Done> {
    let store = TemporaryFolder::named("store")?;
    let output = Command::new(plumb)
        .arg("run")
        .args(words.split_whitespace())
        .args(["--max-invocations", "1", "--min-invocations", "1", "--invocation-time"])
        .arg(format!("{SECONDS}s"))
        .args(["--no-lock", "--quiet", "--json", "--prepare", "none", "--dir"])
        .arg(folder)
        .arg("--store")
        .arg(store.0.join("store.db"))
        .stderr(Stdio::inherit())
        .output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let results = document["results"].as_array().ok_or("no results")?;
    let found = results.iter().find(|result| result["metric"] == metric).ok_or("no such metric")?;
    let cpu = figure(&found["cpu"]["user"])? + figure(&found["cpu"]["system"])?;
    Ok(Done { rate: figure(&found["estimate"])?, cpu })
}

fn figure(value: &Value) -> BenchResult<f64> {
    Ok(value.as_f64().ok_or("a figure is missing")?)
}
