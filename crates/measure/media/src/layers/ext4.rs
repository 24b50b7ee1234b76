//! `medium=…+ext4`.

use plumb_machine::Root;
use plumb_protocol::StartError;

use super::filesystem::{self, mke2fs};
use crate::building::Building;
use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};

/// The layer `ext4`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "ext4",
    summary: "ext4",
    takes: LayerOption::MountOptions,
    manual: include_str!("ext4.md"),
    on: LayerBase::Device,
    gives: LayerSurface::Folder,
    missing: |root: &Root| filesystem::missing(root, "ext4", "mkfs.ext4", "e2fsprogs"),
    lay,
};

fn lay(building: &mut Building<'_>, option: &str) -> Result<(), StartError> {
    let mut maker = mke2fs("ext4");
    if building.above.last() == Some(&"fscrypt") {
        maker.args(["-O", "encrypt"]);
    }
    filesystem::lay(building, "ext4", &mut maker, ["noinit_itable", option])
}
