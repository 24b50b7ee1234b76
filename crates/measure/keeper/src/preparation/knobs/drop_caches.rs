//! `--set drop-caches`: syncs, then drops the page cache.

use crate::preparation::action::Action;
use crate::preparation::knob::{Knob, Lasts, Suffix};
use crate::preparation::one_time::simple;

/// Writes dirty pages back and empties the page cache.
pub const KNOB: Knob = Knob {
    name: "drop-caches",
    values: "",
    example: "drop-caches",
    summary: "syncs, then drops the page cache",
    manual: include_str!("drop_caches.md"),
    lasts: Lasts::Done,
    suffix: Suffix::None,
    resolve: |root, _, value| simple(root, value, Action::DropCaches),
    now: |_| None,
};
