//! A check against a baseline.

mod json;
mod machines;
mod markdown;
mod quick;
mod quick_machines;
mod terminal;
mod view;

pub use json::{CHECK_SCHEMA, CheckDocument, check_document, check_json};
pub use machines::{
    CheckOfMachine, ChecksDocument, machine_checks_card, machine_checks_json,
    machine_checks_markdown,
};
pub use markdown::check_markdown;
pub use quick::{QuickBaseline, QuickCheckDocument, quick_check_card, quick_check_json};
pub use quick_machines::{
    QuickCheckOfMachine, QuickChecksDocument, quick_checks_card, quick_checks_json,
};
pub use terminal::check_card;
