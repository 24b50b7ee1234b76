//! Where workloads work: a folder below the target directory, or a device whose data may be lost; and the folder for what
//! plumb itself needs.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use plumb_keeper::Keeper;

use crate::error::{CommandError, Result};
use crate::locate;

/// Of a device: only when nobody else has it so, nor has it mounted (open(2)).
const O_EXCL: i32 = rustix::fs::OFlags::EXCL.bits().cast_signed();

/// The target of a run, as it is typed.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Create a folder for test files in this directory [default: .]
    ///
    /// With --destroy-data, DIR is a device, for workloads that can use one.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Repeat the device given to --dir to confirm that its data will be destroyed
    #[arg(long, value_name = "DEVICE", requires = "dir", hide_short_help = true)]
    destroy_data: Option<PathBuf>,
}

impl TargetArgs {
    /// What was typed, or this folder.
    pub fn or<'t>(&'t self, other: Option<&'t Path>) -> FilesPlace<'t> {
        FilesPlace::Under {
            parent: self.dir.as_deref().or(other),
            destroy: self.destroy_data.as_deref(),
        }
    }

    /// The directory that was typed.
    pub fn folder(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Whether a device was typed, whose data is lost.
    pub fn has_device(&self) -> bool {
        self.destroy_data.is_some()
    }

    /// What was typed.
    pub fn place(&self) -> FilesPlace<'_> {
        self.or(None)
    }
}

/// Where a run's files go.
#[derive(Debug, Clone, Copy)]
pub enum FilesPlace<'p> {
    /// A fresh folder under `parent`, or under the current one.
    Under {
        /// A folder, or a device.
        parent: Option<&'p Path>,
        /// The device whose data may be lost.
        destroy: Option<&'p Path>,
    },
    /// Nothing is written to a target directory.
    Scratch,
}

impl FilesPlace<'_> {
    /// The folder, or the device, that files are made in or on.
    pub fn path(&self) -> PathBuf {
        let parent = match self {
            Self::Under { parent: Some(parent), .. } => parent,
            Self::Under { parent: None, .. } | Self::Scratch => Path::new("."),
        };
        // A folder that does not exist is refused later, with a remedy.
        parent.canonicalize().unwrap_or_else(|_| parent.to_path_buf())
    }
}

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
pub fn folders(keeper: &mut Keeper, place: &FilesPlace<'_>) -> Result<Folders> {
    let name = locate::fresh_name();
    let temporary = std::env::temp_dir();
    // If there is no folder for temporary files (an empty chroot), the current one has to do.
    let parent = if temporary.is_dir() {
        temporary
    } else {
        fs::canonicalize(".").unwrap_or_else(|_| PathBuf::from("/"))
    };
    let scratch = parent.join(format!("{name}-scratch"));
    make(keeper, &scratch, "TMPDIR=FOLDER plumb …")?;
    let (dir, device) = match place {
        FilesPlace::Scratch => (scratch.clone(), None),
        FilesPlace::Under { parent, destroy } => target(keeper, &name, *parent, *destroy)?,
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
            .hint("give an existing, writable folder: --dir FOLDER")
    })?;
    if let Some(device) = free_device(&full, destroy)? {
        return Ok((full, Some(device)));
    }
    let dir = full.join(name);
    make(keeper, &dir, "--dir FOLDER")?;
    Ok((dir, None))
}

fn make(keeper: &mut Keeper, folder: &Path, hint: &str) -> Result<()> {
    // The keeper and the workloads get paths in JSON.
    if folder.to_str().is_none() {
        return Err(not_made(folder, "its path is not UTF-8", hint));
    }
    // The keeper learns of it first: a plumb that is killed in between leaves nothing behind.
    keeper.own(folder)?;
    // Servers that run as another user go through it, so others may enter, but neither list nor write.
    let made = fs::DirBuilder::new().mode(0o711).create(folder);
    made.map_err(|error| not_made(folder, &error.to_string(), hint))
}

fn not_made(folder: &Path, why: &str, hint: &str) -> CommandError {
    CommandError::usage(format!("can't make the folder {}: {why}", folder.display()))
        .hint(format!("give a writable one: {hint}"))
}

/// The device that this is, which then may be written: the user named it twice, and the kernel uses it for nothing. As
/// long as it is held so, nobody can mount it.
///
/// # Errors
/// When it is one and may not be written, or only was to be one.
pub fn free_device(full: &Path, destroy: Option<&Path>) -> Result<Option<File>> {
    let is_device = fs::metadata(full).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let named = destroy.and_then(|path| fs::canonicalize(path).ok());
    let shown = full.display();
    match (is_device, destroy) {
        (false, None) => return Ok(None),
        (false, Some(device)) => {
            let device = device.display();
            let why = format!("--destroy-data {device}: --dir {shown} is not a device");
            return Err(CommandError::usage(why)
                .hint("for a folder, give --dir alone; its contents are kept"));
        }
        (true, None) => {
            let why = format!("--dir {shown} is a device, and all its data would be lost");
            let hint = format!("to accept that: --dir {shown} --destroy-data {shown}");
            return Err(CommandError::usage(why).hint(hint));
        }
        (true, Some(device)) if named.as_deref() != Some(full) => {
            let device = device.display();
            let why = format!("--destroy-data {device} and --dir {shown} are different devices");
            return Err(CommandError::usage(why));
        }
        (true, Some(_)) => {}
    }
    // The kernel lets nobody have a device alone that is mounted, swapped to, or below something that is.
    let alone = OpenOptions::new().read(true).write(true).custom_flags(O_EXCL).open(full);
    match alone {
        Ok(device) => Ok(Some(device)),
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
            let why =
                format!("{shown} is mounted, or the kernel uses it for swap, LVM, RAID or similar");
            Err(CommandError::usage(why).hint("`lsblk` shows what it is used for"))
        }
        Err(error) => Err(CommandError::usage(format!("{shown} can't be written: {error}"))),
    }
}
