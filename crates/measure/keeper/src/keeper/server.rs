//! The keeper's own side. It allocates little and stays single-threaded.
#![expect(unsafe_code, reason = "signalfd, wait4 and pre_exec have no safe form")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::message::{Answer, Exit, Order, receive, send};
use crate::journal::Journal;
use crate::preparation::{Manner, PADDING, PADDING_LENGTH};
use plumb_machine::Root;

/// Signals that a terminal or a service manager sends to a whole group: the keeper outlives plumb by
/// the time it takes to clean up, so it ignores them and goes by the socket alone.
const IGNORED: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// Serves orders from `socket` until it ends, then cleans up. Settings below `root` are changed, with
/// what they were written down in the folder `journals`.
///
/// # Errors
/// When the process could not be set up as a keeper.
pub fn serve(socket: OwnedFd, root: Root, journals: PathBuf) -> io::Result<()> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let _ = rustix::process::setpgid(None, None);
    let signals = child_signals()?;
    let plumb =
        rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
    let journal = Journal::new(root, journals, plumb);
    let mut kept = Kept { socket, children: BTreeSet::new(), folders: Vec::new(), journal };
    let outcome = kept.work(&signals);
    kept.end();
    outcome
}

/// A descriptor that becomes readable when a child ends; the terminal's signals are ignored.
fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set lives for all calls; ignoring signals touches no memory; signalfd returns a new
    // descriptor that nobody else owns, or -1.
    unsafe {
        for signal in IGNORED {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

struct Kept {
    socket: OwnedFd,
    /// Processes that plumb ordered; anything else that becomes a child is an orphan.
    children: BTreeSet<u32>,
    folders: Vec<String>,
    journal: Journal,
}

impl Kept {
    fn work(&mut self, signals: &OwnedFd) -> io::Result<()> {
        loop {
            let mut polled =
                [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
            match poll(&mut polled, None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let (order, child) = (!polled[0].revents().is_empty(), !polled[1].revents().is_empty());
            if child {
                drain(signals);
                self.reap();
            }
            if order && !self.obey() {
                return Ok(());
            }
        }
    }

    /// Carries one order out; false at the end of the socket.
    fn obey(&mut self) -> bool {
        let Ok(Some((order, descriptors))) = receive::<Order>(&self.socket) else { return false };
        let answer = match order {
            Order::Spawn { argv, cwd, manner } => {
                self.spawn(&argv, cwd.as_deref(), manner, descriptors)
            }
            Order::Change { setting, to } => match self.journal.change(&setting, &to) {
                Ok(change) => Answer::Changed { change, left: self.journal.len() },
                Err(unchanged) => Answer::Unchanged(unchanged),
            },
            Order::Restore { left } => {
                let settled = self.journal.restore(left);
                Answer::Settled { settled, left: self.journal.len() }
            }
            Order::Kill { pid } => {
                kill_tree(pid);
                return true;
            }
            Order::Own { path } => {
                self.folders.push(path);
                Answer::Noted
            }
            Order::Remove { path } => {
                let _ = fs::remove_dir_all(&path);
                self.folders.retain(|folder| *folder != path);
                Answer::Noted
            }
        };
        send(&self.socket, &answer, &[]).is_ok()
    }

    fn spawn(
        &mut self,
        argv: &[String],
        cwd: Option<&str>,
        manner: Manner,
        fds: Vec<OwnedFd>,
    ) -> Answer {
        match start(argv, cwd, manner, fds) {
            Ok(pid) => {
                self.children.insert(pid);
                Answer::Spawned { pid }
            }
            Err(error) => Answer::NotSpawned {
                missing: error.kind() == io::ErrorKind::NotFound,
                why: error.to_string(),
            },
        }
    }

    /// Waits for every child that has ended and tells plumb of those that it ordered.
    fn reap(&mut self) {
        while let Some(mut exit) = wait_any() {
            if self.children.remove(&exit.pid) {
                exit.orphans = self.kill_orphans();
                let _ = send(&self.socket, &Answer::Exited(exit), &[]);
            }
        }
    }

    /// Kills what became ours because its parent ended; how many there were.
    fn kill_orphans(&self) -> u32 {
        let orphans = children_of(std::process::id());
        let orphans: Vec<u32> =
            orphans.into_iter().filter(|pid| !self.children.contains(pid)).collect();
        orphans.iter().for_each(|&pid| kill_tree(pid));
        u32::try_from(orphans.len()).unwrap_or(u32::MAX)
    }

    /// Restores the machine, kills every descendant and removes the folders.
    fn end(&mut self) {
        let _ = self.journal.restore(0);
        end_children(&mut self.children);
        // A control group can be removed once nobody is in it.
        let _ = self.journal.restore(0);
        remove(self.folders.iter().map(Path::new));
    }
}

/// Does for a keeper that was killed what it can no longer do: its descendants have become those of
/// this process, which has waited for all that it started itself. Nothing is left to do after a
/// keeper that ended by itself.
pub fn stand_in(folders: &[&Path]) {
    end_children(&mut BTreeSet::new());
    remove(folders.iter().copied());
}

/// Kills every descendant; gives up after two seconds.
fn end_children(known: &mut BTreeSet<u32>) {
    let deadline = Instant::now() + Duration::from_secs(2);
    loop {
        // Where /proc is not mounted, only those that plumb ordered are known.
        let mut left: BTreeSet<u32> = children_of(std::process::id()).into_iter().collect();
        left.extend(&*known);
        if left.is_empty() || Instant::now() > deadline {
            break;
        }
        left.into_iter().for_each(kill_tree);
        while let Some(exit) = wait_any() {
            known.remove(&exit.pid);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Removes the folders, the last one first.
fn remove<'f>(folders: impl DoubleEndedIterator<Item = &'f Path>) {
    for folder in folders.rev() {
        let _ = fs::remove_dir_all(folder);
    }
}

fn start(
    argv: &[String],
    cwd: Option<&str>,
    manner: Manner,
    descriptors: Vec<OwnedFd>,
) -> io::Result<u32> {
    let [stdin, stdout, stderr] = <[OwnedFd; 3]>::try_from(descriptors)
        .map_err(|_| io::Error::other("a spawn needs three descriptors"))?;
    let (program, arguments) =
        argv.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout));
    command.stderr(Stdio::from(stderr)).process_group(0);
    if let Some(cwd) = cwd {
        command.current_dir(cwd);
    }
    if let Some(bytes) = manner.padding {
        command.env(PADDING, "x".repeat(bytes));
        if manner.same_padding {
            command.env(PADDING_LENGTH, bytes.to_string());
        }
    }
    let group = manner.group.as_ref().map(|group| entrance(group)).transpose()?;
    let keeper = rustix::process::getpid();
    // SAFETY: the closure calls only async-signal-safe functions and touches no memory of the parent.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            if rustix::process::getppid() != Some(keeper) {
                return Err(io::Error::other("the keeper is gone"));
            }
            for signal in IGNORED {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            if let Some(group) = &group {
                // "0" stands for whoever writes it.
                rustix::io::write(group, b"0")?;
            }
            manner.take_on()
        });
    }
    // The child is waited for by `wait_any`, never through this handle.
    Ok(command.spawn()?.id())
}

/// The file of a control group that takes new members.
fn entrance(group: &str) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).open(Path::new(group).join("cgroup.procs"))
}

fn drain(signals: &OwnedFd) {
    let mut buffer = [0_u8; 1024];
    while matches!(rustix::io::read(signals.as_fd(), &mut buffer), Ok(n) if n > 0) {}
}

/// Waits for any ended child without blocking.
fn wait_any() -> Option<Exit> {
    let mut status = 0;
    // SAFETY: rusage is plain numbers; both pointers are valid for the call.
    let (pid, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let pid = libc::wait4(-1, &raw mut status, libc::WNOHANG, &raw mut usage);
        (pid, usage)
    };
    let pid = u32::try_from(pid).ok().filter(|&pid| pid > 0)?;
    let nanos = |t: libc::timeval| {
        t.tv_sec.unsigned_abs() * 1_000_000_000 + t.tv_usec.unsigned_abs() * 1_000
    };
    Some(Exit {
        pid,
        status: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
        signal: libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status)),
        peak_memory_bytes: usage.ru_maxrss.unsigned_abs() * 1024,
        user_ns: nanos(usage.ru_utime),
        system_ns: nanos(usage.ru_stime),
        orphans: 0,
    })
}

/// Kills a process and all its descendants, parents first so that none can start another unseen.
fn kill_tree(pid: u32) {
    let children = children_of(pid);
    if let Some(raw) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process(raw, rustix::process::Signal::KILL);
    }
    children.into_iter().for_each(kill_tree);
}

/// The living children of a process, from field 4 of every /proc/PID/stat; zombies don't count.
fn children_of(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let mut fields = after_name.split_whitespace();
        let state = fields.next();
        state != Some("Z") && fields.next().and_then(|p| p.parse().ok()) == Some(parent)
    })
    .collect()
}
