//! The store: events in, records out.
//!
//! A [`Writer`] listens to the engine and has committed every batch before it returns, so that
//! `kill -9` loses nothing that was acknowledged. A [`Store`] gives records back, names runs,
//! shows how it is, and merges another store. [`Backend`] is what a database does to be one, and all that
//! anybody else knows of it; today that is one SQLite file (`sqlite/`), whose tables and views
//! `docs/store.md` documents.

mod answers;
mod backend;
mod error;
#[cfg(test)]
#[path = "../tests/store/events.rs"]
#[expect(dead_code, reason = "the other tests use the rest")]
mod events;
mod follow;
mod handle;
mod names;
mod owner;
mod sqlite;

pub use answers::{
    AuditFact, Baseline, DerivedRun, FreshlyDerived, KeptFile, MergeReport, RunEnd, RunSummary,
    SecretSalt, StoreInfo,
};
pub use backend::{Backend, Writer};
pub use error::{ErrorKind, StoreError};
pub use follow::Follow;
pub use handle::{Store, info};
pub use plumb_model::short_id as short;
