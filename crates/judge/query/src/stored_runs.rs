//! Stored runs with all their series, without samples.

use std::collections::HashMap;
use std::sync::Arc;

use plumb_analysis::run_of_series;
use plumb_model::{Id, RunOfSeries, SeriesInRun};
use plumb_store::{Store, StoreError};

use crate::series::{Selection, read};

/// Stored runs with all their series, without samples.
#[derive(Debug, Clone, Default)]
pub struct StoredRuns {
    /// The runs, in the order in which they were named. A run that measured nothing has no series, so runs are apart.
    pub runs: Vec<Arc<RunOfSeries>>,
    /// The series of these runs, in the same order.
    pub series: Vec<SeriesInRun>,
}

impl StoredRuns {
    /// These runs of the store.
    ///
    /// # Errors
    /// When the store cannot be read, or lacks a run.
    pub fn read(store: &Store, wanted: &[Id]) -> Result<Self, StoreError> {
        let series = read(store, Selection::Runs(wanted))?;
        let known: HashMap<Id, &Arc<RunOfSeries>> =
            series.iter().map(|series| (series.run.run, &series.run)).collect();
        let mut runs = Vec::new();
        for run in wanted {
            runs.push(match known.get(run) {
                Some(known) => Arc::clone(known),
                // Nothing is kept of a run without series. It has few samples, if any.
                None => Arc::new(run_of_series(&store.record(*run)?)),
            });
        }
        Ok(Self { runs, series })
    }

    /// A copy of the runs for which this holds, with their series.
    #[must_use]
    pub fn only(&self, holds: impl Fn(&RunOfSeries) -> bool) -> Self {
        Self {
            runs: self.runs.iter().filter(|run| holds(run)).cloned().collect(),
            series: self.series.iter().filter(|series| holds(&series.run)).cloned().collect(),
        }
    }

    /// Leaves out the runs for which this does not hold, with their series.
    pub fn retain(&mut self, holds: impl Fn(&RunOfSeries) -> bool) {
        self.runs.retain(|run| holds(run));
        self.series.retain(|series| holds(&series.run));
    }
}
