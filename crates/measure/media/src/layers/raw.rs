//! `medium=…+raw`.

use crate::layer::{LayerBase, LayerOption, LayerSurface, MediumLayer};

/// The layer `raw`: what it lies on, what it gives, and how it is built.
pub const LAYER: MediumLayer = MediumLayer {
    name: "raw",
    summary: "the device below, without a filesystem",
    takes: LayerOption::Nothing,
    manual: include_str!("raw.md"),
    on: LayerBase::Device,
    gives: LayerSurface::Target,
    missing: |_| None,
    lay: |_, _| Ok(()),
};
