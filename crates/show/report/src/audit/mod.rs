//! The audit of a machine.

mod terminal;

pub use terminal::{AUDIT_SCHEMA, AuditClock, AuditDocument, audit_card, audit_document};
