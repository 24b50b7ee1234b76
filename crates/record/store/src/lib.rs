//! The store: events in, records out.
//!
//! A [`Writer`] listens to the engine and has committed every batch before it returns, so that
//! `kill -9` loses nothing that was acknowledged. A [`Store`] gives records back, names runs,
//! tells how it is, and merges another store. The file is SQLite; `docs/store.md` documents its
//! tables and views. [`Backend`] is what another database would have to do.

mod backend;
mod error;
#[cfg(test)]
#[path = "../tests/store/events.rs"]
#[expect(dead_code, reason = "the other tests use the rest")]
mod events;
mod names;
mod owner;
mod sqlite;

pub use backend::{Backend, RunSummary};
pub use error::{Error, ErrorKind};
pub use plumb_model::short_id as short;
pub use sqlite::{AuditFact, Baseline, Follow, MergeReport, Store, StoreInfo, Writer, info};
