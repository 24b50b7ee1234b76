//! `medium=…+raw`.

use crate::layer::{Gives, Layer, On, Takes};

/// The layer `raw`: what it lies on, what it gives, and how it is built.
pub const LAYER: Layer = Layer {
    name: "raw",
    summary: "the device below itself, without a filesystem",
    takes: Takes::Nothing,
    manual: include_str!("raw.md"),
    on: On::Device,
    gives: Gives::Target,
    missing: |_| None,
    lay: |_, _| Ok(()),
};
