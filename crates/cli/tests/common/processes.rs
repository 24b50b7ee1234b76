//! Processes, from /proc.

use std::fs;
use std::time::{Duration, Instant};

/// Longer than anything takes that is waited for, on a machine whose disk or CPUs stall.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The living processes that carry the mark in their environment, or whose command line or current
/// directory lies below `root`: programs such as sshd overwrite their environment.
pub fn marked(mark: &str, root: &str) -> Vec<u32> {
    let me = std::process::id();
    let mark = format!("{}={mark}\0", super::MARK);
    let holds = |pid: u32| {
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let link = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let environment = read("environ");
        let line = read("cmdline");
        has(&environment, mark.as_bytes()) || has(&line, root.as_bytes()) || link.starts_with(root)
    };
    all().into_iter().filter(|&pid| pid != me && is_alive(pid) && holds(pid)).collect()
}

/// A process with all its descendants, each with its start time, so that no later one of the same id
/// is meant.
pub fn family(pid: u32) -> Vec<(u32, u64)> {
    let parents: Vec<(u32, u32)> =
        all().into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&at) = found.get(next) {
        found.extend(parents.iter().filter(|(_, parent)| *parent == at).map(|(pid, _)| *pid));
        next += 1;
    }
    found.into_iter().filter_map(|pid| Some((pid, start(pid)?))).collect()
}

/// Whether this very process lives.
pub fn lives((pid, started): (u32, u64)) -> bool {
    start(pid) == Some(started) && is_alive(pid)
}

/// The direct children of a process whose command line has these words.
pub fn children(pid: u32, words: &str) -> Vec<u32> {
    let line = |pid: u32| describe(pid).contains(words);
    all().into_iter().filter(|&child| parent(child) == Some(pid) && line(child)).collect()
}

/// Its id and command line.
pub fn describe(pid: u32) -> String {
    let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid} {}", line.replace('\0', " ").trim_end())
}

/// Asks until the answer comes or the time is over.
pub fn wait_for<T>(limit: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    loop {
        match ask() {
            Some(answer) => return Some(answer),
            None if begun.elapsed() > limit => return None,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Sends a signal by its name, as `kill` does.
///
/// # Errors
/// When `kill` says so.
pub fn signal(name: &str, pid: u32) -> std::io::Result<()> {
    let status =
        std::process::Command::new("kill").args(["-s", name, &pid.to_string()]).status()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other(format!("kill: {status}"))) }
}

fn all() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a process has a thread that has not ended. If only the first one has, the process is a zombie.
fn is_alive(pid: u32) -> bool {
    let threads = stat(pid, 17).and_then(|threads| threads.parse::<u32>().ok());
    stat(pid, 0).is_some_and(|state| state != "X" && (state != "Z" || threads > Some(1)))
}

fn parent(pid: u32) -> Option<u32> {
    stat(pid, 1)?.parse().ok()
}

fn start(pid: u32) -> Option<u64> {
    stat(pid, 19)?.parse().ok()
}

/// A field of /proc/PID/stat, counted from behind the name.
fn stat(pid: u32, field: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_whitespace().nth(field).map(str::to_owned)
}

fn has(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}
