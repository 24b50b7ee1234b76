//! The folders of a run: scratch and target.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use plumb_keeper::Keeper;

use crate::error::{CommandError, Result};
use crate::locate;
use crate::measuring::target::{Place, free_device};

/// Where a run works.
pub struct Folders {
    /// For keys, sockets and helpers.
    pub scratch: PathBuf,
    /// The target: a folder, or a device.
    pub dir: PathBuf,
    /// The device, held so that nobody mounts it meanwhile.
    pub device: Option<File>,
}

impl Folders {
    /// Those that were made, and go with the run.
    pub fn made(&self) -> Vec<&Path> {
        let dir = self.device.is_none().then_some(self.dir.as_path());
        std::iter::once(self.scratch.as_path()).chain(dir).collect()
    }
}

/// Makes the two folders, scratch and target; the keeper removes them, whatever happens. A device is a target as it is.
pub fn folders(keeper: &mut Keeper, place: &Place<'_>) -> Result<Folders> {
    let name = locate::fresh_name();
    let temporary = std::env::temp_dir();
    // Where there is no folder for temporary files (an empty chroot), the current one has to do.
    let here = || fs::canonicalize(".").unwrap_or_else(|_| PathBuf::from("/"));
    let temporary = if temporary.is_dir() { temporary } else { here() };
    let scratch = temporary.join(format!("{name}-scratch"));
    make(keeper, &scratch, "TMPDIR=FOLDER plumb …")?;
    let (dir, device) = match place {
        Place::Scratch => (scratch.clone(), None),
        Place::Under { parent, destroy } => target(keeper, &name, *parent, *destroy)?,
    };
    Ok(Folders { scratch, dir, device })
}

/// A fresh folder, or the device that was named.
fn target(
    keeper: &mut Keeper,
    name: &str,
    parent: Option<&Path>,
    destroy: Option<&Path>,
) -> Result<(PathBuf, Option<File>)> {
    let parent = parent.unwrap_or(Path::new("."));
    let full = fs::canonicalize(parent).map_err(|error| {
        CommandError::usage(format!("--dir {}: {error}", parent.display()))
            .hint("name a folder that exists and that you can write to: --dir FOLDER")
    })?;
    if let Some(device) = free_device(&full, destroy)? {
        return Ok((full, Some(device)));
    }
    let dir = full.join(name);
    make(keeper, &dir, "--dir FOLDER")?;
    Ok((dir, None))
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
