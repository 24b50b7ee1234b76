//! What `plumb doctor` says of a machine: what is wrong with it for measuring, and how small a change it shows.
//!
//! A terminal and a document each; judging is `machine` and `analysis`.

mod audit;
mod doctor;
#[cfg(test)]
mod schemas;

pub use audit::{AUDIT_SCHEMA, AuditClock, AuditDocument, audit_card, audit_document};
pub use doctor::{DOCTOR_SCHEMA, DoctorDocument, LastAudit, doctor_card, doctor_document};
