//! The keeper's own side. It allocates little and stays single-threaded.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use plumb_machine::Root;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::WaitOptions;

use crate::descendants::{children_of, end_children, kill_trees, remove, wait_any};
use crate::journal::journal::Journal;
use crate::message::{FromKeeper, ToKeeper, receive, send};
use crate::mount_namespaces::HeldMounts;
use crate::signals::{child_signals, drain};
use crate::spawn::{StartedProgram, start};
use crate::spawn_options::SpawnOptions;

/// Serves orders from `socket` until it ends, then cleans up. Settings below `root` are changed, with
/// what they were written down in the folder `journals`. If the process can't be set up as a keeper, plumb gets the
/// error as the answer to its first order.
///
/// # Errors
/// When its signals can't be waited for.
pub fn serve(socket: OwnedFd, root: Root, journals: PathBuf) -> io::Result<()> {
    let signals = match set_up() {
        Ok(signals) => signals,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(Errno::IO.raw_os_error());
            return send(&socket, &FromKeeper::NotServing { errno }, &[]);
        }
    };
    let plumb =
        rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get().cast_unsigned());
    let journal = Journal::new(root, journals, plumb);
    let mut server = KeeperServer {
        socket,
        children: BTreeSet::new(),
        mounts: HeldMounts::default(),
        folders: Vec::new(),
        journal,
    };
    let outcome = server.work(&signals);
    server.end();
    outcome
}

/// Makes this process the parent of what its children leave behind; the descriptor shows that children ended.
fn set_up() -> io::Result<OwnedFd> {
    // What a worker leaves behind comes here and not to init, so that it is found and killed.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let _ = rustix::process::setpgid(None, None);
    let signals = child_signals()?;
    // A filter of system calls may refuse to wait; an order would then get no answer.
    poll(&mut [PollFd::new(&signals, PollFlags::IN)], Some(&Timespec::default()))?;
    // There are no children yet, so this says no more than whether the system lets this process wait for them.
    match rustix::process::wait(WaitOptions::NOHANG) {
        Ok(_) | Err(Errno::CHILD) => Ok(signals),
        Err(refused) => Err(refused.into()),
    }
}

struct KeeperServer {
    socket: OwnedFd,
    /// Processes that plumb ordered; anything else that becomes a child is an orphan.
    children: BTreeSet<u32>,
    /// Those of processes that were killed.
    mounts: HeldMounts,
    folders: Vec<String>,
    journal: Journal,
}

impl KeeperServer {
    fn work(&mut self, signals: &OwnedFd) -> io::Result<()> {
        loop {
            let mut polled =
                [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
            match poll(&mut polled, None) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let order = !polled[0].revents().is_empty();
            let child = !polled[1].revents().is_empty();
            if child {
                // Drained before waiting: a child that ends in between makes the descriptor readable again.
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
            ToKeeper::Hold { preparation } => match self.journal.hold(preparation) {
                Ok(()) => FromKeeper::Holding { left: self.journal.len() },
                Err(unchanged) => FromKeeper::Unchanged(unchanged),
            },
            ToKeeper::Release { name } => {
                self.journal.release(&name);
                FromKeeper::Holding { left: self.journal.len() }
            }
            ToKeeper::Restore { left } => {
                let settled = self.journal.restore(left);
                FromKeeper::Settled { settled, left: self.journal.len() }
            }
            ToKeeper::Kill { pid } => {
                // Needs no answer: the exit is reported in any case.
                kill_trees([pid], &mut self.mounts);
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
        let fds = <[OwnedFd; 3]>::try_from(fds)
            .map_err(|_| io::Error::other("a spawn needs three descriptors"));
        // The child is waited for by `wait_any`, never through its handle.
        match fds.and_then(|fds| start(argv, cwd, options, fds)) {
            Ok(StartedProgram { pid, .. }) => {
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
        // SIGCHLD is not queued: one may stand for several children.
        while let Some(mut exit) = wait_any() {
            if self.children.remove(&exit.pid) {
                exit.orphans = self.kill_orphans();
                let _ = send(&self.socket, &FromKeeper::Exited(exit), &[]);
            }
        }
        self.mounts.release_ended();
    }

    /// Kills what became ours because its parent ended; how many there were.
    fn kill_orphans(&mut self) -> u32 {
        let mut orphans = children_of(std::process::id());
        orphans.retain(|pid| !self.children.contains(pid));
        let killed = u32::try_from(orphans.len()).unwrap_or(u32::MAX);
        if killed > 0 {
            kill_trees(orphans, &mut self.mounts);
        }
        killed
    }

    /// Kills every descendant, restores the machine and removes the folders. What is killed can change
    /// nothing more, and leaves its control group, so that it can be removed.
    fn end(&mut self) {
        end_children(&mut self.children);
        let _ = self.journal.restore(0);
        remove(self.folders.iter().map(Path::new));
    }
}
