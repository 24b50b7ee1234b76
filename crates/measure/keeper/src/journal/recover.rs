//! The restoring of changes whose keeper was killed, by the next plumb that starts.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use plumb_machine::{Root, boot_id};
use rustix::fs::{FlockOperation, flock};

use crate::journal::file::{JournalContent, journals, lock, read};
use crate::journal::journal::Journal;
use crate::journal::settled::Settled;
use crate::setting::SystemSetting;

/// Restores what journals without a keeper hold, and removes those of another boot.
#[must_use]
pub fn recover(root: &Root, folder: &Path) -> Vec<Settled> {
    if journals(folder).is_empty() {
        return Vec::new();
    }
    match lock(folder) {
        Ok(_lock) => recover_locked(root, folder),
        Err(_) => Vec::new(),
    }
}

/// The same for a caller who holds the lock of the folder.
pub(super) fn recover_locked(root: &Root, folder: &Path) -> Vec<Settled> {
    journals(folder).into_iter().flat_map(|path| recover_one(root, path)).collect()
}

fn recover_one(root: &Root, path: PathBuf) -> Vec<Settled> {
    let file = OpenOptions::new().read(true).write(true).open(&path);
    let Ok(mut file) = file else { return Vec::new() };
    // Its keeper may have removed it after it was listed: the open file then lives on without a name.
    let free = flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    if !free || file.metadata().is_ok_and(|metadata| metadata.nlink() == 0) {
        return Vec::new();
    }
    let Some(JournalContent { header, mut entries }) = read(&mut file) else {
        let _ = fs::remove_file(&path);
        return Vec::new();
    };
    let mut settled = Vec::new();
    if header.keeper.boot_id != boot_id(root) {
        let all = entries.len();
        // Only a plug-in knows whether what it changed outlives a boot.
        entries.retain(|entry| matches!(entry.intent.setting, SystemSetting::Plugin(_)));
        settled.extend((entries.len() < all).then(|| Settled::Stale(all - entries.len())));
    }
    let mut journal = Journal::left_behind(root.clone(), header.plumb, file, path, entries);
    settled.extend(journal.restore(0));
    settled
}
