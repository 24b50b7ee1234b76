//! What earlier runs of the same series tell of the noise between runs.

use std::collections::BTreeMap;

use plumb_model::{By, RunRecord};

use crate::series::{environment, is_one_machine, series_of};

/// What earlier runs of the same series tell of the noise between runs: those on the first run's machine
/// and, of these, the environment with the most of them.
#[derive(Debug, Default)]
pub(crate) struct RunsNoise {
    by_series: BTreeMap<String, Vec<f64>>,
}

impl RunsNoise {
    pub(crate) fn of(records: &[RunRecord], earlier: &[RunRecord], by: By) -> Self {
        let first = records.first().and_then(|record| record.targets.first());
        let is_here = |it: &&RunRecord| is_one_machine(first, it.targets.first(), by);
        let here = earlier.iter().filter(is_here);
        Self::gathered(here.map(|record| {
            let series = series_of(record, true);
            let logs = series.into_iter().filter_map(|it| Some((it.log()?, it.name)));
            (environment(record), logs.map(|(log, name)| (name, log)).collect())
        }))
    }

    /// Of runs on one machine: the environment of each, and its series with their log costs.
    pub(crate) fn gathered<E: Ord + Clone>(
        runs: impl Iterator<Item = (E, Vec<(String, f64)>)>,
    ) -> Self {
        let mut by_series: BTreeMap<String, BTreeMap<E, Vec<f64>>> = BTreeMap::new();
        for (environment, series) in runs {
            for (name, log) in series {
                let of_series = by_series.entry(name).or_default();
                of_series.entry(environment.clone()).or_default().push(log);
            }
        }
        let most = |(series, by): (String, BTreeMap<_, Vec<f64>>)| {
            Some((series, by.into_values().max_by_key(Vec::len)?))
        };
        Self { by_series: by_series.into_iter().filter_map(most).collect() }
    }

    pub(crate) fn logs(&self, series: &str) -> &[f64] {
        self.by_series.get(series).map_or(&[], Vec::as_slice)
    }
}
