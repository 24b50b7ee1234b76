//! Family trees of processes, from /proc.
#![expect(unsafe_code, reason = "what runs between fork and exec must be vouched for")]

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use plumb_protocol::Failure;
use rustix::fs::fchown;
use rustix::process::{
    Gid, Pid, Signal, Uid, fchdir, geteuid, kill_process, set_parent_process_death_signal,
};

use crate::users;

/// The parent of a process; None when it is gone.
fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything; the parent is the second field behind it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// `pid` and its ancestors, up to but without `top`; empty when `top` is none of them.
#[must_use]
pub fn line_up_to(pid: u32, top: u32) -> Vec<u32> {
    let mut line = vec![pid];
    let mut at = pid;
    while let Some(next) = parent(at) {
        match next {
            0 | 1 => return Vec::new(),
            next if next == top => return line,
            next => line.push(next),
        }
        at = next;
    }
    Vec::new()
}

/// All descendants of a process, parents before children.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    let everyone: Vec<u32> = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    let parents: Vec<(u32, u32)> =
        everyone.into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&at) = found.get(next) {
        found.extend(parents.iter().filter(|(_, parent)| *parent == at).map(|(pid, _)| *pid));
        next += 1;
    }
    found.split_off(1)
}

/// Time that the first thread of a process was on a CPU, in nanoseconds; 0 when it is gone.
#[must_use]
pub fn cpu_ns(pid: u32) -> u64 {
    let schedstat = fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap_or_default();
    schedstat.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0)
}

/// Resident memory of a process in bytes, in which a page that several processes share counts in parts (`Pss` of
/// proc_pid_smaps(5)). None if the kernel does not report it.
#[must_use]
pub fn proportional_memory(pid: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// Whether the first thread of a process waits for something, or the process has ended.
#[must_use]
pub fn sleeps(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The name of the program, in brackets, may contain spaces.
    stat.rsplit_once(") ").is_none_or(|(_, fields)| !fields.starts_with('R'))
}

/// Resident memory of a process at its highest, in bytes, by its id or `self`; 0 if it is gone.
#[must_use]
pub fn peak_memory(process: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse().ok());
    kibibytes.map_or(0, |kibibytes: u64| kibibytes << 10)
}

/// Ends a child with everything that it started, and waits for the child.
pub fn kill_tree(child: &mut Child) {
    // Listed before: they have another parent afterwards. The child goes first, so that it cannot replace those that end.
    let others = descendants(child.id());
    // Both fail only if it has ended already.
    child.kill().ok();
    for pid in others {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        // The process was a descendant of our child a moment ago; it may have ended since.
        let _ = pid.map(|pid| kill_process(pid, Signal::KILL));
    }
    child.wait().ok();
}

/// Has the kernel end the program when the thread that starts it ends.
pub fn die_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only prctl is called, which is async-signal-safe.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

/// The numbers of the user `nobody` and its group, if this process is root's: who servers run as.
#[must_use]
pub fn unprivileged() -> Option<(u32, u32)> {
    if geteuid().is_root() { users::ids("nobody") } else { None }
}

/// Has the program run in this folder, and if this process is root's, as the user `nobody`, to whom the folder then belongs.
/// Folders above it need not be open to that user.
///
/// # Errors
/// If the folder can't be given away.
pub fn without_privileges(command: &mut Command, folder: File) -> Result<(), Failure> {
    let nobody = unprivileged();
    if let Some((user, group)) = nobody {
        fchown(&folder, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)))
            .map_err(|error| Failure::io("giving a folder to nobody", &error.into()))?;
    }
    // SAFETY: between fork and exec only system calls are made; the calls of libc only wrap theirs in a process of one
    // thread.
    unsafe {
        command.pre_exec(move || {
            fchdir(&folder)?;
            let Some((user, group)) = nobody else { return Ok(()) };
            let is_nobody = libc::setgroups(0, std::ptr::null()) == 0
                && libc::setgid(group) == 0
                && libc::setuid(user) == 0;
            if is_nobody { Ok(()) } else { Err(io::Error::last_os_error()) }
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{
        descendants, kill_tree, line_up_to, peak_memory, proportional_memory, without_privileges,
    };
    use std::fs::File;
    use std::process::{Command, id};

    #[test]
    fn a_program_without_privileges_owns_its_folder_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "touch made && id -u && ! touch /etc/plumb-test 2>&1"]);
        without_privileges(&mut command, File::open(folder.path()).unwrap()).unwrap();
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(folder.path().join("made").exists());
        let user = String::from_utf8_lossy(&output.stdout);
        assert_ne!(user.lines().next(), Some("0"), "{output:?}");
    }

    #[test]
    fn memory_is_that_of_a_process() {
        assert!(peak_memory("self") > 1 << 20);
        assert_eq!(peak_memory("0"), 0);
        assert!(proportional_memory(id()).unwrap() <= peak_memory("self"));
        assert_eq!(proportional_memory(0), None);
    }

    #[test]
    fn children_are_found_and_ended() {
        let mut child = Command::new("sh").args(["-c", "sleep 100 & wait"]).spawn().unwrap();
        let grandchildren = loop {
            let found = descendants(child.id());
            if !found.is_empty() {
                break found;
            }
            std::thread::yield_now();
        };
        assert_eq!(line_up_to(grandchildren[0], id()), [grandchildren[0], child.id()]);
        assert_eq!(line_up_to(grandchildren[0], child.id()), grandchildren);
        assert!(line_up_to(child.id(), u32::MAX).is_empty());
        kill_tree(&mut child);
        // Its new parent has it for a moment.
        while line_up_to(grandchildren[0], 1) != Vec::<u32>::new() {
            std::thread::yield_now();
        }
    }
}
