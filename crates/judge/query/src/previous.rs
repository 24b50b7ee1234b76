//! How a run compares with the newest comparable one before it.

use plumb_analysis::{EarlierRuns, FEWEST_SERIES, SinceLast, is_comparable_run, series_since};
use plumb_model::{By, Id, MARGIN, RunStatus, SeriesInRun};
use plumb_store::{RunSummary, Store, StoreError};

use crate::earlier::others;
use crate::series::SeriesByRun;

/// Earlier runs that are looked at in search of a comparable one.
const MOST_TRIED: usize = 10;

/// Whether a run is compared with the last comparable one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SinceLastRun {
    /// Not at all.
    NotAsked,
    /// Only if it has enough points for some to stand out, so that nothing else is read.
    IfItTells,
    /// Always, however few points the run has.
    Always,
}

impl SinceLastRun {
    /// Whether that is asked of a run with these series.
    pub(crate) fn asks(self, series: &[SeriesInRun], is_comparison: bool) -> bool {
        let points =
            series.iter().filter(|series| series.primary).map(|series| series.points.len());
        match self {
            Self::NotAsked => false,
            Self::IfItTells => !is_comparison && points.sum::<usize>() >= FEWEST_SERIES,
            Self::Always => true,
        }
    }
}

/// The newest comparable run before this one, with others that show how much runs differ; None if there is none.
/// `runs` are all runs, oldest first.
pub(crate) fn earlier_runs(
    store: &Store,
    runs: &[RunSummary],
    run: Id,
    this: &[SeriesInRun],
    known: &SeriesByRun,
) -> Result<Option<EarlierRuns>, StoreError> {
    let Some(place) = runs.iter().position(|summary| summary.run == run) else { return Ok(None) };
    let suite = &runs[place].suite;
    let may_be_like =
        |summary: &&RunSummary| summary.status == RunStatus::Complete && summary.suite == *suite;
    for before in runs[..place].iter().rev().filter(may_be_like).take(MOST_TRIED) {
        let Some(series) = known.read(store, &[before.run])?.pop() else { continue };
        if is_comparable_run(this, &series) {
            let others = known.read(store, &others(runs, &[before.run, run], By::Host))?;
            return Ok(Some(EarlierRuns { before: series, others }));
        }
    }
    Ok(None)
}

/// How the series of a run compare with the newest comparable run before it, each in the place of its series; None if
/// there is no such run. `runs` are all runs, oldest first.
///
/// # Errors
/// When the store can't be read.
pub fn since_last(
    store: &Store,
    runs: &[RunSummary],
    run: Id,
    this: &[SeriesInRun],
    known: &SeriesByRun,
) -> Result<Option<SinceLast>, StoreError> {
    let Some(earlier) = earlier_runs(store, runs, run, this, known)? else { return Ok(None) };
    Ok(series_since(this, &earlier, MARGIN))
}
