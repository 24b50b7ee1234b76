//! Which point of a classic tool should read the same as which of plumb's, and whether they do.
//!
//! [`ROWS`] is the whole list. Each row is a comparison by pairs, classic first, with its band as the margin:
//! [`Crosschecked::of`] judges the run. What is shown of it is text, Markdown or a document.

mod finding;
mod json;
mod markdown;
mod rows;
#[cfg(test)]
mod schema;
mod terminal;
mod view;

pub use finding::{Agreement, Crosschecked};
pub use json::{CROSSCHECK_SCHEMA, CrosscheckDocument, crosscheck_document};
pub use markdown::crosscheck_page;
pub use rows::{PairedPoints, ROWS, families, rows_of, usual_budget};
pub use terminal::crosscheck_card;
