//! The folders of a run: scratch and target.

use std::fs;
use std::path::{Path, PathBuf};

use plumb_keeper::Keeper;

use crate::error::{CommandError, Result};
use crate::locate;
use crate::measuring::job::Place;

/// Makes the two folders, scratch and target; the keeper removes them, whatever happens.
pub fn folders(keeper: &mut Keeper, place: &Place<'_>) -> Result<(PathBuf, PathBuf)> {
    let name = locate::fresh_name();
    let temporary = std::env::temp_dir();
    // Where there is no folder for temporary files (an empty chroot), the current one has to do.
    let here = || fs::canonicalize(".").unwrap_or_else(|_| PathBuf::from("/"));
    let temporary = if temporary.is_dir() { temporary } else { here() };
    let scratch = temporary.join(format!("{name}-scratch"));
    make(keeper, &scratch, "TMPDIR=FOLDER plumb …")?;
    let dir = match place {
        Place::Scratch => scratch.clone(),
        Place::Under(parent) => {
            let parent = parent.unwrap_or(Path::new("."));
            let full = fs::canonicalize(parent).map_err(|error| {
                CommandError::usage(format!("--dir {}: {error}", parent.display()))
                    .hint("name a folder that exists and that you can write to: --dir FOLDER")
            })?;
            let dir = full.join(&name);
            make(keeper, &dir, "--dir FOLDER")?;
            dir
        }
    };
    Ok((scratch, dir))
}

fn make(keeper: &mut Keeper, folder: &Path, hint: &str) -> Result<()> {
    let refused = |why: &dyn std::fmt::Display| {
        CommandError::usage(format!("can't make the folder {}: {why}", folder.display()))
            .hint(format!("name one that you can write to: {hint}"))
    };
    // The keeper and the workloads are told of folders in JSON.
    if folder.to_str().is_none() {
        return Err(refused(&"its path is not UTF-8"));
    }
    keeper.own(folder)?;
    fs::create_dir(folder).map_err(|error| refused(&error))
}
