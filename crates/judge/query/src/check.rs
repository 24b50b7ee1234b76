//! What came of a check, with what the store says of its confirmed changes.

use std::borrow::Cow;

use plumb_analysis::{
    Caveats, ChangedSince, CheckFinding, Checker, ConfirmingSessions, FreshRun, RunReader,
    first_since_step,
};
use plumb_model::{By, Id};
use plumb_store::{Store, StoreError};

use crate::counters::counters_of;
use crate::series::{Selection, read};

/// What came of the screening run of a check and of the confirming sessions, which are stored. `by` says whose runs tell since
/// when a confirmed change has been there.
///
/// # Errors
/// When the store can't be read.
pub fn of_check(
    store: &Store,
    checker: &Checker<'_>,
    screen: &FreshRun,
    confirming: &ConfirmingSessions,
    doubts: Caveats,
    by: By,
) -> Result<CheckFinding, StoreError> {
    let since = |series: &str| -> Result<Option<ChangedSince>, StoreError> {
        let runs = read(store, Selection::Series(series))?;
        let first = first_since_step(&runs, by, checker.margin());
        Ok(first.map(|first| ChangedSince {
            run: first.run.run,
            started_unix_ns: first.run.started_unix_ns,
        }))
    };
    let record = |run: Id| Ok(Cow::Owned(store.record(run)?));
    let counters = counters_of(store);
    let mut reader = RunReader::new(&record).with_counters(&counters);
    checker.finish(screen, confirming, doubts, Some(&since), &mut reader)
}
