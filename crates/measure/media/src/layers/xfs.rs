//! `medium=…+xfs`.

use plumb_machine::Root;
use plumb_workload_kit::tool::tool;

use super::filesystem;
use crate::layer::{Gives, Layer, On, Takes};

/// The layer `xfs`: what it lies on, what it gives, and how it is built.
pub const LAYER: Layer = Layer {
    name: "xfs",
    summary: "XFS",
    takes: Takes::MountOptions,
    manual: include_str!("xfs.md"),
    on: On::Device,
    gives: Gives::Folder,
    missing: |root: &Root| filesystem::missing(root, "xfs", "mkfs.xfs", "xfsprogs"),
    lay: |building, option| {
        filesystem::lay(building, "xfs", tool("mkfs.xfs").args(["-q", "-f", "-K"]), ["", option])
    },
};
