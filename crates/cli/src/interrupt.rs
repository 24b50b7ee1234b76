//! SIGINT, SIGTERM and SIGHUP: the first asks the run to stop, the second ends plumb at once (the
//! keeper still cleans up).
//!
//! A signal interrupts the wait that it meets. One that comes just before a wait would have no effect
//! until that wait is over, a long command's whole time; so the first starts a timer, whose ticks
//! interrupt every wait until somebody has asked and heard of the signal.
#![expect(unsafe_code, reason = "signal handlers have no safe form in std")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Time between two ticks, in microseconds.
const TICK_US: libc::suseconds_t = 20_000;

extern "C" fn note(_signal: libc::c_int) {
    if INTERRUPTED.swap(true, Ordering::Relaxed) {
        // SAFETY: _exit is async-signal-safe and never returns.
        unsafe { libc::_exit(130) };
    }
    tick_every(TICK_US);
}

/// Starts the timer, or stops it with 0. It only makes a system call, which signal handlers may do.
fn tick_every(tv_usec: libc::suseconds_t) {
    let time = libc::timeval { tv_sec: 0, tv_usec };
    let timer = libc::itimerval { it_interval: time, it_value: time };
    // SAFETY: the pointer is to a live object, and no old value is asked for.
    unsafe { libc::setitimer(libc::ITIMER_REAL, &raw const timer, std::ptr::null_mut()) };
}

extern "C" fn go_on(_signal: libc::c_int) {}

/// Handles the signals from now until the process ends.
pub fn listen() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        handle(signal, note);
    }
    handle(libc::SIGALRM, go_on);
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

/// Sleeps for this time, or until a signal comes.
pub fn sleep(time: Duration) {
    if let Ok(time) = rustix::thread::Timespec::try_from(time) {
        // A signal ends the sleep early; the caller looks at the signal and not at the time that is left.
        let _ = rustix::thread::nanosleep(&time);
    }
}

/// Whether a signal came. The caller stops, and its cleaning up is not interrupted: the timer ends here.
pub fn is_interrupted() -> bool {
    let interrupted = INTERRUPTED.load(Ordering::Relaxed);
    if interrupted {
        tick_every(0);
    }
    interrupted
}
