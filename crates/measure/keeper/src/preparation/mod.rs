//! Preparations: what can be done to a machine, or to a process, before it is measured.
//!
//! A *knob* is a name that people set (`knob.rs` lists them). It comes to one of four things: settings
//! of the machine, which the keeper's journal changes and changes back; the manner in which a process is
//! started; a control group for it; or an action without an undo.

mod action;
mod knob;
mod machine;
mod manner;
mod preset;
mod setting;

pub use action::Action;
pub use knob::{KNOBS, Knob, Lasts, Part, Step, Unusable, Wanted, check, parse, resolve, slotted};
pub use machine::cpuset;
pub use manner::{Class, Manner, PADDING, PADDING_LENGTH};
pub use preset::{PRESETS, preset};
pub use setting::{OFF, ON, Setting};
