//! What is found in the runs of a store: what the command line shows, and pages and documents are made of.
//!
//! Each question reads what its answer needs, and no more: series without samples ([`read`]), and on demand the
//! record of a run and its counters. Judging is `analysis`; nothing here draws.

mod check;
mod counters;
mod earlier;
mod fleet;
mod labelled;
mod previous;
mod series;
mod sessions;
mod stored_runs;

pub use check::of_check;
pub use counters::counters;
pub use earlier::others;
pub use fleet::{kinds_of_fleet, together_of_fleet};
pub use labelled::{MOST_GROUPED, NamedRuns, labelled};
pub use previous::{SinceLastRun, since_last};
pub use series::{Selection, SeriesByRun, fill, keep, read, read_costs};
pub use sessions::earlier_sessions;
pub use stored_runs::StoredRuns;

use std::borrow::Cow;
use std::collections::HashSet;

use plumb_analysis::{
    CONFIRMS_LABEL, CommonMovements, CompareSettings, ComparisonFinding, HistoryFinding,
    RunFinding, RunQuestions, RunReader, Traces, compare, history, summarise, summarise_with,
};
use plumb_model::{By, Host, Id, InvocationRecord, RunRecord, SeriesInRun};
use plumb_store::{RunSummary, Store, StoreError};

use crate::counters::counters_of;

/// What a run shows, with what moved together with its differences, and what changed since the last comparable run if
/// that is asked.
///
/// # Errors
/// When the store can't be read.
pub fn of_run(
    store: &Store,
    record: &RunRecord,
    since: SinceLastRun,
) -> Result<RunFinding, StoreError> {
    of_run_among(store, record, since, None, &SeriesByRun::default())
}

/// The same for work on many runs: with all runs, oldest first, and with the series that were read before.
///
/// # Errors
/// When the store can't be read.
pub fn of_run_among(
    store: &Store,
    record: &RunRecord,
    since: SinceLastRun,
    runs: Option<&[RunSummary]>,
    known: &SeriesByRun,
) -> Result<RunFinding, StoreError> {
    let counters = || counters(store, [record]);
    let earlier = |this: &[SeriesInRun]| match runs {
        Some(runs) => previous::earlier_runs(store, runs, record.run, this, known),
        None => previous::earlier_runs(store, &store.summaries()?, record.run, this, known),
    };
    let this = plumb_analysis::series_in_run(record);
    let is_asked = since.asks(&this, record.plan.comparison().is_some());
    let questions =
        RunQuestions { counters: Some(&counters), earlier: is_asked.then_some(&earlier as _) };
    let mut finding = summarise_with(record, &questions)?;
    if let Some(proof) = finding.proof.as_mut().filter(|proof| proof.needs_confirmation()) {
        let all: Vec<RunSummary>;
        let runs = match runs {
            Some(runs) => runs,
            None => {
                all = store.summaries()?;
                &all
            }
        };
        if let Some(fresh) = runs.iter().rfind(|run| confirms(run, record.run)) {
            proof.confirm(&summarise(&store.record(fresh.run)?).against_first);
        }
    }
    Ok(finding)
}

/// Whether a run measured fresh pairs to confirm what this other run found.
fn confirms(run: &RunSummary, of: Id) -> bool {
    run.labels.get(CONFIRMS_LABEL).is_some_and(|id| *id == of.to_string())
}

/// How these runs compare with the first of them, and what moved with that, without the samples that charts draw.
/// Records are read only of arms of several runs, and of those that differ from the first.
///
/// # Errors
/// When the store can't be read.
pub fn of_runs(
    store: &Store,
    runs: &[Id],
    settings: &CompareSettings,
) -> Result<ComparisonFinding, StoreError> {
    let record = |run: Id| Ok(Cow::Owned(store.record(run)?));
    let counters = counters_of(store);
    let mut reader = RunReader::new(&record).with_counters(&counters);
    compared(store, runs, settings, &mut reader)
}

/// The same of runs whose records were read before, with the samples that charts draw.
///
/// # Errors
/// When the store can't be read.
pub fn of_records(
    store: &Store,
    records: &[RunRecord],
    settings: &CompareSettings,
) -> Result<ComparisonFinding, StoreError> {
    let record = |run: Id| match records.iter().find(|record| record.run == run) {
        Some(record) => Ok(Cow::Borrowed(record)),
        None => Ok(Cow::Owned(store.record(run)?)),
    };
    let counters = counters_of(store);
    let mut reader = RunReader::new(&record).with_counters(&counters).with_samples();
    let runs: Vec<Id> = records.iter().map(|record| record.run).collect();
    compared(store, &runs, settings, &mut reader)
}

fn compared(
    store: &Store,
    runs: &[Id],
    settings: &CompareSettings,
    reader: &mut RunReader<'_, StoreError>,
) -> Result<ComparisonFinding, StoreError> {
    let stored = StoredRuns::read(store, runs)?;
    let is_by_kind =
        settings.by.as_deref().is_some_and(|by| by.split(',').any(|field| field == By::KIND));
    let by = if is_by_kind { By::Kind } else { By::Host };
    let others = others(&store.summaries()?, runs, by);
    let earlier = read(store, Selection::Runs(&others))?;
    compare(&stored.runs, &stored.series, &earlier, settings, reader)
}

/// The history of a series, of these of its runs, on this host. None without runs.
///
/// # Errors
/// When the store can't be read.
pub fn history_of(
    store: &Store,
    series: &str,
    runs: &[SeriesInRun],
    host: &Host,
    margin: f64,
) -> Result<Option<HistoryFinding>, StoreError> {
    let common = CommonMovements::of(&read_costs(store, &wide_runs(runs))?);
    Ok(history(series, runs, host, margin, &common))
}

/// The newest complete runs of these that have enough points to show what all their series have in common.
#[must_use]
pub fn wide_runs(runs: &[SeriesInRun]) -> Vec<Id> {
    let mut seen = HashSet::new();
    let wide = runs.iter().rev().filter(|series| {
        series.run.is_complete() && series.run.points >= CommonMovements::FEWEST_POINTS
    });
    let newest_first = wide.map(|series| series.run.run);
    newest_first.filter(|run| seen.insert(*run)).take(CommonMovements::MOST_RUNS).collect()
}

/// The runs of a series on one kind of machine, and the host that a history of it is of: this one, if it
/// has runs; else that of the newest run.
#[must_use]
pub fn on_host(mut runs: Vec<SeriesInRun>, here: &Host) -> (Vec<SeriesInRun>, Host) {
    // Of an unknown host nothing is known to be from here.
    let last_here = runs.iter().rfind(|series| here.known().is_some() && series.run.host() == here);
    let series = last_here.or(runs.last());
    let meant = series.map(|series| (series.run.machine().to_owned(), series.run.host().clone()));
    let (kind, host) = meant.unwrap_or_default();
    runs.retain(|series| series.run.machine() == kind);
    (runs, host)
}

/// What monitors read beside the invocations of each of these runs.
///
/// # Errors
/// When the store can't be read.
pub fn traces(store: &Store, records: &[RunRecord]) -> Result<Vec<Traces>, StoreError> {
    let read = |invocation: &InvocationRecord| {
        Ok((invocation.invocation, store.traces(invocation.invocation)?))
    };
    let of_run = |record: &RunRecord| record.invocations.iter().map(read).collect();
    records.iter().map(of_run).collect()
}
