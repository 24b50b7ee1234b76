//! The keeper's own side. It allocates little and stays single-threaded.
#![expect(unsafe_code, reason = "signals and pre_exec have no safe form")]

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use plumb_machine::Root;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::descendants::{children_of, end_children, kill_tree, remove, wait_any};
use crate::journal::journal::Journal;
use crate::message::{FromKeeper, ToKeeper, receive, send};
use crate::spawn_options::{PADDING, PADDING_LENGTH, SpawnOptions};

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
    let mut server = Server { socket, children: BTreeSet::new(), folders: Vec::new(), journal };
    let outcome = server.work(&signals);
    server.end();
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

struct Server {
    socket: OwnedFd,
    /// Processes that plumb ordered; anything else that becomes a child is an orphan.
    children: BTreeSet<u32>,
    folders: Vec<String>,
    journal: Journal,
}

impl Server {
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
        let Ok(Some((order, descriptors))) = receive::<ToKeeper>(&self.socket) else {
            return false;
        };
        let answer = match order {
            ToKeeper::Spawn { argv, cwd, options } => {
                self.spawn(&argv, cwd.as_deref(), options, descriptors)
            }
            ToKeeper::Change { setting, to } => match self.journal.change(&setting, &to) {
                Ok(change) => FromKeeper::Changed { change, left: self.journal.len() },
                Err(unchanged) => FromKeeper::Unchanged(unchanged),
            },
            ToKeeper::Restore { left } => {
                let settled = self.journal.restore(left);
                FromKeeper::Settled { settled, left: self.journal.len() }
            }
            ToKeeper::Kill { pid } => {
                kill_tree(pid);
                return true;
            }
            ToKeeper::Own { path } => {
                self.folders.push(path);
                FromKeeper::Noted
            }
            ToKeeper::Remove { path } => {
                let _ = fs::remove_dir_all(&path);
                self.folders.retain(|folder| *folder != path);
                FromKeeper::Noted
            }
        };
        send(&self.socket, &answer, &[]).is_ok()
    }

    fn spawn(
        &mut self,
        argv: &[String],
        cwd: Option<&str>,
        options: SpawnOptions,
        fds: Vec<OwnedFd>,
    ) -> FromKeeper {
        match start(argv, cwd, options, fds) {
            Ok(pid) => {
                self.children.insert(pid);
                FromKeeper::Spawned { pid }
            }
            Err(error) => FromKeeper::NotSpawned {
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
                let _ = send(&self.socket, &FromKeeper::Exited(exit), &[]);
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

fn start(
    argv: &[String],
    cwd: Option<&str>,
    options: SpawnOptions,
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
    if let Some(bytes) = options.padding {
        command.env(PADDING, "x".repeat(bytes));
        if options.same_padding {
            command.env(PADDING_LENGTH, bytes.to_string());
        }
    }
    let group = options.group.as_ref().map(|group| entrance(group)).transpose()?;
    let keeper = rustix::process::getpid();
    // SAFETY: the closure calls only async-signal-safe functions and touches no memory of the parent.
    unsafe {
        command.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
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
            options.take_on()
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
