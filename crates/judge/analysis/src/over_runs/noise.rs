//! What earlier runs of the same series show of the noise between runs.

use std::collections::BTreeMap;

use plumb_model::{By, SeriesInRun};
use plumb_stats::describe::variance;
use plumb_stats::standing_out::EarlierNoise;
use plumb_stats::stored_runs::DatedRun;

use crate::over_runs::common_movement::common_movements;
use crate::over_runs::costs::{CostsOfRun, began_s, by_run, environment};

/// What earlier runs of the same series show of the noise between runs: those on the first run's machine
/// and, of these, the environment with the most of them.
#[derive(Debug, Default)]
pub(crate) struct RunsNoise {
    by_series: BTreeMap<String, Vec<DatedRun>>,
    /// Whether they are of several machines of one kind.
    pub(crate) is_of_kind: bool,
    /// By how much each series varies when common movements are taken out, the first run included.
    beside_common: BTreeMap<String, EarlierNoise>,
}

impl RunsNoise {
    /// Of the series of the run that others are compared with, and of those of earlier runs.
    pub(crate) fn of<'s>(
        first: impl IntoIterator<Item = &'s SeriesInRun>,
        earlier: impl IntoIterator<Item = &'s SeriesInRun>,
        by: By,
    ) -> Self {
        let first = by_run(first).into_iter().next();
        let mut earlier = by_run(earlier);
        earlier.retain(|run| {
            first.as_ref().is_some_and(|first| first.run.is_one_machine(run.run, by))
        });
        let mut by_series: BTreeMap<&str, BTreeMap<_, Vec<DatedRun>>> = BTreeMap::new();
        for run in &earlier {
            let environment = environment(run.run);
            for (name, cost) in &run.costs {
                let of_series = by_series.entry(name).or_default();
                let dated = DatedRun { began_s: began_s(run.run), cost: *cost };
                of_series.entry(environment.clone()).or_default().push(dated);
            }
        }
        let most = |(series, by): (&str, BTreeMap<_, Vec<DatedRun>>)| {
            Some((series.to_owned(), by.into_values().max_by_key(Vec::len)?))
        };
        let by_series = by_series.into_iter().filter_map(most).collect();
        let beside_common = first.map(|first| beside_common(&first, &earlier));
        let beside_common = beside_common.unwrap_or_default();
        Self { by_series, is_of_kind: by == By::Kind, beside_common }
    }

    /// The earlier runs of this series.
    pub(crate) fn runs(&self, series: &str) -> &[DatedRun] {
        self.by_series.get(series).map_or(&[], Vec::as_slice)
    }

    /// How much the series varies from run to run when common movements are taken out; None if fewer than two runs
    /// in the first's environment show it.
    pub(crate) fn beside_common(&self, series: &str) -> Option<EarlierNoise> {
        self.beside_common.get(series).copied()
    }
}

fn beside_common(first: &CostsOfRun, earlier: &[CostsOfRun]) -> BTreeMap<String, EarlierNoise> {
    let here = environment(first.run);
    let alike = earlier.iter().filter(|run| environment(run.run) == here);
    let runs: Vec<&CostsOfRun> = std::iter::once(first).chain(alike).collect();
    let first_metrics: Vec<&BTreeMap<String, f64>> =
        runs.iter().map(|run| &run.first_metrics).collect();
    let common = common_movements(&first_metrics);
    let noise = |name: &String| {
        let all = runs.iter().zip(&common);
        let logs: Vec<f64> =
            all.filter_map(|(run, common)| Some(run.costs.get(name)? - common)).collect();
        Some((name.clone(), EarlierNoise { variance: variance(&logs)?, runs: logs.len() }))
    };
    first.costs.keys().filter_map(noise).collect()
}
