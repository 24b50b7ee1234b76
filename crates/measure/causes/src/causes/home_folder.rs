//! A home folder on a slow filesystem.

use crate::cause::{Cause, Suspect, Suspicion};
use crate::causes::filesystem::on_slow_filesystem;

/// The folder in HOME.
pub const CAUSE: Cause = Cause {
    name: "home-folder",
    summary: "a home folder on a slow filesystem",
    manual: include_str!("home_folder.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    on_slow_filesystem(suspect, "HOME", "/", "keep what programs read at start on a local disk")
}
