//! What the tasks of a workload are.

use plumb_model::Parameter;
use plumb_protocol::Start;
use plumb_workload_kit::declare::choice;

/// Whether tasks share an address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskMode {
    /// Each task is a process: a switch between two also changes the address space.
    Process,
    /// All tasks are threads of the worker.
    Thread,
}

impl TaskMode {
    /// The parameter `mode`; `summary` says whose mode it is.
    pub(crate) fn parameter(summary: &str) -> Parameter {
        choice("mode", &["process", "thread"], summary)
    }

    /// Reads the parameter `mode`.
    pub(crate) fn of(start: &Start) -> Self {
        match start.text("mode") {
            "thread" => Self::Thread,
            _ => Self::Process,
        }
    }
}
