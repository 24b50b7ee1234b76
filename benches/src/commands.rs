//! `plumb exec /bin/true` against `hyperfine -N /bin/true` and against the barest loop in C, in blocks of
//! equal length.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use crate::BenchResult;
use crate::page::{median, ratio};
use crate::shares::TemporaryFolder;

/// Blocks of each; a shuffle decides the order within a round.
const ROUNDS: usize = 20;
/// Runs in a block.
const RUNS: usize = 100;

/// What is compared, and what the medians of its blocks were.
struct BenchSides {
    plumb: Vec<f64>,
    hyperfine: Vec<f64>,
    bare: Vec<f64>,
    /// How long a block of plumb took in all.
    took: Vec<f64>,
}

/// Runs the blocks.
pub fn bench(plumb: &Path) -> BenchResult<String> {
    let folder = TemporaryFolder::new()?;
    let bare = compile(&folder)?;
    let mut coins = plumb_stats::rng::Rng::new(1);
    let mut sides =
        BenchSides { plumb: Vec::new(), hyperfine: Vec::new(), bare: Vec::new(), took: Vec::new() };
    for _ in 0..ROUNDS {
        let mut order = [0, 1, 2];
        // Whatever drifts while the bench runs must not favour one side.
        coins.shuffle(&mut order);
        for side in order {
            match side {
                0 => {
                    let start = Instant::now();
                    sides.plumb.push(exec(plumb, &folder)?);
                    sides.took.push(start.elapsed().as_secs_f64());
                }
                1 => sides.hyperfine.push(hyperfine(&folder)?),
                _ => sides.bare.push(loop_in_c(&bare)?),
            }
        }
    }
    Ok(sides.paragraph())
}

impl BenchSides {
    fn paragraph(&self) -> String {
        format!(
            "{ROUNDS} blocks of {RUNS} runs of `/bin/true` each, in random order, medians: **{}** (`plumb exec -n {RUNS}`), {} \
             (`hyperfine -N -w 5 -r {RUNS}`), {} (posix_spawn and wait4 in C, `benches/src/bare.c`). Ratios: plumb **{}** to the \
             loop in C and {} to hyperfine, hyperfine {} to the loop. A plumb block takes {:.2} s, including storing and reporting.\n",
            median_in_us(&self.plumb),
            median_in_us(&self.hyperfine),
            median_in_us(&self.bare),
            ratio_of(&self.plumb, &self.bare),
            ratio_of(&self.plumb, &self.hyperfine),
            ratio_of(&self.hyperfine, &self.bare),
            median(&self.took),
        )
    }
}

/// The median of times in seconds, as text.
fn median_in_us(times: &[f64]) -> String {
    format!("{:.1} µs", median(times) * 1e6)
}

/// The ratio of paired times, with its interval.
fn ratio_of(one: &[f64], other: &[f64]) -> String {
    ratio(&one.iter().zip(other).map(|(one, other)| (one / other).ln()).collect::<Vec<_>>())
}

fn compile(folder: &TemporaryFolder) -> BenchResult<PathBuf> {
    let source = folder.0.join("bare.c");
    let program = folder.0.join("bare");
    fs::write(&source, include_str!("bare.c"))?;
    let status = Command::new("cc").arg("-O2").arg("-o").args([&program, &source]).status()?;
    if status.success() { Ok(program) } else { Err("cc could not compile bare.c".into()) }
}

fn loop_in_c(program: &Path) -> BenchResult<f64> {
    let output = Command::new(program).arg(RUNS.to_string()).stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("the bare loop failed".into());
    }
    let text = String::from_utf8(output.stdout)?;
    let times: Vec<f64> = text.lines().map(str::parse).collect::<Result<_, _>>()?;
    Ok(median(&times) * 1e-9)
}

fn exec(plumb: &Path, folder: &TemporaryFolder) -> BenchResult<f64> {
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

fn hyperfine(folder: &TemporaryFolder) -> BenchResult<f64> {
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
