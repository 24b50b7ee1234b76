//! What the menus ask whoever opened them.

use std::io;

use plumb_model::Description;
use plumb_suite::{Suite, UsageError};

/// Who knows the workloads and this machine.
pub trait Planner {
    /// Why something can't be.
    type Error: From<UsageError>;

    /// What would be measured and for how long, in words.
    ///
    /// # Errors
    /// When the draft names what is not there, or takes a value that can't be.
    fn duration(&mut self, draft: &Suite) -> Result<String, Self::Error>;

    /// Everything that can be measured.
    fn workloads(&mut self) -> Vec<Description>;

    /// A workload's description of itself.
    ///
    /// # Errors
    /// When there is none of this name.
    fn describe(&mut self, workload: &str) -> Result<Description, Self::Error>;

    /// Whether the suite may go to this file.
    ///
    /// # Errors
    /// Why not.
    fn check_file(&self, file: &str) -> Result<(), Self::Error>;

    /// The error as it is shown if something was typed.
    ///
    /// # Errors
    /// The same, if it ends everything.
    fn told(&self, error: Self::Error) -> Result<String, Self::Error>;

    /// The meaning of a terminal without an answer: it was interrupted, or has gone away.
    fn lost(&self, error: io::Error) -> Self::Error;

    /// Whether the terminal shows colours.
    fn has_colours(&self) -> bool;
}
