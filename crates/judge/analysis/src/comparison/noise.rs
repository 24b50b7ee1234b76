//! What earlier runs of the same series tell of the noise between runs.

use std::collections::BTreeMap;

use plumb_model::{By, RunRecord};
use plumb_stats::describe::variance;
use plumb_stats::standing_out::EarlierNoise;

use crate::common_movement::common_movements;
use crate::run_costs::{LogCosts, RunCosts};
use crate::series::is_one_machine;

/// What earlier runs of the same series tell of the noise between runs: those on the first run's machine
/// and, of these, the environment with the most of them.
#[derive(Debug, Default)]
pub(crate) struct RunsNoise {
    by_series: BTreeMap<String, Vec<f64>>,
    /// By what each series varies when common movements are taken out, the first run included.
    beside_common: BTreeMap<String, EarlierNoise>,
}

impl RunsNoise {
    pub(crate) fn of(records: &[RunRecord], earlier: &[RunRecord], by: By) -> Self {
        let first = records.first();
        let target = first.and_then(|record| record.targets.first());
        let here = earlier.iter().filter(|it| is_one_machine(target, it.targets.first(), by));
        Self::gathered(first.map(RunCosts::of), here.map(RunCosts::of).collect())
    }

    /// Of the run that others are compared with, and of earlier runs on its machine.
    pub(crate) fn gathered(first: Option<RunCosts>, earlier: Vec<RunCosts>) -> Self {
        let mut by_series: BTreeMap<&str, BTreeMap<_, Vec<f64>>> = BTreeMap::new();
        for run in &earlier {
            for (name, it) in &run.costs {
                by_series
                    .entry(name)
                    .or_default()
                    .entry(&run.environment)
                    .or_default()
                    .push(it.log);
            }
        }
        let most = |(series, by): (&str, BTreeMap<_, Vec<f64>>)| {
            Some((series.to_owned(), by.into_values().max_by_key(Vec::len)?))
        };
        let by_series = by_series.into_iter().filter_map(most).collect();
        let beside_common = first.map(|first| beside_common(&first, &earlier));
        Self { by_series, beside_common: beside_common.unwrap_or_default() }
    }

    pub(crate) fn logs(&self, series: &str) -> &[f64] {
        self.by_series.get(series).map_or(&[], Vec::as_slice)
    }

    /// How much the series varies from run to run when common movements are taken out; None where fewer than two runs
    /// in the first's environment tell.
    pub(crate) fn beside_common(&self, series: &str) -> Option<EarlierNoise> {
        self.beside_common.get(series).copied()
    }
}

fn beside_common(first: &RunCosts, earlier: &[RunCosts]) -> BTreeMap<String, EarlierNoise> {
    let alike = earlier.iter().filter(|it| it.environment == first.environment);
    let runs: Vec<&LogCosts> = std::iter::once(first).chain(alike).map(|it| &it.costs).collect();
    let common = common_movements(runs.iter().copied());
    let noise = |name: &String| {
        let all = runs.iter().zip(&common);
        let logs: Vec<f64> =
            all.filter_map(|(run, common)| Some(run.get(name)?.log - common)).collect();
        Some((name.clone(), EarlierNoise { variance: variance(&logs)?, runs: logs.len() }))
    };
    first.costs.keys().filter_map(noise).collect()
}
