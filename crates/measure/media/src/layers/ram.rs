//! `medium=ram+…`.

use plumb_protocol::StartError;

use super::loop_device;
use crate::building::Building;
use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};
use crate::needs::no_file;
use crate::room::FreeRoom;

/// The layer `ram`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "ram",
    summary: "a device in memory",
    takes: LayerOption::Size,
    manual: include_str!("ram.md"),
    on: LayerBase::Nothing,
    gives: LayerSurface::Device,
    missing: |root| no_file(root, "/dev/loop-control", "loop", "use another layer: zram+ext4"),
    lay,
};

fn lay(building: &mut Building<'_>, option: &str) -> Result<(), StartError> {
    let size = FreeRoom::in_memory(building.start).size("ram", option)?;
    // Its own pages, too, count as full.
    building.mount("tmpfs", &format!("size={}", size + (1 << 20)), "tmpfs".as_ref())?;
    loop_device::lay(building, size)
}
