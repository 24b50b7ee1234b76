//! A machine, or what differs between several.

mod terminal;

pub use terminal::{
    MACHINE_SCHEMA, MachineDocument, Portrait, machine_card, machine_document, shown,
};
