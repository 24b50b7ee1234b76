//! A run that was measured for a check: its series, and why it lacks others.

use std::collections::BTreeSet;
use std::sync::Arc;

use plumb_model::{RunOfSeries, RunRecord, SeriesInRun};

use crate::one_run::failures;
use crate::one_run::series_in_run::{run_of_series, series_in_run};

/// A run that was measured for a check.
#[derive(Debug, Clone)]
pub struct FreshRun {
    /// What its series have in common; a run in which all points failed has no series.
    pub run: Arc<RunOfSeries>,
    /// Its series, in the order of its points.
    pub series: Vec<SeriesInRun>,
    /// The first metrics of points that failed or that are not supported here, each by its name in the store.
    not_measured: Vec<NotMeasured>,
}

/// A series of the baseline that the fresh runs did not give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotMeasured {
    /// Name of the series.
    pub series: String,
    /// Why it was not measured, in a sentence.
    pub why: String,
    /// Whether the workload failed.
    pub failed: bool,
}

impl FreshRun {
    /// What a record says of a run.
    #[must_use]
    pub fn of(record: &RunRecord) -> Self {
        let series = series_in_run(record);
        let run = match series.first() {
            Some(first) => Arc::clone(&first.run),
            None => Arc::new(run_of_series(record)),
        };
        Self { run, series, not_measured: not_measured(record) }
    }

    /// Why it does not give a series, which goes by its name among comparable ones.
    pub(crate) fn why_not(&self, series: &str) -> NotMeasured {
        let is_of_series = |known: &&NotMeasured| {
            let rest = series.strip_prefix(&known.series);
            // Version and clock may follow the name, after a space.
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
        };
        let known = self.not_measured.iter().find(is_of_series);
        let unknown = || "the newest run of the baseline did not measure it".to_owned();
        NotMeasured {
            series: series.to_owned(),
            why: known.map_or_else(unknown, |known| known.why.clone()),
            failed: known.is_some_and(|known| known.failed),
        }
    }
}

/// Of every series that a point's first metric would give, why its first point did not.
fn not_measured(record: &RunRecord) -> Vec<NotMeasured> {
    let failed = failures::failed(record);
    let unsupported = failures::unsupported(record);
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for (index, planned) in record.plan.points.iter().enumerate() {
        let Some(metric) = planned.description.primary() else { continue };
        let series = planned.point.series(&metric.name);
        // If several points give one series, the first of them says why it is missing.
        if !seen.insert(series.clone()) {
            continue;
        }
        let failure = failed.iter().find(|failure| failure.point.index == index);
        let missing = unsupported.iter().find(|missing| missing.point.index == index);
        let why = failure.map(|failure| &failure.why).or(missing.map(|missing| &missing.why));
        found.extend(why.map(|why| NotMeasured {
            series,
            why: why.clone(),
            failed: failure.is_some(),
        }));
    }
    found
}
