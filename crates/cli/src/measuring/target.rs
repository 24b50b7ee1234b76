//! Where workloads work: a folder below the target directory, or a device whose data may be lost.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use clap::Args;

use crate::error::{CommandError, Result};

/// The target of a run, as it is typed.
#[derive(Debug, Args)]
pub struct TargetArgs {
    /// Put test files into a new folder in this directory [default: .]
    ///
    /// With --destroy-data, workloads that can use a device use the device that is named here.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Repeat the device given to --dir to confirm that its data will be destroyed
    #[arg(long, value_name = "DEVICE", requires = "dir", hide_short_help = true)]
    destroy_data: Option<PathBuf>,
}

impl TargetArgs {
    /// What was typed, or this folder.
    pub fn or<'t>(&'t self, other: Option<&'t Path>) -> Place<'t> {
        Place::Under {
            parent: self.dir.as_deref().or(other),
            destroy: self.destroy_data.as_deref(),
        }
    }

    /// What was typed.
    pub fn place(&self) -> Place<'_> {
        self.or(None)
    }
}

/// Where a run's files go.
#[derive(Debug, Clone, Copy)]
pub enum Place<'p> {
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

/// The device that this is, which then may be written: the user named it twice, and the kernel uses it for nothing. As
/// long as it is held so, nobody can mount it.
///
/// # Errors
/// When it is one and may not be written, or only was to be one.
pub fn free_device(full: &Path, destroy: Option<&Path>) -> Result<Option<File>> {
    let is_device = fs::metadata(full).is_ok_and(|it| it.file_type().is_block_device());
    let named = destroy.and_then(|path| fs::canonicalize(path).ok());
    let shown = full.display();
    match (is_device, destroy) {
        (false, None) => return Ok(None),
        (false, Some(device)) => {
            let device = device.display();
            let why = format!("--destroy-data {device}: --dir {shown} is no device");
            return Err(
                CommandError::usage(why).hint("a folder needs --dir alone: nothing in it is lost")
            );
        }
        (true, None) => {
            let why = format!("--dir {shown} is a device, and all that is on it would be lost");
            let hint = format!("if that is what you want: --dir {shown} --destroy-data {shown}");
            return Err(CommandError::usage(why).hint(hint));
        }
        (true, Some(device)) if named.as_deref() != Some(full) => {
            let device = device.display();
            let why = format!("--destroy-data {device} is another device than --dir {shown}");
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
                format!("{shown} is mounted, or the kernel has it for swap, LVM, RAID or the like");
            Err(CommandError::usage(why).hint("`lsblk` says for what"))
        }
        Err(error) => Err(CommandError::usage(format!("{shown} can't be written: {error}"))),
    }
}

/// Of a device: only when nobody else has it so, nor has it mounted (open(2)).
const O_EXCL: i32 = rustix::fs::OFlags::EXCL.bits().cast_signed();
