//! Series in runs without their samples: from the store's derived rows, and for runs that lack them from their records,
//! after which they are kept.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use plumb_analysis::{METHOD_VERSION, costs_of_runs, series_in_run};
use plumb_model::{Id, RunCosts, RunRecord, SeriesInRun};
use plumb_store::{DerivedRun, FreshlyDerived, RunEnd, Store, StoreError};

/// Rises when [`series_in_run`] makes something else of the same record although the method is the same.
const FORM: u32 = 6;

/// Runs that are kept in one transaction, so that whoever interrupts the first reading of a long history loses little.
const RUNS_AT_ONCE: usize = 32;

/// Which series of which runs.
#[derive(Debug, Clone, Copy)]
pub enum Selection<'s> {
    /// The series of this name in every run, oldest first.
    Series(&'s str),
    /// All series of these runs, in the order of the runs.
    Runs(&'s [Id]),
    /// All series of every run, oldest first.
    All,
}

impl Selection<'_> {
    /// The runs, in the order of the answer.
    fn ends(self, store: &Store) -> Result<Vec<RunEnd>, StoreError> {
        match self {
            Self::Runs(wanted) => store.ends_of(wanted),
            Self::Series(_) | Self::All => store.ends(),
        }
    }

    /// Those of the runs whose series are kept.
    fn derived(self, store: &Store, rules: &str, ends: &[RunEnd]) -> Vec<DerivedRun> {
        match self {
            Self::Series(name) => store.derived(rules, ends, Some(name)),
            Self::Runs(_) | Self::All => store.derived(rules, ends, None),
        }
    }

    fn has_series(self, series: &SeriesInRun) -> bool {
        match self {
            // Sides of a comparison of values of a knob are no part of a history.
            Self::Series(name) => series.name == name && !series.is_side_of_knob,
            Self::Runs(_) | Self::All => true,
        }
    }
}

/// The rules by which rows are derived: rows of another plumb or method do not count.
fn rules() -> String {
    format!("{}/{METHOD_VERSION}/{FORM}", env!("CARGO_PKG_VERSION"))
}

/// The selected series of the selected runs, on whatever machine.
///
/// # Errors
/// When the store cannot be read.
pub fn read(store: &Store, selection: Selection<'_>) -> Result<Vec<SeriesInRun>, StoreError> {
    Ok(read_by_run(store, selection, &|| false)?
        .into_iter()
        .flat_map(|(_, series)| series)
        .collect())
}

/// The same with the series of each run apart. `stop` is asked before a run's samples are read; what was not read until
/// then is missing.
fn read_by_run(
    store: &Store,
    selection: Selection<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<(Id, Vec<SeriesInRun>)>, StoreError> {
    let rules = rules();
    let ends = selection.ends(store)?;
    let mut known: HashMap<Id, Vec<SeriesInRun>> = HashMap::new();
    for mut kept in selection.derived(store, &rules, &ends) {
        kept.series.retain(|series| selection.has_series(series));
        known.insert(kept.run, kept.series);
    }
    let mut fresh: Vec<FreshlyDerived> = Vec::new();
    for end in &ends {
        if known.contains_key(&end.run) {
            continue;
        }
        if stop() {
            break;
        }
        let all = series_in_run(&store.record(end.run)?);
        let selected = all.iter().filter(|series| selection.has_series(series));
        known.insert(end.run, selected.cloned().collect());
        // A run without an end may go on, or be resumed.
        if end.state.is_some() {
            fresh.push(derived(end.clone(), all));
        }
        if fresh.len() == RUNS_AT_ONCE {
            store.keep_derived(&rules, &fresh);
            fresh.clear();
        }
    }
    if !fresh.is_empty() {
        store.keep_derived(&rules, &fresh);
    }
    let order = ends.iter().map(|end| end.run);
    Ok(order.filter_map(|run| Some((run, known.remove(&run)?))).collect())
}

/// Series of a run as they are kept.
fn derived(end: RunEnd, series: Vec<SeriesInRun>) -> FreshlyDerived {
    let mut costs = costs_of_runs(&series).pop().map(|run| run.first_metrics).unwrap_or_default();
    // A cost without a log says nothing, and JSON has no word for it.
    costs.retain(|_, cost| cost.is_finite());
    FreshlyDerived { end, series, costs }
}

/// What the first metrics of these runs cost, in the order of the runs.
///
/// # Errors
/// When the store cannot be read.
pub fn read_costs(store: &Store, runs: &[Id]) -> Result<Vec<RunCosts>, StoreError> {
    let ends = store.ends_of(runs)?;
    let kept = store.derived_costs(&rules(), &ends);
    let mut known: HashMap<Id, RunCosts> =
        kept.into_iter().map(|costs| (costs.run.run, costs)).collect();
    let missing: Vec<Id> = runs.iter().copied().filter(|run| !known.contains_key(run)).collect();
    if !missing.is_empty() {
        let series = read(store, Selection::Runs(&missing))?;
        known.extend(costs_of_runs(&series).into_iter().map(|costs| (costs.run.run, costs)));
    }
    Ok(runs.iter().filter_map(|run| known.remove(run)).collect())
}

/// Keeps the series of a run that has just ended, so that nobody has to read its samples for a history.
///
/// # Errors
/// When the store cannot be read.
pub fn keep(store: &Store, record: &RunRecord) -> Result<(), StoreError> {
    let ended = store.ends_of(&[record.run])?.pop();
    if let Some(end) = ended.filter(|end| end.state.is_some()) {
        store.keep_derived(&rules(), &[derived(end, series_in_run(record))]);
    }
    Ok(())
}

/// Derives the series of every run that lacks them, until `stop` says so.
///
/// # Errors
/// When the store cannot be read.
pub fn fill(store: &Store, stop: &dyn Fn() -> bool) -> Result<(), StoreError> {
    // No series has this name: what is kept is not read.
    read_by_run(store, Selection::Series(""), stop).map(drop)
}

/// The series of runs that one piece of work needs again and again, such as the pages of all runs: each run is read
/// once. It is dropped with that work.
#[derive(Debug, Default)]
pub struct SeriesByRun(Mutex<HashMap<Id, Arc<[SeriesInRun]>>>);

impl SeriesByRun {
    /// All series of these runs, in the order of the runs.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn read(&self, store: &Store, runs: &[Id]) -> Result<Vec<Arc<[SeriesInRun]>>, StoreError> {
        let missing: Vec<Id> = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            runs.iter().copied().filter(|run| !known.contains_key(run)).collect()
        };
        // Read without the lock, so that several readers work at once; what two of them read is the same.
        let found = match missing.is_empty() {
            true => Vec::new(),
            false => read_by_run(store, Selection::Runs(&missing), &|| false)?,
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.extend(found.into_iter().map(|(run, series)| (run, series.into())));
        Ok(runs.iter().filter_map(|run| known.get(run).cloned()).collect())
    }

    /// Takes over what a record says, because its samples were read anyway.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn take(&self, store: &Store, record: &RunRecord) -> Result<(), StoreError> {
        let is_known = {
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.contains_key(&record.run)
        };
        if is_known {
            return Ok(());
        }
        let rules = rules();
        let ends = store.ends_of(&[record.run])?;
        let series = match store.derived(&rules, &ends, None).pop() {
            Some(kept) => kept.series,
            None => {
                let series = series_in_run(record);
                let ended = ends.into_iter().filter(|end| end.state.is_some());
                let fresh: Vec<_> = ended.map(|end| derived(end, series.clone())).collect();
                if !fresh.is_empty() {
                    store.keep_derived(&rules, &fresh);
                }
                series
            }
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(record.run, series.into());
        Ok(())
    }
}
