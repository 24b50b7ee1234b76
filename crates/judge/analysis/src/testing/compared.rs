//! Comparisons and checks of records at hand, as of records in a store.

use std::borrow::Cow;
use std::convert::Infallible;
use std::sync::Arc;

use plumb_model::{Id, RunOfSeries, RunRecord, SeriesInRun};

use crate::comparison::covariates::CounterMeans;
use crate::comparison::finding::ComparisonFinding;
use crate::one_run::series_in_run::{run_of_series, series_in_run};
use crate::over_runs::arms::CompareSettings;
use crate::over_runs::compare::compare;
use crate::run_reader::RunReader;

/// Runs with their series, without samples.
#[derive(Debug, Clone)]
pub struct RunsAtHand {
    /// The runs, in the order of their records.
    pub runs: Vec<Arc<RunOfSeries>>,
    /// All their series.
    pub series: Vec<SeriesInRun>,
}

impl RunsAtHand {
    /// What these records say.
    #[must_use]
    pub fn of(records: &[RunRecord]) -> Self {
        Self {
            runs: records.iter().map(|record| Arc::new(run_of_series(record))).collect(),
            series: records.iter().flat_map(series_in_run).collect(),
        }
    }
}

/// The first of these records against the others, with the samples of every arm. With `counters` it says what else
/// changed.
#[must_use]
pub fn compared(
    records: &[RunRecord],
    earlier: &[SeriesInRun],
    counters: Option<&CounterMeans>,
    settings: &CompareSettings,
) -> ComparisonFinding {
    let at_hand = RunsAtHand::of(records);
    let record = |run: Id| Ok::<_, Infallible>(found(records, run));
    let counted = |_: Id| Ok::<_, Infallible>(counters.cloned().unwrap_or_default());
    let mut reader = RunReader::new(&record).with_samples();
    if counters.is_some() {
        reader = reader.with_counters(&counted);
    }
    match compare(&at_hand.runs, &at_hand.series, earlier, settings, &mut reader) {
        Ok(finding) => finding,
        Err(never) => match never {},
    }
}

/// The same without reading a record: what series alone say.
///
/// # Panics
/// When a record is asked for.
#[must_use]
pub fn compared_without_records(
    records: &[RunRecord],
    earlier: &[SeriesInRun],
    settings: &CompareSettings,
) -> ComparisonFinding {
    let at_hand = RunsAtHand::of(records);
    let record = |run: Id| -> Result<Cow<'_, RunRecord>, Infallible> {
        panic!("the record of {run} is read")
    };
    let mut reader = RunReader::new(&record);
    match compare(&at_hand.runs, &at_hand.series, earlier, settings, &mut reader) {
        Ok(finding) => finding,
        Err(never) => match never {},
    }
}

fn found(records: &[RunRecord], run: Id) -> Cow<'_, RunRecord> {
    let record = records.iter().find(|record| record.run == run);
    Cow::Borrowed(record.unwrap_or(&records[0]))
}
