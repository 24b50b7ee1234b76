//! The symptoms of this machine.
//!
//! Each check reads a few files and says at most one symptom, with what it saw and where; a file that
//! can't be read is not a symptom. `symptoms.rs` has the words for all of them, `Diagnosis` the rule that
//! makes a mark of them.

mod access;
mod diagnose;
mod directory;
mod found;
mod memory;
mod neighbours;
mod processor;
mod symptoms;

pub use diagnose::{DiagnosisInput, diagnose};
pub use directory::FilesystemRoom;
pub use neighbours::MachineActivity;
pub use symptoms::{SYMPTOMS, SymptomKind};
