//! The symptoms of a machine.

mod json;
mod terminal;
mod view;

pub use json::{DOCTOR_SCHEMA, DoctorDocument, doctor_document};
pub use terminal::doctor_card;
pub use view::LastAudit;
