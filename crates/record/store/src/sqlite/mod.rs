//! The store in one SQLite file.

mod baseline;
mod chunk;
mod content;
mod counters;
mod db_error;
mod derived;
mod fixture_notes;
mod fleet;
mod info;
mod kept;
mod merge;
mod open;
mod read;
mod salt;
mod schema;
mod series;
mod slurm;
mod snapshot;
mod store;
mod updates;
mod version;
mod write;

pub(crate) use store::Sqlite;
