//! The engine's clock: a trait, so that tests can bring their own.

use std::time::Duration;

use plumb_machine::Moment;

/// Tells the engine what time it is.
pub trait Clock {
    /// Now, on the monotonic and the wall clock.
    fn now(&self) -> Moment;

    /// Lets so many nanoseconds pass.
    fn sleep(&self, ns: u64);
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        plumb_machine::now()
    }

    fn sleep(&self, ns: u64) {
        std::thread::sleep(Duration::from_nanos(ns));
    }
}
