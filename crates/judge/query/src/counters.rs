//! What monitors counted next to the invocations of runs.

use plumb_analysis::Counters;
use plumb_model::{Id, RunRecord};
use plumb_store::{Error, Store};

/// What monitors counted beside the invocations of these runs.
///
/// # Errors
/// When the store can't be read.
pub fn counters<'r>(
    store: &Store,
    records: impl IntoIterator<Item = &'r RunRecord>,
) -> Result<Counters, Error> {
    let mut all = Counters::new();
    for record in records {
        all.extend(store.counters(record.run)?);
    }
    Ok(all)
}

/// Reads what monitors counted next to the invocations of a run.
pub(crate) fn counters_of(store: &Store) -> impl Fn(Id) -> Result<Counters, Error> + '_ {
    |run| Ok(store.counters(run)?.into_iter().collect())
}
