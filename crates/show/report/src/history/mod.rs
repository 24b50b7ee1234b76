//! A series over its runs.

mod json;
mod markdown;
mod terminal;
pub(crate) mod view;

pub use json::{HISTORY_SCHEMA, HistoryDocument, history_document, history_json};
pub use markdown::history_markdown;
pub use terminal::history_card;
pub use view::{
    HistoryEvent, closing, events_before, label_keys, label_of, short, step, typed_series,
};
