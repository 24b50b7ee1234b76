//! The store in one SQLite file.

mod baseline;
mod chunk;
mod content;
mod counters;
mod db_error;
mod info;
mod merge;
mod open;
mod read;
mod schema;
mod series;
mod series_cache;
mod snapshot;
mod store;
mod updates;
mod write;

pub use series_cache::{CachedSeries, SeriesCache};
pub(crate) use store::Sqlite;
