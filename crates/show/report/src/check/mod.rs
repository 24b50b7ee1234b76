//! A check against a baseline.

mod json;
mod markdown;
mod terminal;
mod view;

pub use json::{CHECK_SCHEMA, CheckDocument, check_document, check_json};
pub use markdown::check_markdown;
pub use terminal::check_card;
