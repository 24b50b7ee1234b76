//! The outcome of preparing a slot, or of undoing it.

use plumb_model::Prepared;

/// What was prepared, and what is to be known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SlotReport {
    /// What was made.
    pub prepared: Vec<Prepared>,
    /// What of it is to be undone.
    pub to_undo: Vec<String>,
    /// What was undone.
    pub restored: Vec<String>,
    /// What was skipped, or is not as it was meant.
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
