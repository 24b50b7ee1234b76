//! The file of a new suite.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::error::{CommandError, Result};
use crate::planning::points;

/// What stands for stdout in place of a file.
pub const STDOUT: &str = "-";
/// What to try if the file is not a suite.
pub const FILES: &str = "name a file that ends in .toml, or `-` for stdout";

/// Only what `run` takes for a suite, and nothing that somebody wrote already.
pub fn refuse_file(file: &str, force: bool) -> Result<()> {
    if file == STDOUT {
        return Ok(());
    }
    if !points::is_suite_file(Path::new(file)) {
        return Err(
            CommandError::usage(format!("`{file}` is not the name of a suite file")).hint(FILES)
        );
    }
    if !force && Path::new(file).exists() {
        return Err(taken(file));
    }
    Ok(())
}

fn taken(file: &str) -> CommandError {
    CommandError::usage(format!("{file} exists")).hint("name another file, or add --force")
}

/// Writes it, over an existing file only by force. Where that fails, no half of it is left, and what was there stays.
pub fn write(file: &str, text: &str, force: bool) -> Result<()> {
    // Written next to the old file and renamed: on a full disk the old suite survives.
    let fresh = if force { format!("{file}.new") } else { file.to_owned() };
    let mut options = OpenOptions::new();
    // `create_new` even though the name was free before: somebody may have taken it while the menus were open.
    options.write(true).create_new(!force).create(force).truncate(force);
    let opened = options.open(&fresh);
    let is_open = opened.is_ok();
    let written = opened.and_then(|mut open| open.write_all(text.as_bytes()));
    let placed = written.and_then(|()| if force { fs::rename(&fresh, file) } else { Ok(()) });
    placed.map_err(|error| {
        // A file that could not be opened is not ours to remove.
        if is_open {
            let _ = fs::remove_file(&fresh);
        }
        match error.kind() {
            ErrorKind::AlreadyExists => taken(file),
            _ => CommandError::file(format!("can't write {file}: {error}")),
        }
    })
}
