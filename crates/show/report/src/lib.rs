//! From a finding to what people and machines read.
//!
//! [`View`] is made once of a finding; terminal, JSON, Markdown, CSV and sentences all read it, so
//! that they cannot disagree. Nothing is printed: every function gives text back or writes into what it
//! is handed. Units are converted and text from elsewhere is cleaned by `plumb-text`, charts are drawn by
//! `plumb-chart`.

mod audit;
pub mod charts;
mod check;
pub mod comparison;
pub mod covariates;
pub mod csv;
mod diagnosis;
pub mod export;
mod figure;
pub mod flags;
pub mod header;
pub mod history;
mod interference;
pub mod json;
pub mod live;
pub mod machine;
mod markdown;
pub mod monitors;
pub mod names;
pub mod progress;
mod scorecard;
pub mod sketch;
pub mod view;
mod words;

pub use audit::{AUDIT_SCHEMA, AuditClock, AuditDocument, audit_card, audit_document};
pub use check::{
    CHECK_SCHEMA, CheckDocument, check_card, check_document, check_json, check_markdown,
};
pub use comparison::{
    COMPARISON_SCHEMA, ComparisonDocument, comparison_card, comparison_document, comparison_json,
    comparison_markdown,
};
pub use csv::{csv, samples_csv};
pub use diagnosis::{DOCTOR_SCHEMA, DoctorDocument, LastAudit, doctor_card, doctor_document};
pub use figure::figure;
pub use flags::meaning;
pub use header::{Header, Place};
pub use history::{
    HISTORY_SCHEMA, HistoryDocument, history_card, history_document, history_json, history_markdown,
};
pub use json::{RunDocument, document, json};
pub use machine::{MACHINE_SCHEMA, MachineDocument, Portrait, machine_card, machine_document};
pub use markdown::markdown;
pub use monitors::{
    COUNTERS_SCHEMA, CountersDocument, EffectPart, MONITORS_SCHEMA, MonitorPart, MonitorsDocument,
    counters_card, counters_document, monitors_card,
};
pub use scorecard::{Closing, scorecard};
pub use view::{Family, FlagNote, Row, View};
pub use words::in_words;
