//! A home folder on a slow filesystem.

use std::path::Path;

use plumb_machine::holding;

use crate::cause::{Cause, Remedy, Removal, Suspect, Suspicion};
use crate::causes::filesystem::slow_filesystem;

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

/// A suspicion that the folder in a variable is slow; removed by another folder.
pub(super) fn on_slow_filesystem(
    suspect: &Suspect<'_>,
    variable: &str,
    instead: &str,
    remedy: &str,
) -> Option<Suspicion> {
    let folder = suspect.variable(variable).filter(|_| suspect.starts_programs())?;
    let what = slow_filesystem(&holding(suspect.root, Path::new(folder))?)?;
    Some(Suspicion {
        evidence: format!("{variable}={folder} {what}"),
        is_common: false,
        ways: vec![Removal::Knobs(vec![format!("set-env.{variable}={instead}")])],
        remedy: Remedy { text: remedy.to_owned(), command: String::new() },
    })
}
