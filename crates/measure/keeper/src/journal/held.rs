//! What all journals of a folder hold.

use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::journal::file::{Entry, Intent, Written, journals, read};
use crate::setting::Setting;

/// A change that some journal holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldChange {
    /// What.
    pub setting: Setting,
    /// The value before.
    pub was: String,
    /// The value that it was given.
    pub became: String,
    /// The plumb that did it.
    pub plumb: u32,
    /// Whether its keeper lives.
    pub alive: bool,
}

/// What all journals hold now.
#[must_use]
pub fn held(folder: &Path) -> Vec<HeldChange> {
    journals(folder).iter().flat_map(|path| held_by(path)).collect()
}

fn held_by(path: &Path) -> Vec<HeldChange> {
    let Ok(mut file) = File::open(path) else { return Vec::new() };
    let alive = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    let Some(Written { header, entries }) = read(&mut file) else { return Vec::new() };
    let plumb = header.plumb;
    let one = |entry: Entry| {
        let Intent { setting, was, to } = entry.intent;
        HeldChange { setting, was, became: entry.became.unwrap_or(to), plumb, alive }
    };
    entries.into_iter().map(one).collect()
}
