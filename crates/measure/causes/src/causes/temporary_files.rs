//! Temporary files on a slow filesystem.

use crate::cause::{Cause, Suspect, Suspicion};
use crate::causes::filesystem::on_slow_filesystem;

/// The folder in TMPDIR.
pub const CAUSE: Cause = Cause {
    name: "temporary-files",
    summary: "temporary files on a slow filesystem",
    manual: include_str!("temporary_files.md"),
    suspect,
};

fn suspect(suspect: &Suspect<'_>) -> Option<Suspicion> {
    on_slow_filesystem(
        suspect,
        "TMPDIR",
        "/tmp",
        "keep temporary files on a local disk or in memory",
    )
}
