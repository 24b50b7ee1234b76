//! `medium=…+btrfs`.

use plumb_machine::Root;
use plumb_workload_kit::tool::tool;

use super::filesystem;
use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};

/// The layer `btrfs`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "btrfs",
    summary: "Btrfs, a copy-on-write filesystem",
    takes: LayerOption::MountOptions,
    manual: include_str!("btrfs.md"),
    on: LayerBase::Device,
    gives: LayerSurface::Folder,
    missing: |root: &Root| filesystem::missing(root, "btrfs", "mkfs.btrfs", "btrfs-progs"),
    lay: |building, option| {
        filesystem::lay(
            building,
            "btrfs",
            tool("mkfs.btrfs").args(["-q", "-f", "-K"]),
            ["nodiscard", option],
        )
    },
};
