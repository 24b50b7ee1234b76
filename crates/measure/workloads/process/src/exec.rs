//! `process.exec`: making a process that becomes another program, its end, and reaping it.
#![expect(
    unsafe_code,
    reason = "fork, clone, clone3, posix_spawn and execve have no safe form in std"
)]

use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::{Duration, Instant};

use plumb_model::{AuditClass, CurveKind, Description, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::declare::{
    between, bytes, choice, curve, rate, threads, time, work, workload,
};
use plumb_workload_kit::limits::room_for_tasks;
use plumb_workload_kit::placement::placement;
use plumb_workload_kit::switches::{Switching, switches};
use plumb_workload_kit::threads::{self, Member, Team};

use crate::ballast::{Ballast, residence};
use crate::fork::reap;
use crate::lean::{keep_one_heap, leave_out_signal_stack};
use crate::static_program::StaticProgram;

/// The workload `process.exec`: its parameters and metrics, and how it starts.
pub(crate) struct Exec;

impl Workload for Exec {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                choice(
                    "method",
                    &["posix_spawn", "vfork", "fork", "clone3"],
                    "how the process is created",
                ),
                curve(
                    CurveKind::Line,
                    bytes("resident", 0, "memory that the parent has touched, in base pages"),
                ),
                between(
                    1,
                    10_000,
                    threads("threads of the parent that start programs at the same time"),
                ),
                placement(),
            ],
            metrics: vec![
                time("time", "time to start, run and reap one program, on each thread"),
                rate(
                    "rate",
                    "execs/s",
                    "programs started and reaped per second, all threads together",
                ),
                switches("program started"),
            ],
            audit_class: Some(AuditClass::Process),
            ..workload("process.exec", "starts and reaps a small static program in a new process")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("exec.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads");
        // Every thread has a child at a time, and the first thread is there already.
        room_for_tasks(2 * threads as u64 - 1)?;
        let ballast = Ballast::resident(start)?;
        let folder = if start.scratch.is_empty() { &start.dir } else { &start.scratch };
        let program = StaticProgram::create(Path::new(folder))?;
        let make = make_of(start);
        rehearse(&ExecCall::new(&program), make)?;
        let path = program.path().to_owned();
        if threads > 1 {
            keep_one_heap();
        }
        let team = Team::placed(threads, start, move |index| {
            if index > 0 {
                leave_out_signal_stack();
            }
            Ok(Starter { call: ExecCall::of(path.clone()), make, made: 0 })
        })?;
        let mut ready = Ready { work: work(&[("rate", threads as u64)]), ..Ready::default() };
        ready.notes.push(format!("parent: {}", residence()));
        threads::describe(threads, start, &mut ready)?;
        let starting = Starting { team, _program: program, _ballast: ballast };
        Ok(StartedWorkload { instance: Box::new(Switching::beside(starting, threads)), ready })
    }
}

/// A process that becomes the program of this call; -1, and why in errno, if there is none.
type MakeProcess = fn(&ExecCall) -> libc::pid_t;

/// How the process is made, from the parameter `method`.
fn make_of(start: &Start) -> MakeProcess {
    match start.text("method") {
        "vfork" => vfork,
        "fork" => fork,
        "clone3" => clone3,
        _ => posix_spawn,
    }
}

/// How a child ends that could not become the program.
const NOT_STARTED: c_int = 127;

/// How long a file may be busy that another process still holds open for writing.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// Starts the program once, to see that it can be.
fn rehearse(call: &ExecCall, make: MakeProcess) -> Result<(), StartError> {
    let begun = Instant::now();
    loop {
        let pid = make(call);
        let error = std::io::Error::last_os_error();
        let failure = match pid {
            -1 if error.raw_os_error() == Some(libc::ENOSYS) => {
                return Err(StartError::unsupported(
                    "this kernel has no clone3, or a system call filter blocks it",
                    "set another method",
                ));
            }
            -1 => Failure::io("starting the program", &error),
            pid => match reap(pid, call.status()) {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            },
        };
        // A program that was written a moment ago is busy while a child of another thread holds it open.
        if begun.elapsed() > BUSY_TIMEOUT {
            return Err(StartError::unsupported(
                format!("can't run the static program: {}", failure.0),
                "set TMPDIR to a folder on a filesystem without noexec",
            ));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// All that execve needs, laid out. Another one for each thread, because the argument changes.
struct ExecCall {
    path: CString,
    /// The argument's first byte is the status with which the program ends.
    argument: [u8; 2],
}

impl ExecCall {
    fn new(program: &StaticProgram) -> Self {
        Self::of(program.path().to_owned())
    }

    fn of(path: CString) -> Self {
        Self { path, argument: [1, 0] }
    }

    fn status(&self) -> c_int {
        c_int::from(self.argument[0])
    }

    /// Arguments: the path, ours, and an end.
    #[inline]
    fn arguments(&self) -> [*const c_char; 3] {
        [self.path.as_ptr(), self.argument.as_ptr().cast(), std::ptr::null()]
    }

    /// Becomes the program, with an empty environment, or ends. Makes system calls only.
    #[inline]
    fn exec(&self) -> ! {
        let environment = [std::ptr::null()];
        // SAFETY: the path and the arguments end in NUL, both lists in a null pointer. `_exit` runs no handlers.
        unsafe {
            libc::execve(self.path.as_ptr(), self.arguments().as_ptr(), environment.as_ptr());
            libc::_exit(NOT_STARTED)
        }
    }
}

fn posix_spawn(call: &ExecCall) -> libc::pid_t {
    let mut pid = -1;
    let environment = [std::ptr::null_mut()];
    let arguments = call.arguments().map(<*const c_char>::cast_mut);
    // SAFETY: all pointers are to live objects; path and arguments end in NUL, both lists in a null pointer.
    let errno = unsafe {
        libc::posix_spawn(
            &raw mut pid,
            call.path.as_ptr(),
            std::ptr::null(),
            std::ptr::null(),
            arguments.as_ptr(),
            environment.as_ptr(),
        )
    };
    if errno == 0 {
        return pid;
    }
    // SAFETY: errno of this thread.
    unsafe { *libc::__errno_location() = errno };
    -1
}

fn fork(call: &ExecCall) -> libc::pid_t {
    // SAFETY: the child makes system calls and nothing else, until it is another program or has ended.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        call.exec();
    }
    pid
}

/// The child of `vfork`: `call` is one.
extern "C" fn become_program(call: *mut c_void) -> c_int {
    // SAFETY: the parent, which stands still, holds the call alive.
    unsafe { (*call.cast::<ExecCall>()).exec() }
}

fn vfork(call: &ExecCall) -> libc::pid_t {
    // On this stack, on which nothing else happens until the child has become the program.
    let mut stack = [MaybeUninit::<u128>::uninit(); 256];
    let argument = std::ptr::from_ref(call).cast_mut().cast();
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the child runs `become_program` on 4 Its own kiB, aligned to 16 bytes, while we are suspended
    // (CLONE_VFORK); it reads the call and makes system calls only.
    unsafe { libc::clone(become_program, stack.as_mut_ptr_range().end.cast(), flags, argument) }
}

fn clone3(call: &ExecCall) -> libc::pid_t {
    // SAFETY: plain numbers, for which zero means nothing asked for.
    let mut arguments: libc::clone_args = unsafe { std::mem::zeroed() };
    arguments.exit_signal = libc::SIGCHLD.unsigned_abs().into();
    // SAFETY: the pointer and the size are those of a live object. Without CLONE_VM the child has memory and stack of
    // its own; it makes system calls and nothing else, until it is another program or has ended.
    let pid = unsafe {
        libc::syscall(libc::SYS_clone3, &raw const arguments, std::mem::size_of_val(&arguments))
    };
    if pid == 0 {
        call.exec();
    }
    libc::pid_t::try_from(pid).unwrap_or(-1)
}

/// One thread's programs.
struct Starter {
    call: ExecCall,
    make: MakeProcess,
    made: u32,
}

impl Member for Starter {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        for _ in 0..iterations {
            self.made = self.made.wrapping_add(1);
            // A status that changes, and is neither 0 nor that of a child that is not a program.
            self.call.argument[0] = u8::try_from(1 + self.made % 100).unwrap_or(1);
            let pid = (self.make)(&self.call);
            if pid < 0 {
                return Err(Failure::last_os_error(
                    "starting a program (raise `ulimit -u` or pids.max)",
                ));
            }
            reap(pid, self.call.status())?;
        }
        Ok(())
    }

    /// Every program's status has been checked in `run`.
    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

struct Starting {
    team: Team<Starter>,
    _program: StaticProgram,
    _ballast: Ballast,
}

impl Instance for Starting {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.team.run(iterations)
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.team.shortest_sample_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ExecCall, MakeProcess, NOT_STARTED, clone3, fork, posix_spawn, reap, rehearse, vfork,
    };
    use crate::static_program::StaticProgram;

    #[test]
    fn each_method_starts_the_program_and_a_wrong_end_is_caught() {
        let folder = tempfile::tempdir().unwrap();
        let program = StaticProgram::create(folder.path()).unwrap();
        let mut call = ExecCall::new(&program);
        for make in [posix_spawn as MakeProcess, vfork, fork, clone3] {
            rehearse(&call, make).unwrap();
            call.argument[0] = 77;
            reap(make(&call), 77).unwrap();
            assert!(reap(make(&call), 78).is_err(), "another status");
        }
        // Nothing else can be executed under that name.
        let gone = ExecCall::of(c"/no/such/program".into());
        for make in [vfork as MakeProcess, fork, clone3] {
            assert!(reap(make(&gone), 1).is_err());
            reap(make(&gone), NOT_STARTED).unwrap();
        }
        assert_eq!(posix_spawn(&gone), -1);
    }
}
