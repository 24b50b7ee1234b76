//! What a transport does.

use std::fmt;

use super::failure::VisitFailure;
use super::pipes::AgentPipes;

/// A way to a machine.
pub trait AgentTransport: fmt::Debug + Send {
    /// Starts an agent there, which then waits for its ticket. It is asked between waits whether somebody wants to stop.
    ///
    /// # Errors
    /// When the machine cannot be reached, or plumb does not run there.
    fn open(&self, is_interrupted: &dyn Fn() -> bool) -> Result<AgentPipes, VisitFailure>;
}
