//! SIGINT, SIGTERM and SIGHUP: the first asks the run to stop, the second ends plumb at once (the
//! keeper still cleans up).
#![expect(unsafe_code, reason = "signal handlers have no safe form in std")]

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    if INTERRUPTED.swap(true, Ordering::Relaxed) {
        // SAFETY: _exit is async-signal-safe and never returns.
        unsafe { libc::_exit(130) };
    }
}

extern "C" fn go_on(_signal: libc::c_int) {}

/// Takes the signals over for the rest of the process.
pub fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        handle(signal, note);
    }
}

/// A file that reaches the limit of its size (`ulimit -f`) is an error of that write, as a full disk
/// is, and not this process's end. A handler, unlike ignoring, is not passed on to timed commands.
pub fn outlive_file_limit() {
    handle(libc::SIGXFSZ, go_on);
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) {
    // SAFETY: the handlers touch no more than an atomic; no SA_RESTART, so that waits notice them.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        libc::sigaction(signal, &raw const action, std::ptr::null_mut());
    }
}

/// Whether a signal came.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
