//! A process that a tracer of its parent does not trace.
#![expect(unsafe_code, reason = "clone with flags has no safe form")]

use std::io;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// Returns in a new child, which no tracer is attached to: `strace -f` asks the kernel to attach it to every child, but not to one
/// that is cloned with `CLONE_UNTRACED` (clone(2)). The calling process waits for the child, and then ends as it did.
///
/// It allocates nothing, so that it may stand between fork and exec, in a process with one thread.
///
/// # Errors
/// What the kernel says.
pub fn leave_tracer() -> io::Result<()> {
    let stand_in = getpid();
    let flags = libc::CLONE_UNTRACED | libc::SIGCHLD;
    // SAFETY: without CLONE_VM and a stack this is fork(2); nothing is passed but numbers.
    let child = unsafe { libc::syscall(libc::SYS_clone, libc::c_long::from(flags), 0, 0, 0, 0) };
    match i32::try_from(child) {
        Ok(0) => {}
        Ok(child) if child > 0 => stand_in_for(child),
        _ => return Err(io::Error::last_os_error()),
    }
    // A child does not inherit it.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // If the process in between ended before that call, no signal comes any more.
    match getppid() {
        Some(parent) if parent == stand_in => Ok(()),
        _ => Err(io::Error::other("the process in between has ended")),
    }
}

/// Waits for this child, and ends with its status or by its signal.
fn stand_in_for(child: i32) -> ! {
    let mut status = 0;
    // SAFETY: `status` lives for the call; the other calls take numbers. Open files would keep pipes open that the child closes.
    unsafe {
        libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
        while libc::waitpid(child, &raw mut status, 0) != child {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                libc::_exit(libc::EXIT_FAILURE);
            }
        }
        if libc::WIFSIGNALED(status) {
            // The child left its core already.
            let no_core = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const no_core);
            libc::kill(libc::getpid(), libc::WTERMSIG(status));
        }
        libc::_exit(libc::WEXITSTATUS(status))
    }
}
