//! A check against a baseline.

mod terminal;

pub use terminal::{
    CHECK_SCHEMA, CheckDocument, check_card, check_document, check_json, check_markdown,
};
