//! ptrace in safe functions: a thread of the command that is stopped, and what stopped it.
#![expect(unsafe_code, reason = "ptrace and waitpid for all children have no safe form")]

use std::io;

use libc::{c_int, c_long};

// Requests and answers of <linux/ptrace.h>. The types of libc's own constants differ between glibc and musl, and musl lacks
// some.
const PTRACE_SYSCALL: c_long = 24;
const PTRACE_DETACH: c_long = 17;
const PTRACE_SEIZE: c_long = 0x4206;
const PTRACE_INTERRUPT: c_long = 0x4207;
const PTRACE_LISTEN: c_long = 0x4208;
const PTRACE_GET_SYSCALL_INFO: c_long = 0x420e;
const SYSCALL_INFO_ENTRY: u8 = 1;
const SYSCALL_INFO_EXIT: u8 = 2;
const PTRACE_EVENT_EXEC: c_int = 4;
const PTRACE_EVENT_STOP: c_int = 128;

/// Kill the tracees if plumb's process ends, whatever ends it; follow forks, threads and exec.
const OPTIONS: c_int = libc::PTRACE_O_EXITKILL
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC;

/// The system calls that map a file, and the only architectures of which they are known: audit architecture, number.
const MAPPING_CALLS: [(u32, u64); 5] = [
    (0xc000_003e, 9),   // x86_64: mmap
    (0x4000_0003, 192), // i386: mmap2
    (0xc000_00b7, 222), // aarch64: mmap
    (0x4000_0028, 192), // arm: mmap2
    (0xc000_00f3, 222), // riscv64: mmap
];

/// What `waitpid` reports of a thread of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The thread ended.
    Ended,
    /// It begins or ends a system call.
    SystemCall,
    /// It has become another program.
    Exec,
    /// It was created, or continues after a stop; or it created another one.
    Event,
    /// A signal of job control stopped its process.
    Group,
    /// It is about to get this signal.
    Signal(c_int),
}

/// A system call of a stopped thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemCall {
    /// It is about to map this descriptor.
    MapsFile(c_int),
    /// The call succeeded.
    Succeeded,
    /// It failed, or is about to do something else.
    Other,
}

/// Begins to trace a process, which must be a child that waits.
///
/// # Errors
/// If the system does not permit it.
pub(crate) fn seize(pid: c_int) -> io::Result<()> {
    request(PTRACE_SEIZE, pid, OPTIONS)
}

/// Waits for the next stop or end of any thread of the command, with the status of an end; None if none is left.
///
/// # Errors
/// If waiting fails.
pub(crate) fn next_stop() -> io::Result<Option<(c_int, Stop, c_int)>> {
    let mut status = 0;
    loop {
        // Only a tracee's own tracer, which is a thread, may command it: children of other threads are theirs.
        let options = libc::__WALL | libc::__WNOTHREAD;
        // SAFETY: the pointer is to a live, writable int.
        let pid = unsafe { libc::waitpid(-1, &raw mut status, options) };
        if pid > 0 {
            return Ok(Some((pid, stop_of(status), status)));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::ECHILD) => return Ok(None),
            Some(libc::EINTR) => {}
            _ => return Err(error),
        }
    }
}

fn stop_of(status: c_int) -> Stop {
    if !libc::WIFSTOPPED(status) {
        return Stop::Ended;
    }
    let signal = libc::WSTOPSIG(status);
    match status >> 16 {
        PTRACE_EVENT_EXEC => Stop::Exec,
        PTRACE_EVENT_STOP if signal == libc::SIGTRAP => Stop::Event,
        PTRACE_EVENT_STOP => Stop::Group,
        0 if signal == libc::SIGTRAP | 0x80 => Stop::SystemCall,
        0 => Stop::Signal(signal),
        _ => Stop::Event,
    }
}

/// Lets a stopped thread go on to its next system call, with a signal if it is not 0.
pub(crate) fn resume(pid: c_int, signal: c_int) {
    // A thread that another one killed meanwhile is gone; the next wait says so.
    let _ = request(PTRACE_SYSCALL, pid, signal);
}

/// Leaves a thread stopped as job control wants it, until it is continued.
pub(crate) fn listen(pid: c_int) {
    let _ = request(PTRACE_LISTEN, pid, 0);
}

/// Has a running thread stop.
pub(crate) fn interrupt(pid: c_int) {
    let _ = request(PTRACE_INTERRUPT, pid, 0);
}

/// Lets a stopped thread run untraced.
pub(crate) fn detach(pid: c_int, signal: c_int) {
    let _ = request(PTRACE_DETACH, pid, signal);
}

fn request(wanted: c_long, pid: c_int, data: c_int) -> io::Result<()> {
    let address: c_long = 0;
    // SAFETY: none of these requests reads or writes memory of this process.
    let answer = unsafe {
        libc::syscall(libc::SYS_ptrace, wanted, c_long::from(pid), address, c_long::from(data))
    };
    check(answer)
}

/// The system call at which a thread is stopped.
///
/// # Errors
/// If the kernel can't say (before 5.3).
pub(crate) fn system_call(pid: c_int) -> io::Result<SystemCall> {
    let mut info = [0_u8; SYSCALL_INFO_SIZE];
    // SAFETY: the kernel writes at most as many bytes as it is told that there are.
    check(unsafe {
        libc::syscall(
            libc::SYS_ptrace,
            PTRACE_GET_SYSCALL_INFO,
            c_long::from(pid),
            SYSCALL_INFO_SIZE,
            info.as_mut_ptr(),
        )
    })?;
    Ok(parsed(&info))
}

/// Bytes of a `ptrace_syscall_info`: operation, architecture at 4, at 24 the call's number and six arguments, or its result
/// and at 32 whether that is an error.
const SYSCALL_INFO_SIZE: usize = 88;

fn parsed(info: &[u8; SYSCALL_INFO_SIZE]) -> SystemCall {
    let architecture = info[4..8].try_into().map_or(0, u32::from_ne_bytes);
    match info[0] {
        SYSCALL_INFO_ENTRY if MAPPING_CALLS.contains(&(architecture, number_at(info, 24))) => {
            let flags = number_at(info, 32 + 3 * 8);
            let is_file = flags & u64::from(libc::MAP_ANONYMOUS.unsigned_abs()) == 0;
            // The descriptor is an int, in the lower half of a register.
            let descriptor = u32::try_from(number_at(info, 32 + 4 * 8) & 0xffff_ffff).unwrap_or(0);
            match is_file {
                true => SystemCall::MapsFile(descriptor.cast_signed()),
                false => SystemCall::Other,
            }
        }
        SYSCALL_INFO_EXIT if info[32] == 0 => SystemCall::Succeeded,
        _ => SystemCall::Other,
    }
}

fn number_at(info: &[u8; SYSCALL_INFO_SIZE], at: usize) -> u64 {
    info[at..at + 8].try_into().map_or(0, u64::from_ne_bytes)
}

fn check(answer: c_long) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{SYSCALL_INFO_ENTRY, SYSCALL_INFO_EXIT, SYSCALL_INFO_SIZE, SystemCall, parsed};

    /// What the kernel says of a call at its entry.
    fn entry(architecture: u32, number: u64, flags: u64, descriptor: u64) -> SystemCall {
        let mut info = [0; SYSCALL_INFO_SIZE];
        info[0] = SYSCALL_INFO_ENTRY;
        info[4..8].copy_from_slice(&architecture.to_ne_bytes());
        for (at, value) in [(24, number), (56, flags), (64, descriptor)] {
            info[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        parsed(&info)
    }

    #[test]
    fn only_a_call_that_maps_a_file_names_a_descriptor() {
        let private = 2;
        let anonymous = 0x22;
        assert_eq!(entry(0xc000_003e, 9, private, 3), SystemCall::MapsFile(3));
        assert_eq!(entry(0xc000_00b7, 222, private, 3), SystemCall::MapsFile(3));
        assert_eq!(entry(0x4000_0003, 192, private, 3), SystemCall::MapsFile(3));
        assert_eq!(entry(0xc000_003e, 9, anonymous, u64::MAX), SystemCall::Other);
        assert_eq!(entry(0xc000_003e, 1, private, 3), SystemCall::Other);
        assert_eq!(entry(0xc000_00b7, 9, private, 3), SystemCall::Other);
        let mut info = [0; SYSCALL_INFO_SIZE];
        info[0] = SYSCALL_INFO_EXIT;
        assert_eq!(parsed(&info), SystemCall::Succeeded);
        info[32] = 1;
        assert_eq!(parsed(&info), SystemCall::Other);
    }
}
