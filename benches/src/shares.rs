//! CPU time of the engine and of the keeper while a worker measures.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::BenchResult;

/// Clock ticks a second in /proc.
const TICKS: f64 = 100.0;

/// Reads the CPU time of both processes while a run of twenty seconds goes on.
pub fn bench(plumb: &Path) -> BenchResult<String> {
    let folder = TemporaryFolder::new()?;
    let mut child = Command::new(plumb)
        .args(["run", "cpu.sieve", "--min-time", "20s", "--no-lock", "--quiet", "--store"])
        .arg(folder.0.join("store.db"))
        .current_dir(&folder.0)
        .stdout(Stdio::null())
        .spawn()?;
    // Starting up takes CPU time that is not part of what a measurement costs.
    std::thread::sleep(Duration::from_secs(2));
    let engine = child.id();
    let keeper = keeper_of(engine).ok_or("the keeper was not found in /proc")?;
    let before = (ticks(engine), ticks(keeper));
    let at = Instant::now();
    std::thread::sleep(Duration::from_secs(15));
    let after = (ticks(engine), ticks(keeper));
    let seconds = at.elapsed().as_secs_f64();
    child.wait()?;
    let engine_percent = (after.0 - before.0) / TICKS / seconds * 100.0;
    let keeper_percent = (after.1 - before.1) / TICKS / seconds * 100.0;
    Ok(format!(
        "A {seconds:.0} s run of `cpu.sieve`, progress off: the engine used **{:.2} %** of one CPU, the keeper **{:.2} %** \
         (resolution {:.2} %).\n",
        engine_percent,
        keeper_percent,
        100.0 / TICKS / seconds,
    ))
}

fn stat(pid: u32) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    rest.split_whitespace().map(str::to_owned).collect()
}

/// User and system time: fields 14 and 15.
fn ticks(pid: u32) -> f64 {
    stat(pid).iter().skip(11).take(2).filter_map(|t| t.parse::<f64>().ok()).sum()
}

fn keeper_of(parent: u32) -> Option<u32> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| stat(*pid).get(1).and_then(|p| p.parse().ok()) == Some(parent))
}

/// A folder that is removed at the end.
pub struct TemporaryFolder(pub std::path::PathBuf);

impl TemporaryFolder {
    /// A fresh folder among the temporary files.
    pub fn new() -> BenchResult<Self> {
        Self::in_folder(&std::env::temp_dir(), "")
    }

    /// Another fresh folder, with this word in its name.
    pub fn named(name: &str) -> BenchResult<Self> {
        Self::in_folder(&std::env::temp_dir(), name)
    }

    /// A place in this folder, which exists already.
    pub fn at(folder: &Path) -> BenchResult<Self> {
        Self::in_folder(folder, "")
    }

    fn in_folder(folder: &Path, name: &str) -> BenchResult<Self> {
        let path = folder.join(format!("plumb-benches-{}{name}", std::process::id()));
        fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
