//! What monitors counted next to the invocations of runs.

use plumb_analysis::CounterMeans;
use plumb_model::{Id, RunRecord};
use plumb_store::{Store, StoreError};

/// What monitors counted beside the invocations of these runs.
///
/// # Errors
/// When the store can't be read.
pub fn counters<'r>(
    store: &Store,
    records: impl IntoIterator<Item = &'r RunRecord>,
) -> Result<CounterMeans, StoreError> {
    let mut all = CounterMeans::new();
    for record in records {
        all.extend(store.counters(record.run)?);
    }
    Ok(all)
}

/// Reads what monitors counted next to the invocations of a run.
pub(crate) fn counters_of(store: &Store) -> impl Fn(Id) -> Result<CounterMeans, StoreError> + '_ {
    |run| Ok(store.counters(run)?.into_iter().collect())
}
