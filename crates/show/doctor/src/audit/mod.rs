//! The audit of a machine: comparisons of equals, which show how small a change it shows.

mod json;
mod terminal;

pub use json::{AUDIT_SCHEMA, AuditClock, AuditDocument, audit_document};
pub use terminal::audit_card;
