//! From a store to its pages: the site that is written to a folder, and the same over HTTP.
//!
//! `plumb-report` turns findings into pages and knows no store; this crate reads what a page needs, and
//! has it made. Nothing here writes to a store.

mod connections;
#[cfg(test)]
#[path = "../../../record/store/tests/store/events.rs"]
#[expect(dead_code, reason = "the store's tests use the rest")]
mod events;
pub mod folder;
mod follow;
mod http;
mod page_cache;
mod pages;
mod refusal;

pub use http::{HttpLimits, HttpServer, ReaderToken, ServeSettings};
pub use pages::StorePages;
pub use refusal::ServeRefusal;
