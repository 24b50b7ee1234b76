//! A series over its runs.

mod json;
pub(crate) mod terminal;
pub(crate) mod view;

pub use json::{HISTORY_SCHEMA, HistoryDocument, history_document, history_json};
pub use terminal::history_card;
pub use view::{Between, between, closing, history_markdown, label_keys, label_of, short, step};
