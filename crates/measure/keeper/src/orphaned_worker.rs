//! The end of a worker whose keeper dies while plumb, killed at the same instant, cannot stand in.
//!
//! The kernel tells a worker of its keeper's end by a signal. SIGKILL would end the worker and leave
//! what it started: commands, servers and their sessions. So a worker takes SIGTERM instead, and its
//! handler replaces the worker by plumb itself, which, as the same process and thus still the parent,
//! kills every descendant. Nothing else is safe there: the signal may come in the middle of anything,
//! and a thread that waits for it would cost every workload its single thread.
#![expect(unsafe_code, reason = "a handler of a signal, and execve in it, have no safe form")]

use std::ffi::c_int;
use std::io;

/// Makes this process, a worker, end with all that it started as soon as its keeper ends. `plumb
/// orphaned` must call [`crate::stand_in`].
///
/// # Errors
/// When the kernel refuses.
pub fn end_with_keeper() -> io::Result<()> {
    // What commands leave behind comes here and not to the keeper that may be gone.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let handler: extern "C" fn(c_int) = replace;
    // Until the keeper's end is told by SIGTERM, SIGKILL does the work, which the keeper asked for.
    // SAFETY: the handler calls only async-signal-safe functions. Zeroes are a valid empty mask, and
    // no flags.
    let done = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as libc::sighandler_t;
        libc::sigaction(libc::SIGTERM, &raw const action, std::ptr::null_mut()) == 0
    };
    if !done {
        return Err(io::Error::last_os_error());
    }
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))?)
}

/// Becomes `plumb orphaned`; if plumb can't be found, ends its process group.
extern "C" fn replace(_signal: c_int) {
    let argv = [c"plumb".as_ptr(), c"orphaned".as_ptr(), std::ptr::null()];
    let environment = [std::ptr::null()];
    // SAFETY: all three calls are async-signal-safe; the strings are static, both arrays end in null.
    unsafe {
        libc::execve(c"/proc/self/exe".as_ptr(), argv.as_ptr(), environment.as_ptr());
        libc::kill(0, libc::SIGKILL);
        libc::_exit(1);
    }
}
