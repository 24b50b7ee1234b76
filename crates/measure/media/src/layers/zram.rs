//! `medium=zram+…`.

use std::path::PathBuf;

use plumb_protocol::StartError;

use crate::building::{Building, ZRAM, failed};
use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};
use crate::needs::MissingNeed;
use crate::room::FreeRoom;

/// The layer `zram`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "zram",
    summary: "a compressed device in memory",
    takes: LayerOption::Size,
    manual: include_str!("zram.md"),
    on: LayerBase::Nothing,
    gives: LayerSurface::Device,
    missing: |root| {
        (!root.path("/sys/class/zram-control/hot_add").exists()).then(|| {
            MissingNeed::new(
                "this kernel has no zram, or zram is not loaded",
                "run `modprobe zram`, or use another layer: ram+ext4",
            )
        })
    },
    lay,
};

/// The device is there: the journal of the keeper holds it.
fn lay(building: &mut Building<'_>, option: &str) -> Result<(), StartError> {
    let number = building.start.integer(ZRAM);
    let size = FreeRoom::in_memory(building.start).size("zram", option)?;
    let file = PathBuf::from(format!("/sys/block/zram{number}/disksize"));
    std::fs::write(&file, size.to_string()).map_err(|error| failed(&file, &error))?;
    building.surface = PathBuf::from(format!("/dev/zram{number}"));
    building.notes.push(format!(
        "{} on {}",
        plumb_units::whole_size(size),
        building.surface.display()
    ));
    Ok(())
}
