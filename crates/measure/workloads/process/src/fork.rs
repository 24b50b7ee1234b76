//! `process.fork`: making a process, its end, and reaping it.
#![expect(unsafe_code, reason = "fork, clone and waitpid have no safe form in std")]

use std::ffi::{c_int, c_void};

use plumb_model::{AuditClass, CurveKind, Description, Ready, Rung};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload};

use plumb_workload_kit::declare::{
    bytes, choice, curve, rate, rung, rung_if, threads, time, work, workload,
};
use plumb_workload_kit::limits::room_for_tasks;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::switches::{Switching, switches};
use plumb_workload_kit::threads::{self, Member, Team};

use crate::ballast::{Ballast, residence};
use crate::lean::{keep_one_heap, leave_out_signal_stack};

/// A child that borrows the memory of its parent needs no copy of the page tables.
fn without_page_tables() -> Rung {
    let vfork =
        rung("vfork, which copies no page tables", "process.fork", "time", &[("method", "vfork")]);
    rung_if(&[("method", "fork"), ("end", "_exit")], vfork)
}

/// The workload `process.fork`: its parameters and metrics, and how it starts.
pub(crate) struct Fork;

impl Workload for Fork {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                choice(
                    "method",
                    &["fork", "vfork"],
                    "`fork` copies the address space, `vfork` borrows it (as posix_spawn does)",
                ),
                curve(
                    CurveKind::Line,
                    bytes("resident", 0, "memory that the parent has touched, in base pages"),
                ),
                threads("threads of the parent that fork at the same time"),
                placement(),
                choice(
                    "end",
                    &["_exit", "exit"],
                    "how the child ends: at once, or after running atexit handlers",
                ),
            ],
            metrics: vec![
                time("time", "time to create and reap one process, on each thread"),
                rate(
                    "rate",
                    "forks/s",
                    "processes created and reaped per second, all threads together",
                ),
                switches("process created"),
            ],
            version: 2,
            audit_class: Some(AuditClass::Process),
            rungs: vec![without_page_tables()],
            ..workload("process.fork", "creates a process that exits at once, and reaps it")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("fork.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        room_for_tasks(start.integer("threads").saturating_mul(2).saturating_sub(1))?;
        let ballast = Ballast::resident(start)?;
        match (start.text("method"), start.text("end")) {
            ("vfork", "exit") => Err(StartError::unsupported(
                "with method=vfork, end=exit would run the parent's handlers in the parent's memory",
                "set end=_exit or method=fork",
            )),
            ("vfork", _) => Forking::start(start, ballast, Vfork::new),
            (_, "exit") => Forking::start(start, ballast, || PlainFork { end: libc::exit }),
            _ => Forking::start(start, ballast, || PlainFork { end: libc::_exit }),
        }
    }
}

/// Makes a child that ends at once with this status.
trait MakeChild: Send + 'static {
    fn make(&mut self, status: c_int) -> libc::pid_t;
}

struct PlainFork {
    end: unsafe extern "C" fn(c_int) -> !,
}

impl MakeChild for PlainFork {
    #[inline]
    fn make(&mut self, status: c_int) -> libc::pid_t {
        // SAFETY: the child does nothing but end. `_exit` is one system call. `exit` is not on POSIX's
        // list of what the child of a process with threads may call; glibc's takes the locks of stdio
        // and of malloc, which its fork leaves free in the child, and the lock of the list of handlers,
        // which no thread of this process takes while children are made.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            // SAFETY: as above; neither returns.
            unsafe { (self.end)(status) };
        }
        pid
    }
}

/// A child that borrows our memory while we stand still, as in vfork and posix_spawn; on a stack of
/// its own, which is what makes that sound.
struct Vfork {
    stack: Vec<u128>,
}

impl Vfork {
    fn new() -> Self {
        Self { stack: vec![0; 1024] }
    }
}

/// The child's whole life. `status` is a number in the shape of a pointer.
extern "C" fn end(status: *mut c_void) -> c_int {
    let status = c_int::try_from(status.addr()).unwrap_or(c_int::MAX);
    // SAFETY: ends the child at once, running no handlers of the parent's.
    unsafe { libc::_exit(status) }
}

impl MakeChild for Vfork {
    #[inline]
    fn make(&mut self, status: c_int) -> libc::pid_t {
        let argument = std::ptr::without_provenance_mut(usize::try_from(status).unwrap_or(0));
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the child runs `end` on 16 KiB of its own, aligned to 16 bytes, while we are
        // suspended (CLONE_VFORK), and touches nothing else.
        unsafe { libc::clone(end, self.stack.as_mut_ptr_range().end.cast(), flags, argument) }
    }
}

/// One thread's children.
struct Parent<M> {
    make: M,
    made: u32,
}

impl<M: MakeChild> Member for Parent<M> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.made = self.made.wrapping_add(1);
            // A status that changes and is never 0, so that a child that did not run is found.
            let wanted = c_int::try_from(1 + self.made % 100).unwrap_or(1);
            let pid = self.make.make(wanted);
            if pid < 0 {
                return Err(Failure::last_os_error("fork (raise `ulimit -u` or pids.max)"));
            }
            reap(pid, wanted)?;
        }
        Ok(())
    }

    /// Every child's status has been checked in `run`.
    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

struct Forking<M> {
    team: Team<Parent<M>>,
    _ballast: Ballast,
}

impl<M: MakeChild> Forking<M> {
    fn start(
        start: &Start,
        ballast: Ballast,
        make: impl Fn() -> M + Send + Sync + 'static,
    ) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads").max(1);
        // A parent of one thread stays as it is.
        if threads > 1 {
            keep_one_heap();
        }
        let team = Team::placed(threads, start, move |index| {
            if index > 0 {
                leave_out_signal_stack();
            }
            Ok(Parent { make: make(), made: 0 })
        })?;
        let mut ready = Ready { work: work(&[("rate", threads as u64)]), ..Ready::default() };
        ready.notes.push(format!("parent: {}", residence()));
        threads::describe(threads, start, &mut ready)?;
        let forking = Switching::beside(Self { team, _ballast: ballast }, threads);
        Ok(StartedWorkload { instance: Box::new(forking), ready })
    }
}

impl<M: MakeChild> Instance for Forking<M> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.team.run(iterations)
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.team.shortest_sample_ns()
    }
}

/// Waits for a child and checks how it ended.
#[inline]
pub(crate) fn reap(pid: libc::pid_t, wanted: c_int) -> Result<(), Failure> {
    let mut status = 0;
    // SAFETY: the pointer is to a live, writable int.
    while unsafe { libc::waitpid(pid, &raw mut status, 0) } != pid {
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(Failure::io(format!("waiting for process {pid}"), &error));
        }
    }
    if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == wanted {
        return Ok(());
    }
    Err(Failure(format!(
        "expected a child to exit with status {wanted}, but wait reports {status:#x}"
    )))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI32, Ordering};

    use super::{MakeChild, PlainFork, Vfork, reap};

    #[test]
    fn a_child_that_ended_otherwise_is_caught() {
        let plain = &mut PlainFork { end: libc::_exit };
        for make in [plain as &mut dyn MakeChild, &mut Vfork::new()] {
            reap(make.make(7), 7).unwrap();
            assert!(reap(make.make(7), 8).is_err());
        }
    }

    /// Where the handler tells that it ran: the writing end of a pipe, none outside the one test whose
    /// children run it.
    static TOLD: AtomicI32 = AtomicI32::new(-1);

    extern "C" fn tell() {
        let fd = TOLD.load(Ordering::Relaxed);
        if fd >= 0 {
            // SAFETY: one byte from a live array into an open pipe.
            unsafe { libc::write(fd, b"!".as_ptr().cast(), 1) };
        }
    }

    #[test]
    fn only_exit_runs_handlers() {
        use std::io::Read;
        use std::os::fd::AsRawFd;
        let (mut reader, writer) = std::io::pipe().unwrap();
        // SAFETY: the handler makes at most one system call.
        assert_eq!(unsafe { libc::atexit(tell) }, 0);
        TOLD.store(writer.as_raw_fd(), Ordering::Relaxed);
        for end in [libc::_exit, libc::exit as unsafe extern "C" fn(i32) -> !] {
            reap(PlainFork { end }.make(3), 3).unwrap();
        }
        TOLD.store(-1, Ordering::Relaxed);
        drop(writer);
        let mut told = String::new();
        reader.read_to_string(&mut told).unwrap();
        assert_eq!(told, "!", "once, by exit");
    }
}
