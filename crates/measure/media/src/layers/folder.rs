//! `medium=folder:/var/tmp`.

use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};

/// The layer `folder`: another folder than that of the run, on whatever it lies there.
pub const LAYER: MediumLayer = MediumLayer {
    name: "folder",
    summary: "a folder in another directory",
    takes: LayerOption::Path,
    manual: include_str!("folder.md"),
    on: LayerBase::Nothing,
    gives: LayerSurface::Target,
    missing: |_| None,
    // There is nothing to mount: the launcher makes a fresh folder in it, which the keeper removes.
    lay: |_, _| Ok(()),
};
