//! Promises for media after `kill -9` at any moment, tried once: shared by the test and the soak.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::TestEnvironment;
use super::knobs::{Victim, kill};
use super::processes::{PATIENCE, children, wait_for};

/// What is built of all that takes no special program.
const MEDIA: [&str; 4] =
    ["ram:64MiB+ext4", "loop:64MiB+ext2", "ram:64MiB+ext4+fscrypt", "loop:200MiB+ext4+loop+ext4"];

/// When who is killed, and on what.
#[derive(Debug, Clone, Copy)]
pub struct MediaKill {
    /// The process that is killed.
    pub victim: Victim,
    /// The medium that stands.
    pub medium: &'static str,
    /// So long after the first worker was there.
    pub delay: Duration,
}

impl MediaKill {
    /// A moment for each number: every victim on every medium, in steps that fit no phase of a run.
    pub fn of(number: u64) -> Self {
        let victim = [Victim::Plumb, Victim::Keeper, Victim::Both][(number % 3) as usize];
        let scattered = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let medium = MEDIA[(number % MEDIA.len() as u64) as usize];
        Self { victim, medium, delay: Duration::from_micros(scattered % 700_000) }
    }
}

/// Mounts, loop devices, processes and files of a place that are there.
pub fn traces(place: &TestEnvironment) -> Vec<String> {
    let mut all = loops(&place.root().display().to_string());
    all.extend(place.leftovers());
    all
}

/// Kills a run on a medium; how long it took until nothing of it was left. None when it had ended before.
///
/// # Errors
/// What was left.
pub fn kill_on_medium(place: &TestEnvironment, at: MediaKill) -> Result<Option<Duration>, String> {
    let run = "run storage.files:files=64 --min-time 60s --no-lock -q --dir ../work";
    let mut plumb = place.marked(&format!("{run} --set medium={}", at.medium));
    let mut plumb = plumb.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(said)?;
    let keeper = wait_for(PATIENCE, || children(plumb.id(), "keeper").first().copied());
    let keeper = keeper.ok_or("it has no keeper")?;
    let mut works = || {
        let ended = !matches!(plumb.try_wait(), Ok(None));
        (ended || !children(keeper, "worker").is_empty()).then_some(())
    };
    wait_for(PATIENCE, &mut works).ok_or("nothing is measured")?;
    std::thread::sleep(at.delay);
    if !matches!(plumb.try_wait(), Ok(None)) {
        return Ok(None);
    }
    kill(at.victim, &mut plumb, keeper).map_err(said)?;
    let killed = Instant::now();
    plumb.wait().map_err(said)?;
    // With both killed nobody is left to remove the folders, which hold nothing.
    let is_empty_folder = |trace: &String| {
        let path = trace.strip_prefix("file ").unwrap_or_default();
        at.victim == Victim::Both && holds_nothing(path.as_ref())
    };
    let own = format!("plumb-{}-", plumb.id());
    let left = || {
        let mut all = traces(place);
        all.extend(loops(&own));
        all.retain(|trace| !is_empty_folder(trace));
        all
    };
    let gone = wait_for(PATIENCE, || left().is_empty().then(|| killed.elapsed()));
    gone.map(Some).ok_or_else(|| format!("after {} s: {}", PATIENCE.as_secs(), left().join(", ")))
}

/// Whether a folder has nothing in it but folders that have nothing in them.
fn holds_nothing(folder: &Path) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().all(|entry| holds_nothing(&entry.path()))
}

/// Loop devices over files whose path has this in it.
fn loops(part: &str) -> Vec<String> {
    let blocks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let loops = blocks.filter_map(|block| {
        let file = fs::read_to_string(block.path().join("loop/backing_file")).ok()?;
        file.contains(part).then(|| format!("loop {}", file.trim()))
    });
    loops.collect()
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}
