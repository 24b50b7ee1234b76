//! `medium=…+xfs`.

use plumb_machine::Root;
use plumb_workload_kit::tool::tool;

use super::filesystem;
use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};

/// The layer `xfs`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "xfs",
    summary: "XFS",
    takes: LayerOption::MountOptions,
    manual: include_str!("xfs.md"),
    on: LayerBase::Device,
    gives: LayerSurface::Folder,
    missing: |root: &Root| filesystem::missing(root, "xfs", "mkfs.xfs", "xfsprogs"),
    lay: |building, option| {
        filesystem::lay(building, "xfs", tool("mkfs.xfs").args(["-q", "-f", "-K"]), ["", option])
    },
};
