//! `medium=…+ext2`.

use plumb_machine::Root;

use super::filesystem::{self, mke2fs};
use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};

/// The layer `ext2`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "ext2",
    summary: "ext2, without a journal",
    takes: LayerOption::MountOptions,
    manual: include_str!("ext2.md"),
    on: LayerBase::Device,
    gives: LayerSurface::Folder,
    missing: |root: &Root| filesystem::missing(root, "ext2", "mkfs.ext2", "e2fsprogs"),
    lay: |building, option| filesystem::lay(building, "ext2", &mut mke2fs("ext2"), ["", option]),
};
