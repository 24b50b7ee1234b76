//! A machine, or what differs between several.

mod json;
mod terminal;
mod view;

pub use json::{MACHINE_SCHEMA, MachineDocument, machine_document};
pub use terminal::machine_card;
pub use view::{MachineSnapshot, shown};
