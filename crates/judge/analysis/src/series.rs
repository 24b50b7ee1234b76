//! The series of a run: what comparisons over runs are made of.

use plumb_model::{Better, Impact, Metric, RunRecord};
use plumb_stats::describe::median;

use crate::PointFacts;
use crate::point_data::PointData;
use crate::summarise::point_facts;

/// The clock that series are timed by unless they say otherwise.
pub(crate) const MONOTONIC: &str = "monotonic";

/// One series in one run.
pub(crate) struct Series {
    /// What tells it from others: its name, and the workload's version and the clock where they are not
    /// the usual ones.
    pub(crate) name: String,
    /// Its name in the store.
    pub(crate) stored: String,
    pub(crate) point: PointFacts,
    pub(crate) metric: Metric,
    /// The steady values of every process.
    pub(crate) processes: Vec<Vec<f64>>,
    /// The natural log of every process's median cost.
    pub(crate) logs: Vec<f64>,
}

impl Series {
    /// The run's log cost.
    pub(crate) fn log(&self) -> Option<f64> {
        median(&self.logs)
    }
}

/// The series of a run: of every metric, or of each workload's first. Points that give the same one, as
/// where a program was compared with itself, are one: what they have in common is the run.
pub(crate) fn series_of(record: &RunRecord, every_metric: bool) -> Vec<Series> {
    let evidence = PointData::of(record);
    let most = if every_metric { usize::MAX } else { 1 };
    let mut all: Vec<Series> = Vec::new();
    for found in evidence.iter().flat_map(|evidence| of_evidence(evidence, most)) {
        match all.iter_mut().find(|known| known.name == found.name) {
            Some(known) => {
                known.processes.extend(found.processes);
                known.logs.extend(found.logs);
            }
            None => all.push(found),
        }
    }
    all
}

/// The points of a run that give this series.
pub(crate) fn points_of(record: &RunRecord, series: &str) -> Vec<usize> {
    let gives = |evidence: &&PointData| {
        let metrics = &evidence.planned.description.metrics;
        metrics.iter().any(|metric| name(evidence, &metric.name) == series)
    };
    PointData::of(record).iter().filter(gives).map(|evidence| evidence.index).collect()
}

fn of_evidence(evidence: &PointData, most: usize) -> Vec<Series> {
    let metrics = evidence.planned.description.metrics.iter().take(most);
    metrics
        .filter_map(|metric| {
            let processes = evidence.processes(metric)?;
            Some(Series {
                name: name(evidence, &metric.name),
                stored: evidence.planned.point.series(&metric.name),
                point: point_facts(evidence.index, evidence.planned),
                metric: metric.clone(),
                logs: log_costs(&processes, metric),
                processes,
            })
        })
        .collect()
}

fn name(evidence: &PointData, metric: &str) -> String {
    let planned = evidence.planned;
    let clock = evidence.clock().map_or_else(|| MONOTONIC.to_owned(), |clock| clock.id);
    comparable(&planned.point.series(metric), planned.description.version, &clock)
}

/// The name of a series among those that may be compared.
pub(crate) fn comparable(series: &str, version: u32, clock: &str) -> String {
    let clock = if clock == MONOTONIC { String::new() } else { format!(" by {clock}") };
    let version = if version == 1 { String::new() } else { format!(" v{version}") };
    format!("{series}{version}{clock}")
}

/// What is no number stays one, for the intervals to refuse.
fn log_costs(processes: &[Vec<f64>], metric: &Metric) -> Vec<f64> {
    let sign = if metric.better == Better::Higher { -1.0 } else { 1.0 };
    processes.iter().filter_map(|values| median(values)).map(|value| sign * value.ln()).collect()
}

/// A cost as the metric's value.
pub(crate) fn value_of_log(log: f64, better: Better) -> f64 {
    if better == Better::Higher { (-log).exp() } else { log.exp() }
}

/// The fingerprint of the run's first machine.
pub(crate) fn machine(record: &RunRecord) -> &str {
    record.targets.first().map_or("", |target| target.machine.fingerprint.as_str())
}

/// The facts of the environment that the run began in, of those that may move a number: a newer tool that
/// no workload uses does not make earlier runs strangers.
pub(crate) fn environment(record: &RunRecord) -> Vec<(&str, &str)> {
    let facts = record.targets.first().map(|target| &target.environment.facts);
    let all = facts.into_iter().flatten().map(|(field, value)| (field.as_str(), value.as_str()));
    all.filter(|(field, _)| Impact::of(field) > Impact::Harmless).collect()
}
