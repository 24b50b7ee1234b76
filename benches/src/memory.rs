//! Peak memory of a small command after a big one, and when plumb itself has a big parent.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::BenchResult;
use crate::shares::TemporaryFolder;

/// Takes 300 MiB and ends.
const BIG: &str = "python3 -c 'bytearray(300 << 20)'";
/// Takes about 10 MiB and ends.
const SMALL: &str = "python3 -c pass";

/// Measures the small command alone, after the big one, and under a big parent.
pub fn bench(plumb: &Path) -> BenchResult<String> {
    let folder = TemporaryFolder::new()?;
    let alone = peak(&mut plumb_exec(plumb, &folder, &[SMALL]))?;
    let after = peak(&mut plumb_exec(plumb, &folder, &[BIG, SMALL]))?;
    let mut parent = Command::new("python3");
    parent.args(["-c", "import subprocess, sys\nheld = bytearray(300 << 20)\nsys.exit(subprocess.call(sys.argv[1:]))"]);
    parent.arg(plumb).args(arguments(&folder, &[SMALL]));
    let under = peak(&mut parent)?;
    Ok(format!(
        "`{SMALL}` peaks at **{alone:.1} MiB** alone, **{after:.1} MiB** interleaved with `{BIG}`, and **{under:.1} MiB** if the \
         process that started plumb holds 300 MiB.{}\n",
        hyperfine(&folder)?,
    ))
}

fn arguments(folder: &TemporaryFolder, commands: &[&str]) -> Vec<String> {
    let mut all: Vec<String> =
        ["exec", "--no-lock", "--quiet", "--json", "-n", "5", "--store"].map(str::to_owned).into();
    all.push(folder.0.join("store.db").to_string_lossy().into_owned());
    all.extend(commands.iter().map(|command| (*command).to_owned()));
    all
}

fn plumb_exec(plumb: &Path, folder: &TemporaryFolder, commands: &[&str]) -> Command {
    let mut command = Command::new(plumb);
    command.args(arguments(folder, commands));
    command
}

/// Median peak memory of the last command, in MiB.
fn peak(command: &mut Command) -> BenchResult<f64> {
    let output = command.stderr(Stdio::inherit()).output()?;
    let document: Value = serde_json::from_slice(&output.stdout)?;
    let results = document["results"].as_array().ok_or("no results")?;
    let last = results.iter().rfind(|r| r["metric"] == "peak_memory").ok_or("no peak memory")?;
    Ok(last["estimate"].as_f64().ok_or("no estimate")? / f64::from(1 << 20))
}

/// What hyperfine reads for the small command after the big one, if its version reports it.
fn hyperfine(folder: &TemporaryFolder) -> BenchResult<String> {
    let file = folder.0.join("memory.json");
    Command::new("hyperfine")
        .args(["-N", "-r", "5", "--style", "none", "--export-json"])
        .arg(&file)
        .args([BIG, SMALL])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let document: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let bytes = document["results"][1]["memory_usage_byte"][0].as_f64();
    Ok(match bytes {
        Some(bytes) => {
            let mib = bytes / f64::from(1 << 20);
            format!(" hyperfine reports {mib:.1} MiB for it after the big one.")
        }
        None => " The installed hyperfine is older than 1.20 and reports no memory.".into(),
    })
}
