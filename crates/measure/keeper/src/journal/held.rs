//! The changes in all journals of a folder.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::journal::file::{Intent, JournalContent, JournalEntry, journals, read};
use crate::private::check_private;
use crate::setting::SystemSetting;

/// A change that some journal holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldChange {
    /// The setting that was changed.
    pub setting: SystemSetting,
    /// The value before.
    pub was: String,
    /// The value that it was given.
    pub became: String,
    /// The plumb that did it.
    pub plumb: u32,
    /// Whether its keeper lives.
    pub alive: bool,
}

/// The changes in all journals now.
#[must_use]
pub fn held(folder: &Path) -> Vec<HeldChange> {
    // What others could have written there says nothing.
    if check_private(folder).is_err() {
        return Vec::new();
    }
    journals(folder).iter().flat_map(|path| held_by(path)).collect()
}

fn held_by(path: &Path) -> Vec<HeldChange> {
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    // A keeper holds the exclusive lock while it lives; the kernel releases it at its end, however it ends.
    let alive = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    let Some(JournalContent { header, entries }) = read(&mut file) else { return Vec::new() };
    let plumb = header.plumb;
    let mut held = Vec::new();
    for JournalEntry { intent: Intent { setting, was, to }, became, .. } in entries {
        // A keeper that died during the change left no value: the one that it meant to write is the best guess.
        let became = became.unwrap_or(to);
        held.push(HeldChange { setting, was, became, plumb, alive });
    }
    held
}
