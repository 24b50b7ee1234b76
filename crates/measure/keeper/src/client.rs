//! plumb's side: orders to the keeper.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::exit::ProcessExit;
use crate::journal::settled::{ChangeMade, Settled};
use crate::message::{FromKeeper, ToKeeper, receive, send};
use crate::plugin::PluginPreparation;
use crate::setting::SystemSetting;
use crate::spawn_options::SpawnOptions;
use crate::unchanged::Unchanged;

/// The keeper of this run; when it is dropped, everything that it started is killed.
#[derive(Debug)]
pub struct Keeper {
    socket: Option<OwnedFd>,
    process: Child,
    exits: VecDeque<ProcessExit>,
    changes: usize,
}

/// plumb's ends of the pipes of a started program.
#[derive(Debug)]
pub struct ProgramPipes {
    /// Process id of the program.
    pub pid: u32,
    /// Writes to its stdin.
    pub stdin: OwnedFd,
    /// Reads its stdout.
    pub stdout: OwnedFd,
    /// Reads its stderr.
    pub stderr: OwnedFd,
}

/// Errors of the keeper.
#[derive(Debug)]
pub enum KeeperError {
    /// The program to start does not exist.
    Missing(String),
    /// The program could not be started.
    NotSpawned {
        /// First word of its command line.
        program: String,
        /// The error of the system.
        why: String,
    },
    /// The system refused a pipe, a socket or a process, because of a limit or a filter.
    Refused {
        /// The error of the system.
        error: io::Error,
        /// What the user can do.
        fix: &'static str,
    },
    /// The keeper itself is gone or could not be started.
    Gone(io::Error),
}

impl fmt::Display for KeeperError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(program) => write!(f, "program not found: {program}"),
            Self::NotSpawned { program, why } => write!(f, "{program} could not be started: {why}"),
            Self::Refused { error, .. } => write!(f, "plumb can't start processes: {error}"),
            Self::Gone(error) => write!(f, "plumb's keeper process has ended: {error}"),
        }
    }
}

impl std::error::Error for KeeperError {}

impl From<io::Error> for KeeperError {
    fn from(error: io::Error) -> Self {
        let fix = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::MFILE) => "raise `ulimit -n`",
            Some(Errno::NFILE) => "raise fs.file-max: `sudo sysctl fs.file-max=1000000`",
            Some(Errno::NOMEM) => "free memory, or raise `ulimit -v`",
            Some(Errno::AGAIN) => "raise `ulimit -u`, or the cgroup's pids.max",
            Some(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => {
                "a seccomp filter or a security module refuses it: measure outside the container, or run it with \
                 `--security-opt seccomp=unconfined`"
            }
            _ => return Self::Gone(error),
        };
        Self::Refused { error, fix }
    }
}

impl Keeper {
    /// Starts `plumb` as a keeper: `plumb keeper`, with the socket as its stdin. Call it before
    /// anything large is touched: its peak memory is the floor of what its children can report.
    ///
    /// This process inherits the keeper's descendants, should the keeper be killed.
    ///
    /// # Errors
    /// When the binary can't be started.
    pub fn start(plumb: &Path) -> Result<Self, KeeperError> {
        let me = rustix::process::getpid();
        rustix::process::set_child_subreaper(Some(me)).map_err(io::Error::from)?;
        let (ours, theirs) =
            // SEQPACKET keeps the borders of messages and, unlike DGRAM, shows when the other end is gone.
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                .map_err(io::Error::from)?;
        let mut command = Command::new(plumb);
        // The socket stands in for stdout, too: an empty chroot has no /dev/null.
        let stdout = Stdio::from(theirs.try_clone()?);
        // In its own group: Ctrl-C at the terminal must not reach it.
        command.arg("keeper").stdin(Stdio::from(theirs)).stdout(stdout).process_group(0);
        let process = command.spawn()?;
        Ok(Self { socket: Some(ours), process, exits: VecDeque::new(), changes: 0 })
    }

    /// The keeper's own process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Starts a program with three fresh pipes, with these options.
    ///
    /// # Errors
    /// When the program does not exist or can't be started.
    pub fn spawn(
        &mut self,
        argv: &[String],
        cwd: Option<&Path>,
        options: &SpawnOptions,
    ) -> Result<ProgramPipes, KeeperError> {
        let (stdin_theirs, stdin) = pipe()?;
        let (stdout, stdout_theirs) = pipe()?;
        let (stderr, stderr_theirs) = pipe()?;
        let order = ToKeeper::Spawn {
            argv: argv.to_vec(),
            cwd: cwd.map(|path| path.to_string_lossy().into_owned()),
            options: options.clone(),
        };
        let theirs = [stdin_theirs.as_fd(), stdout_theirs.as_fd(), stderr_theirs.as_fd()];
        // The packet holds copies; ours close on return, or the end of the program's stdout would never show.
        self.send(&order, &theirs)?;
        let program = argv.first().cloned().unwrap_or_default();
        match self.answer()? {
            FromKeeper::Spawned { pid } => Ok(ProgramPipes { pid, stdin, stdout, stderr }),
            FromKeeper::NotSpawned { missing: true, .. } => Err(KeeperError::Missing(program)),
            FromKeeper::NotSpawned { why, .. } => Err(KeeperError::NotSpawned { program, why }),
            other => Err(unexpected(&other)),
        }
    }

    /// Kills a started program with all its descendants; its exit still comes through
    /// [`Keeper::wait`].
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn kill(&mut self, pid: u32) -> Result<(), KeeperError> {
        self.send(&ToKeeper::Kill { pid }, &[])
    }

    /// Has a folder removed at the end, whatever happens. Tell it before the folder is made.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn own(&mut self, folder: &Path) -> Result<(), KeeperError> {
        let path = folder.to_string_lossy().into_owned();
        self.note(&ToKeeper::Own { path })
    }

    /// Has an owned folder removed now.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn remove(&mut self, folder: &Path) -> Result<(), KeeperError> {
        let path = folder.to_string_lossy().into_owned();
        self.note(&ToKeeper::Remove { path })
    }

    /// The exit of a started program; None when it still runs after `timeout`.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn wait(
        &mut self,
        pid: u32,
        timeout: Duration,
    ) -> Result<Option<ProcessExit>, KeeperError> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(at) = self.exits.iter().position(|exit| exit.pid == pid) {
                return Ok(self.exits.remove(at));
            }
            if !self.wait_readable(deadline.saturating_duration_since(Instant::now()))? {
                return Ok(None);
            }
            match self.receive()? {
                FromKeeper::Exited(exit) => self.exits.push_back(exit),
                other => return Err(unexpected(&other)),
            }
        }
    }

    /// Has a setting of the machine changed; it is changed back at the end, whatever happens. The inner
    /// error is why it is as it was.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn change(
        &mut self,
        setting: &SystemSetting,
        to: &str,
    ) -> Result<Result<ChangeMade, Unchanged>, KeeperError> {
        let order = ToKeeper::Change { setting: setting.clone(), to: to.to_owned() };
        self.send(&order, &[])?;
        match self.answer()? {
            FromKeeper::Changed { change, left } => {
                self.changes = left;
                Ok(Ok(change))
            }
            FromKeeper::Unchanged(why) => Ok(Err(why)),
            other => Err(unexpected(&other)),
        }
    }

    /// Writes down how a plug-in's preparation is undone, before the plug-in makes it: should anybody be
    /// killed, whoever comes next has it undone. The inner error is why it can't be written down.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn hold(
        &mut self,
        preparation: PluginPreparation,
    ) -> Result<Result<(), Unchanged>, KeeperError> {
        self.count(&ToKeeper::Hold { preparation })
    }

    /// The plug-in of this name has undone its preparation by itself.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn release(&mut self, name: &str) -> Result<(), KeeperError> {
        self.count(&ToKeeper::Release { name: name.to_owned() }).map(|_| ())
    }

    fn count(&mut self, order: &ToKeeper) -> Result<Result<(), Unchanged>, KeeperError> {
        self.send(order, &[])?;
        match self.answer()? {
            FromKeeper::Holding { left } => {
                self.changes = left;
                Ok(Ok(()))
            }
            FromKeeper::Unchanged(why) => Ok(Err(why)),
            other => Err(unexpected(&other)),
        }
    }

    /// Changes that are not undone.
    #[must_use]
    pub fn changes(&self) -> usize {
        self.changes
    }

    /// Undoes the latest changes until `left` are left.
    ///
    /// # Errors
    /// When the keeper is gone.
    pub fn restore(&mut self, left: usize) -> Result<Vec<Settled>, KeeperError> {
        if self.changes <= left {
            return Ok(Vec::new());
        }
        self.send(&ToKeeper::Restore { left }, &[])?;
        match self.answer()? {
            FromKeeper::Settled { settled, left } => {
                self.changes = left;
                Ok(settled)
            }
            other => Err(unexpected(&other)),
        }
    }

    fn note(&mut self, order: &ToKeeper) -> Result<(), KeeperError> {
        self.send(order, &[])?;
        match self.answer()? {
            FromKeeper::Noted => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn send(&self, order: &ToKeeper, descriptors: &[BorrowedFd<'_>]) -> Result<(), KeeperError> {
        match send(self.socket()?, order, descriptors) {
            Ok(()) => Ok(()),
            // A keeper that could not be set up has ended, but has said why.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(match self.receive() {
                Err(refused @ KeeperError::Refused { .. }) => refused,
                _ => KeeperError::Gone(error),
            }),
            Err(error) => Err(error.into()),
        }
    }

    /// The answer to the last order; exits that come before it are kept.
    fn answer(&mut self) -> Result<FromKeeper, KeeperError> {
        loop {
            match self.receive()? {
                FromKeeper::Exited(exit) => self.exits.push_back(exit),
                answer => return Ok(answer),
            }
        }
    }

    fn receive(&self) -> Result<FromKeeper, KeeperError> {
        loop {
            match receive::<FromKeeper>(self.socket()?) {
                Ok(Some((FromKeeper::NotServing { errno }, _))) => {
                    return Err(io::Error::from_raw_os_error(errno).into());
                }
                Ok(Some((answer, _))) => return Ok(answer),
                Ok(None) => return Err(KeeperError::Gone(io::ErrorKind::UnexpectedEof.into())),
                // A keeper that ends before it reads an order resets the connection. What it has said comes after that.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::Interrupted | io::ErrorKind::ConnectionReset
                    ) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether an answer waits; a signal counts as a time-out, so that the caller can look at it.
    fn wait_readable(&self, timeout: Duration) -> Result<bool, KeeperError> {
        let mut polled = [PollFd::new(self.socket()?, PollFlags::IN)];
        let timeout = Timespec::try_from(timeout).ok();
        match poll(&mut polled, timeout.as_ref()) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    fn socket(&self) -> Result<&OwnedFd, KeeperError> {
        self.socket.as_ref().ok_or_else(|| KeeperError::Gone(io::ErrorKind::NotConnected.into()))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // The end of the socket is the order to clean up. Waiting for it means that nothing is left afterwards.
        self.socket = None;
        let _ = self.process.wait();
    }
}

fn unexpected(answer: &FromKeeper) -> KeeperError {
    KeeperError::Gone(io::Error::other(format!("unexpected answer {answer:?}")))
}

fn pipe() -> Result<(OwnedFd, OwnedFd), KeeperError> {
    rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| io::Error::from(error).into())
}
