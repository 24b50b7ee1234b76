//! `plumb exec /bin/true` against `hyperfine -N /bin/true`, in blocks of equal length.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::Outcome;
use crate::page::{median, ratio};
use crate::shares::Folder;

/// Pairs of blocks; a coin decides which comes first.
const PAIRS: usize = 20;
/// Runs in a block.
const RUNS: usize = 100;

/// Runs the blocks.
pub fn bench(plumb: &Path) -> Outcome<String> {
    let folder = Folder::new()?;
    let mut coin = plumb_stats::rng::Rng::new(1);
    let (mut ours, mut theirs, mut logs, mut took) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let first = coin.coin();
        let before = if first { Some(hyperfine(&folder)?) } else { None };
        let start = Instant::now();
        let our = exec(plumb, &folder)?;
        took.push(start.elapsed().as_secs_f64());
        let their = before.map_or_else(|| hyperfine(&folder), Ok)?;
        logs.push((our / their).ln());
        ours.push(our);
        theirs.push(their);
    }
    Ok(format!(
        "{PAIRS} pairs of blocks of {RUNS} runs of `/bin/true`, a coin deciding the order: medians **{:.1} µs** (`plumb exec -n {RUNS}`) \
         and {:.1} µs (`hyperfine -N -w 5 -r {RUNS}`); plumb reads **{} times** hyperfine. A block of plumb takes {:.2} s in all, \
         stored and reported.\n",
        median(&ours) * 1e6,
        median(&theirs) * 1e6,
        ratio(&logs),
        median(&took),
    ))
}

fn exec(plumb: &Path, folder: &Folder) -> Outcome<f64> {
    let output = Command::new(plumb)
        .args([
            "exec",
            "/bin/true",
            "--no-lock",
            "--quiet",
            "--json",
            "-n",
            &RUNS.to_string(),
            "--store",
        ])
        .arg(folder.0.join("store.db"))
        .stderr(Stdio::inherit())
        .output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let results = document["results"].as_array().ok_or("no results")?;
    let wall = results.iter().find(|result| result["metric"] == "wall").ok_or("no wall time")?;
    wall["estimate"].as_f64().ok_or_else(|| "no estimate".into())
}

fn hyperfine(folder: &Folder) -> Outcome<f64> {
    let file = folder.0.join("hyperfine.json");
    let status = Command::new("hyperfine")
        .args(["-N", "-w", "5", "-r", &RUNS.to_string(), "--style", "none", "--export-json"])
        .arg(&file)
        .arg("/bin/true")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    if !status.success() {
        return Err("hyperfine failed".into());
    }
    let document: Value = serde_json::from_slice(&fs::read(&file)?)?;
    document["results"][0]["median"].as_f64().ok_or_else(|| "no median".into())
}
