//! A machine at a time, and what differs between several.

use plumb_analysis::{Difference, target_diff};
use plumb_model::Target;

/// A machine, and when it was that.
#[derive(Debug, Clone)]
pub struct MachineSnapshot {
    /// The run that found it so; None for now.
    pub run: Option<String>,
    /// The machine and its environment.
    pub target: Target,
}

pub(crate) fn differences(snapshots: &[MachineSnapshot]) -> Vec<Difference> {
    target_diff(&snapshots.iter().map(|snapshot| &snapshot.target).collect::<Vec<_>>())
}

/// The name of a fact for people; a sysctl keeps its own.
pub fn shown(name: &str) -> String {
    if name.contains('.') { name.to_owned() } else { name.replace('_', " ") }
}
