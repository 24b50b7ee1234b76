//! Costs as logs: less is better whatever the metric's direction, and a ratio of costs is a difference.

use std::collections::BTreeMap;
use std::sync::Arc;

use plumb_model::{Better, Impact, RunCosts, RunOfSeries, SeriesInRun};
use plumb_stats::describe::median;

const NS_PER_S: f64 = 1e9;

/// The natural log of what a value costs: of a rate that of its inverse. A value without a log gives an infinite
/// cost or none, which the intervals refuse.
pub(crate) fn log_cost(value: f64, better: Better) -> f64 {
    if better == Better::Higher { -value.ln() } else { value.ln() }
}

/// A log cost as the metric's value.
pub(crate) fn value_of_log(log: f64, better: Better) -> f64 {
    if better == Better::Higher { (-log).exp() } else { log.exp() }
}

/// The log cost of every process of a series in a run.
pub(crate) fn process_costs(series: &SeriesInRun) -> Vec<f64> {
    series.process_medians.iter().map(|value| log_cost(*value, series.better)).collect()
}

/// The log cost of a series in a run: the middle of its processes.
pub(crate) fn run_cost(series: &SeriesInRun) -> Option<f64> {
    median(&process_costs(series))
}

/// When a run began, in seconds since 1970; None for an import that does not know it.
pub(crate) fn began_s(run: &RunOfSeries) -> Option<f64> {
    (run.started_unix_ns != 0).then(|| run.started_unix_ns as f64 / NS_PER_S)
}

/// The series of one run.
pub(crate) struct CostsOfRun<'s> {
    pub(crate) run: &'s Arc<RunOfSeries>,
    /// Each series with its log cost, by its name among comparable ones.
    pub(crate) costs: BTreeMap<String, f64>,
    /// The costs of first metrics alone.
    pub(crate) first_metrics: BTreeMap<String, f64>,
}

/// These series by their runs, in the order in which the runs first occur.
pub(crate) fn by_run<'s>(all: impl IntoIterator<Item = &'s SeriesInRun>) -> Vec<CostsOfRun<'s>> {
    let mut runs: Vec<CostsOfRun> = Vec::new();
    let mut places = BTreeMap::new();
    for series in all {
        let place = *places.entry(series.run.run).or_insert(runs.len());
        if place == runs.len() {
            runs.push(CostsOfRun {
                run: &series.run,
                costs: BTreeMap::new(),
                first_metrics: BTreeMap::new(),
            });
        }
        let Some(cost) = run_cost(series) else { continue };
        let name = series.comparable_name();
        if series.primary {
            runs[place].first_metrics.insert(name.clone(), cost);
        }
        runs[place].costs.insert(name, cost);
    }
    runs
}

/// The costs of the first metrics of each run, in the order in which the runs first occur.
#[must_use]
pub fn costs_of_runs<'s>(all: impl IntoIterator<Item = &'s SeriesInRun>) -> Vec<RunCosts> {
    let in_runs = by_run(all).into_iter();
    in_runs
        .map(|found| RunCosts { run: Arc::clone(found.run), first_metrics: found.first_metrics })
        .collect()
}

/// The facts of the environment that a run began in, of those that may move a number: a newer tool that no
/// workload uses does not make earlier runs strangers.
pub(crate) fn environment(run: &RunOfSeries) -> BTreeMap<&str, &str> {
    let facts = run.place.iter().flat_map(|place| &place.environment.facts);
    let all = facts.map(|(field, value)| (field.as_str(), value.as_str()));
    all.filter(|(field, _)| Impact::of(field) > Impact::Harmless).collect()
}
