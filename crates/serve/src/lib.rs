//! From a store to its pages: the site that is written to a folder, and the same over HTTP.
//!
//! `plumb-report` turns findings into pages and knows no store; this crate reads what a page needs, and
//! has it made. Nothing here writes to a store.

pub mod findings;
pub mod folder;
mod pages;

pub use pages::{Pages, Reader};
