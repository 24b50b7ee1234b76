//! How far somebody has read what is stored of a run.

use std::collections::BTreeSet;

use plumb_model::{Id, Plan};

/// A run that is followed, and how far: the keys of the last rows that were read. Rows are only ever
/// added, and those of one run in the order of their keys.
#[derive(Debug, Clone)]
pub struct Follow {
    /// Identity of the run.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// The plan of this execution.
    pub plan: Plan,
    /// The run's own row.
    pub(crate) key: i64,
    pub(crate) last: LastRows,
    /// Measured invocations that have begun and not ended; some were cut off.
    pub(crate) open: BTreeSet<i64>,
    /// The latest measured invocation.
    pub(crate) latest: i64,
}

/// The keys of the last rows that were read.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastRows {
    pub(crate) decision: i64,
    pub(crate) invocation: i64,
    pub(crate) exclusion: i64,
    pub(crate) requirement: i64,
    pub(crate) log: i64,
}

impl Follow {
    /// A run of which nothing was read yet.
    pub(crate) fn begin(run: Id, started_unix_ns: i64, plan: Plan, key: i64) -> Self {
        let last = LastRows::default();
        let open = BTreeSet::new();
        Self { run, started_unix_ns, plan, key, last, open, latest: 0 }
    }
}
