//! Runs that were interrupted, and can be completed.

use plumb_model::{Id, RunRecord, RunStatus};
use plumb_store::{Store, short};

use crate::error::{CommandError, Result};

/// The record of a run that can be completed.
///
/// # Errors
/// When it is complete already, or somebody carries it out.
pub fn interrupted(store: &Store, run: Id) -> Result<RunRecord> {
    let record = store.record(run)?;
    let name = short(run);
    match record.status {
        RunStatus::Interrupted => Ok(record),
        RunStatus::Complete => Err(CommandError::usage(format!("run {name} is complete"))
            .hint("plumb show --runs lists the runs; plumb run starts a new one")),
        RunStatus::Running => Err(CommandError::usage(format!("run {name} is still running"))
            .hint("plumb show --runs lists the runs")),
    }
}
