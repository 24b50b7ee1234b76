//! The outcome of preparing a slot, or of undoing it.

use plumb_model::Prepared;

/// The preparations of a slot, with remarks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlotReport {
    /// What was made.
    pub prepared: Vec<Prepared>,
    /// The parts that must be undone.
    pub to_undo: Vec<String>,
    /// The undone preparations.
    pub restored: Vec<String>,
    /// Notes on skipped or changed parts.
    pub notes: Vec<String>,
}

impl SlotReport {
    /// Adds what came of another step.
    pub fn extend(&mut self, other: Self) {
        self.prepared.extend(other.prepared);
        self.to_undo.extend(other.to_undo);
        self.restored.extend(other.restored);
        self.notes.extend(other.notes);
    }
}
