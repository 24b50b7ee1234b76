//! What is wrong with a machine for measuring.

mod terminal;

pub use terminal::{DOCTOR_SCHEMA, DoctorDocument, LastAudit, doctor_card, doctor_document};
