//! Merges another store into this one.

use std::path::Path;

use super::Store;
use crate::Error;

/// What a merge brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergeReport {
    /// Runs that were not here before.
    pub runs: u64,
    /// Invocations that were not here before.
    pub invocations: u64,
    /// Samples that were not here before.
    pub samples: u64,
}

pub(super) fn merge(store: &mut Store, other: &Path) -> Result<MergeReport, Error> {
    Err(Error::Changing { path: store.path().join(other) })
}
