//! Preparations: what can be done to a machine, or to a process, before it is measured.
//!
//! A *knob* is a name that people set: a file in `knobs/` with its manual next to it. It comes to settings
//! of the machine, which the keeper's journal changes and changes back; to an action that leaves nothing
//! to undo; or to an option with which processes are started (`spawn_options.rs`).

mod action;
mod control_group;
mod files;
mod knob;
mod knobs;
mod one_time;
mod preset;
mod process;
mod resolve;
mod units;

pub use action::Action;
pub use control_group::{GroupLimit, control_group};
pub use knob::{Assignment, Knob, Lasts, Resolved, Suffix, Unusable};
pub use knobs::KNOBS;
pub use preset::{PRESETS, preset};
pub use resolve::{check, named, parse, resolve, slotted};
