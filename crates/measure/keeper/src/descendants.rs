//! Descendants: which there are, waiting for them, and killing them all.
#![expect(unsafe_code, reason = "wait4 has no safe form")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::exit::ProcessExit;
use crate::mount_namespaces::HeldMounts;

/// Does for a keeper that was killed what it can no longer do: its descendants have become those of
/// this process, which has waited for all that it started itself. Nothing is left to do after a
/// keeper that ended by itself.
pub fn stand_in(folders: &[&Path]) {
    end_children(&mut BTreeSet::new());
    remove(folders.iter().copied());
}

/// Kills every descendant; gives up after two seconds.
pub fn end_children(known: &mut BTreeSet<u32>) {
    // SIGKILL does not end a process in uninterruptible sleep (state D) before its I/O returns.
    let deadline = Instant::now() + Duration::from_secs(2);
    let mut mounts = HeldMounts::default();
    loop {
        // Where /proc is not mounted, only those that plumb ordered are known.
        let mut left: BTreeSet<u32> = children_of(std::process::id()).into_iter().collect();
        left.extend(&*known);
        if left.is_empty() || Instant::now() > deadline {
            break;
        }
        // What a killed process had started becomes a child of this one only then, so each turn looks again.
        kill_trees(left, &mut mounts);
        while let Some(exit) = wait_any() {
            known.remove(&exit.pid);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Removes the folders, the last one first.
pub fn remove<'f>(folders: impl DoubleEndedIterator<Item = &'f Path>) {
    for folder in folders.rev() {
        let _ = fs::remove_dir_all(folder);
    }
}

/// Waits for any ended child without blocking.
pub fn wait_any() -> Option<ProcessExit> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers; both pointers are valid for the call.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage);
        (pid, usage)
    };
    let pid = u32::try_from(pid).ok().filter(|&pid| pid > 0)?;
    Some(ProcessExit {
        pid,
        status: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        // The kernel counts in KiB.
        peak_memory_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
        user_ns: nanoseconds(usage.ru_utime),
        system_ns: nanoseconds(usage.ru_stime),
        orphans: 0,
    })
}

/// A time of the kernel in nanoseconds; it is never negative.
fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000
}

/// Kills these processes and all their descendants, parents first so that none can start another unseen. Holds what they
/// have mounted. /proc is read once: to read it for each of thousands of processes would take minutes.
pub fn kill_trees(pids: impl IntoIterator<Item = u32>, mounts: &mut HeldMounts) {
    // Listed before the kill: after it they are the children of a subreaper, and no longer found below their parents.
    let mut children = all_children();
    let mut next: Vec<u32> = pids.into_iter().collect();
    while let Some(pid) = next.pop() {
        mounts.hold(pid);
        if let Some(raw) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(raw, rustix::process::Signal::KILL);
        }
        next.extend(children.remove(&pid).unwrap_or_default());
    }
}

/// The living children of a process; zombies don't count.
pub fn children_of(parent: u32) -> Vec<u32> {
    all_children().remove(&parent).unwrap_or_default()
}

/// The living children of every process, from every /proc/PID/stat; zombies don't count.
fn all_children() -> BTreeMap<u32, Vec<u32>> {
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        if let Some(parent) = parent_if_living(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    children
}

/// The parent of a process that lives, from its stat (proc_pid_stat(5)). If only its first thread has ended, it is a
/// zombie, but lives: it still holds its files and its mount namespace.
fn parent_if_living(stat: &str) -> Option<u32> {
    // The name in field 2 may hold blanks and parentheses: the last one ends it.
    let (_, after_name) = stat.rsplit_once(')')?;
    // The state is field 3, the parent field 4, the number of threads field 20.
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let threads: u32 = fields.get(17)?.parse().ok()?;
    let is_ended = fields[0] == "Z" && threads <= 1;
    if is_ended { None } else { fields[1].parse().ok() }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, id};
    use std::thread::sleep;
    use std::time::Duration;

    use super::{children_of, parent_if_living};

    #[test]
    fn a_process_lives_as_long_as_any_of_its_threads() {
        let first_thread_ends = "import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)";
        let mut python = Command::new("python3").args(["-c", first_thread_ends]).spawn().unwrap();
        let path = format!("/proc/{}/stat", python.id());
        let stat = || std::fs::read_to_string(&path).unwrap();
        while !stat().contains(") Z ") {
            sleep(Duration::from_millis(2));
        }
        assert!(children_of(id()).contains(&python.id()));
        python.kill().unwrap();
        while parent_if_living(&stat()).is_some() {
            sleep(Duration::from_millis(2));
        }
        assert!(stat().contains(") Z "), "nobody has waited for it yet");
        assert!(!children_of(id()).contains(&python.id()));
        python.wait().unwrap();
    }
}
