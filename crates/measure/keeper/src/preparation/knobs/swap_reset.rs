//! `--set swap-reset`: turns swap off and on again.

use crate::preparation::action::Action;
use crate::preparation::knob::{Knob, Lasts, Suffix};
use crate::preparation::one_time::simple;

/// Moves all swapped pages back to memory: `swapoff`, then `swapon`.
pub const KNOB: Knob = Knob {
    name: "swap-reset",
    values: "",
    example: "swap-reset",
    summary: "turns swap off and on again",
    manual: include_str!("swap_reset.md"),
    lasts: Lasts::Done,
    suffix: Suffix::None,
    resolve: |root, _, value| simple(root, value, Action::SwapReset),
    now: |_| None,
};
