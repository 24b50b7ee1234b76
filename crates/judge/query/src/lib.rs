//! What is found in the runs of a store: what the command line shows, and pages and documents are made of.
//!
//! Each question reads what its answer needs, and no more: the record of a run, its counters, and the
//! earlier runs that tell how much runs differ by themselves. Judging is `analysis`; nothing here draws.

mod earlier;
mod previous;
mod series;

pub use earlier::others;
pub use previous::{last_comparable, previous, since_last};
pub use series::{KeptSeries, entries, keep};

use std::collections::BTreeSet;

use plumb_analysis::{
    CommonMovements, CompareSettings, ComparisonFinding, Counters, RunFinding, Traces,
    add_covariates, add_covariates_to_levels, add_covariates_to_points, compare, summarise,
};
use plumb_model::{Host, Id, InvocationRecord, RunRecord, RunStatus, SeriesRecord};
use plumb_store::{Error, RunSummary, Store};

/// What a run shows, with what moved where sides of it differ.
///
/// # Errors
/// When the store can't be read.
pub fn of_run(store: &Store, record: &RunRecord) -> Result<RunFinding, Error> {
    let mut finding = summarise(record);
    let has_levels = finding.results.iter().any(|result| result.levels.is_some());
    if has_levels || !finding.against_first.is_empty() {
        let counters = counters(store, [record])?;
        add_covariates_to_points(&mut finding, record, &counters);
        add_covariates_to_levels(&mut finding, record, &counters);
    }
    Ok(finding)
}

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

/// How these runs compare with the first of them, and what moved with that.
///
/// # Errors
/// When the store can't be read.
pub fn of_runs(
    store: &Store,
    records: &[RunRecord],
    settings: &CompareSettings,
) -> Result<ComparisonFinding, Error> {
    let mut finding = compare(records, &earlier(store, records)?, settings);
    add_covariates(&mut finding, records, settings, &counters(store, records)?);
    Ok(finding)
}

fn earlier(store: &Store, records: &[RunRecord]) -> Result<Vec<RunRecord>, Error> {
    let runs: Vec<Id> = records.iter().map(|record| record.run).collect();
    others(&store.summaries()?, &runs).into_iter().map(|run| store.record(run)).collect()
}

/// By how much all series moved together in these runs, of the newest hundred of those that have enough points to tell.
///
/// # Errors
/// When the store can't be read.
pub fn common_movements(store: &Store, records: &[SeriesRecord]) -> Result<CommonMovements, Error> {
    let wide = |it: &RunSummary| {
        it.points >= CommonMovements::FEWEST_POINTS && it.status == RunStatus::Complete
    };
    let of_series: BTreeSet<Id> = records.iter().map(|it| it.run).collect();
    let wide = store.summaries()?.into_iter().rev().filter(wide).map(|it| it.run);
    let runs: Vec<Id> =
        wide.filter(|run| of_series.contains(run)).take(CommonMovements::MOST_RUNS).collect();
    CommonMovements::read(&runs, |run| store.record(run))
}

/// The runs of a series on one kind of machine, and the host that a history of it is of: this one, where it
/// has runs; else that of the newest run.
#[must_use]
pub fn on_host(mut records: Vec<SeriesRecord>, here: &Host) -> (Vec<SeriesRecord>, Host) {
    let is_here = |it: &&SeriesRecord| here.known().is_some() && it.host == *here;
    let meant = records.iter().rfind(is_here).or(records.last());
    let meant = meant.map(|it| (it.machine.fingerprint.clone(), it.host.clone()));
    let (kind, host) = meant.unwrap_or_default();
    records.retain(|it| it.machine.fingerprint == kind);
    (records, host)
}

/// What monitors read beside the invocations of each of these runs.
///
/// # Errors
/// When the store can't be read.
pub fn traces(store: &Store, records: &[RunRecord]) -> Result<Vec<Traces>, Error> {
    let read = |it: &InvocationRecord| Ok((it.invocation, store.traces(it.invocation)?));
    let of_run = |record: &RunRecord| record.invocations.iter().map(read).collect();
    records.iter().map(of_run).collect()
}
