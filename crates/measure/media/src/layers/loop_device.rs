//! `medium=loop+…`.

use plumb_protocol::StartError;

use crate::building::{Building, failed};
use crate::layer::{Gives, Layer, On, Takes};
use crate::loop_ioctl;
use crate::needs::no_file;
use crate::room::Room;

/// What it takes at most unless told otherwise.
const MOST: u64 = 8 << 30;

/// This layer.
pub const LAYER: Layer = Layer {
    name: "loop",
    summary: "a loop device over a file in the target directory",
    takes: Takes::Size,
    manual: include_str!("loop_device.md"),
    on: On::Folder,
    gives: Gives::Device,
    missing: |root| no_file(root, "/dev/loop-control", "loop", "another layer: zram+ext4"),
    lay: |building, option| {
        let size = Room::in_folder(&building.surface)?.size("loop", option, (4, 5), MOST)?;
        lay(building, size)
    },
};

/// A loop device over a fresh file of this size in the surface.
///
/// # Errors
/// When either can't be made.
pub fn lay(building: &mut Building<'_>, size: u64) -> Result<(), StartError> {
    let (file, path) = building.file(size)?;
    let (device, node) = loop_ioctl::over(&file).map_err(|error| failed(&path, &error))?;
    building.keep(device);
    // The device has it open: it is gone with that, whoever is killed.
    std::fs::remove_file(&path).map_err(|error| failed(&path, &error))?;
    building.notes.push(format!("{} MiB on {}", size >> 20, node.display()));
    building.surface = node;
    Ok(())
}
