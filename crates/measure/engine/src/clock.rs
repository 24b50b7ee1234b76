//! The engine's clock: a trait, so that tests can bring their own.

use plumb_machine::Moment;

/// Tells the engine what time it is.
pub trait Clock {
    /// Now, on the monotonic and the wall clock.
    fn now(&self) -> Moment;
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Moment {
        plumb_machine::now()
    }
}
