//! Child processes made by fork, for workloads whose parts are processes.
#![expect(
    unsafe_code,
    reason = "fork has no safe form; waits, reads and writes are timed as bare system calls"
)]

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use plumb_protocol::Failure;
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};

/// A forked child. It dies with its parent; dropping this kills and reaps it.
pub struct Child {
    pid: libc::pid_t,
    reaped: bool,
}

impl Child {
    /// Forks. The child does `work` and ends: with status 0 if it was true, else with 1. `work` may
    /// only use what it finds laid out and system calls: no allocation, no lock, no printing.
    ///
    /// # Errors
    /// When the system has no room for another process.
    pub fn fork(work: impl FnOnce() -> bool) -> Result<Self, Failure> {
        let parent = std::process::id();
        // SAFETY: the child keeps to system calls and inherited memory, as fork in a process with
        // threads asks for, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(Failure::last_os_error(
                "fork (raise `ulimit -u`, the cgroup's pids.max or its memory limit)",
            )),
            0 => {
                die_with(parent);
                let fine = work();
                // SAFETY: ends this process at once, running no handlers of the parent's.
                unsafe { libc::_exit(i32::from(!fine)) }
            }
            pid => Ok(Self { pid, reaped: false }),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When there is no such child.
    pub fn wait(&mut self) -> Result<ExitStatus, Failure> {
        let mut status = 0;
        loop {
            // SAFETY: the pointer is to a live, writable int.
            if unsafe { libc::waitpid(self.pid, &raw mut status, 0) } == self.pid {
                self.reaped = true;
                return Ok(ExitStatus::from_raw(status));
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(Failure::io(format!("waiting for process {}", self.pid), &error));
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.reaped {
            // The process is our child and not reaped yet, so its id is still its own.
            let _ = Pid::from_raw(self.pid).map(|pid| kill_process(pid, Signal::KILL));
            let _ = self.wait();
        }
    }
}

/// Asks the kernel to kill this process when `parent` dies, and ends it if that has happened.
fn die_with(parent: u32) {
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    let has_parent =
        getppid().is_some_and(|pid| pid.as_raw_nonzero().get().unsigned_abs() == parent);
    if asked.is_err() || !has_parent {
        // SAFETY: ends this process at once, running no handlers of the parent's.
        unsafe { libc::_exit(1) };
    }
}

/// Closes a descriptor in a child, if its owner is the parent's copy of a value.
pub fn close_in_child(fd: &impl AsRawFd) {
    // SAFETY: called in a child that will never drop the owner, because it ends with `_exit`.
    unsafe { libc::close(fd.as_raw_fd()) };
}

/// Waits until `fd` can be read, for at most `timeout_ms` (-1: for ever).
pub fn wait_readable(fd: RawFd, timeout_ms: i32) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    loop {
        // SAFETY: one valid pollfd, and the count says one.
        let ready = unsafe { libc::poll(&raw mut poll, 1, timeout_ms) };
        if ready >= 0 {
            return ready > 0;
        }
        if !interrupted() {
            return false;
        }
    }
}

/// Reads until the buffer is full. False at the end of the input, and on an error.
///
/// A bare system call a message, as in hackbench's own loops.
#[inline]
pub fn read_full(fd: RawFd, buffer: &mut [u8]) -> bool {
    let mut done = 0;
    while done < buffer.len() {
        let rest = &mut buffer[done..];
        // SAFETY: the pointer and the length are those of a live, writable slice.
        match unsafe { libc::read(fd, rest.as_mut_ptr().cast(), rest.len()) } {
            0 => return false,
            n if n > 0 => done += n.unsigned_abs(),
            _ if interrupted() => {}
            _ => return false,
        }
    }
    true
}

/// Writes all bytes. False on an error.
#[inline]
pub fn write_full(fd: RawFd, bytes: &[u8]) -> bool {
    let mut done = 0;
    while done < bytes.len() {
        let rest = &bytes[done..];
        // SAFETY: the pointer and the length are those of a live slice.
        match unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) } {
            n if n > 0 => done += n.unsigned_abs(),
            n if n < 0 && interrupted() => {}
            _ => return false,
        }
    }
    true
}

fn interrupted() -> bool {
    io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
}
