//! `medium=loop+…`.

use std::io::ErrorKind;

use plumb_protocol::StartError;
use plumb_workload_kit::loop_device;

use crate::building::Building;
use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};
use crate::needs::no_file;
use crate::room::FreeRoom;

/// The layer `loop`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "loop",
    summary: "a loop device backed by a file in the target directory",
    takes: LayerOption::Size,
    manual: include_str!("loop_device.md"),
    on: LayerBase::Folder,
    gives: LayerSurface::Device,
    missing: |root| no_file(root, "/dev/loop-control", "loop", "use another layer: zram+ext4"),
    lay: |building, option| {
        let size = FreeRoom::in_folder(&building.surface)?.size("loop", option)?;
        lay(building, size)
    },
};

/// A loop device over a fresh file of this size in the surface.
///
/// # Errors
/// When either can't be made.
pub fn lay(building: &mut Building<'_>, size: u64) -> Result<(), StartError> {
    let file = building.file(size)?;
    let (device, node) = loop_device::over(&file).map_err(|error| {
        let why = format!("can't set up a loop device: {error}");
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => {
                StartError::unsupported(why, "start plumb outside the container")
            }
            _ => StartError::Failed(why),
        }
    })?;
    building.keep(device);
    building.notes.push(format!("{} on {}", plumb_units::whole_size(size), node.display()));
    building.surface = node;
    Ok(())
}
