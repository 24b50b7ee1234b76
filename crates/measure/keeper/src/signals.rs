//! The signals of the keeper, and of what it starts.
#![expect(unsafe_code, reason = "masks and handlers of signals have no safe form")]

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// Signals that a terminal or a service manager sends to a whole group: the keeper outlives plumb by
/// the time it takes to clean up, so it ignores them and goes by the socket alone.
const IGNORED: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// A descriptor that becomes readable when a child ends; the terminal's signals are ignored.
pub fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set lives for all calls; ignoring signals touches no memory; signalfd returns a new
    // descriptor that nobody else owns, or -1.
    unsafe {
        for signal in IGNORED {
            libc::signal(signal, libc::SIG_IGN);
        }
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        // signalfd reports only blocked signals; by default SIGCHLD is discarded before it can be read.
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Gives a process that is about to be started the signals that programs expect. It allocates nothing, so
/// that it may stand between fork and exec.
pub fn reset() {
    // SAFETY: the set lives for all calls, and the default handlers are no memory of ours.
    unsafe {
        // exec resets handlers but keeps what is ignored, and the mask: a program could not be interrupted.
        for signal in IGNORED {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Takes what a descriptor of signals has to say.
pub fn drain(signals: &OwnedFd) {
    let mut buffer = [0_u8; 1024];
    while matches!(rustix::io::read(signals.as_fd(), &mut buffer), Ok(n) if n > 0) {}
}
