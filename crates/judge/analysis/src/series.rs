//! The series of a run: what comparisons over runs are made of.

use plumb_model::{Better, By, ClockSource, Impact, Metric, RunRecord, Target};
use plumb_stats::describe::median;

use crate::facts::{CpuShares, PointFacts, point_facts};
use crate::log_cost::log_costs;
use crate::point_data::PointData;

/// One series in one run.
pub(crate) struct Series {
    /// What tells it from others: its name, and the workload's version and the clock where they are not
    /// the usual ones.
    pub(crate) name: String,
    /// Its name in the store.
    pub(crate) stored: String,
    pub(crate) point: PointFacts,
    /// The points that give it, each with its target.
    pub(crate) parts: Vec<(usize, usize)>,
    pub(crate) metric: Metric,
    /// Whether that is the workload's first.
    pub(crate) primary: bool,
    /// The steady values of every process.
    pub(crate) processes: Vec<Vec<f64>>,
    /// The natural log of every process's median cost.
    pub(crate) logs: Vec<f64>,
    /// Resource use beside it.
    pub(crate) cpu: Option<CpuShares>,
    /// The other headline metrics in its unit, each with its median: the parts of a first metric that has them.
    pub(crate) parts_of_it: Vec<(String, f64)>,
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
    let most = if every_metric { usize::MAX } else { 1 };
    series_where(record, most, |_, _| true)
}

/// The same of the first `most` metrics of each workload, of those alone that `counts` says.
pub(crate) fn series_where(
    record: &RunRecord,
    most: usize,
    counts: impl Fn(&PointData, &Metric) -> bool,
) -> Vec<Series> {
    let data = PointData::of(record);
    let of_point = |data| of_data(data, most, &counts);
    let mut all: Vec<Series> = Vec::new();
    for found in data.iter().flat_map(of_point) {
        match all.iter_mut().find(|known| known.name == found.name) {
            Some(known) => {
                known.parts.extend(found.parts);
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
    let gives = |data: &&PointData| {
        let metrics = &data.planned.description.metrics;
        metrics.iter().any(|metric| name(data, &metric.name) == series)
    };
    PointData::of(record).iter().filter(gives).map(|data| data.index).collect()
}

fn of_data(
    data: &PointData,
    most: usize,
    counts: &impl Fn(&PointData, &Metric) -> bool,
) -> Vec<Series> {
    let metrics = data.planned.description.metrics.iter().take(most).enumerate();
    metrics
        .filter(|(_, metric)| counts(data, metric))
        .filter_map(|(place, metric)| {
            let processes = data.processes(metric)?;
            Some(Series {
                name: name(data, &metric.name),
                stored: data.planned.point.series(&metric.name),
                point: point_facts(data.index, data.planned),
                parts: vec![(data.index, data.target)],
                metric: metric.clone(),
                primary: place == 0,
                cpu: data.cpu(),
                parts_of_it: parts_of(data, metric),
                logs: log_costs(&processes, metric.better),
                processes,
            })
        })
        .collect()
}

/// What the first metric, a time, is made of: the other headline metrics in its unit, each with its median. Rates do not
/// add up.
pub(crate) fn parts_of(data: &PointData, first: &Metric) -> Vec<(String, f64)> {
    let mut metrics = data.planned.description.metrics.iter();
    let is_first =
        metrics.next().is_some_and(|it| it.name == first.name && it.better == Better::Lower);
    let parts = metrics.filter(|it| is_first && it.headline && it.unit == first.unit);
    let of = |metric: &Metric| {
        let medians: Vec<f64> =
            data.processes(metric)?.iter().filter_map(|it| median(it)).collect();
        Some((metric.name.clone(), median(&medians)?))
    };
    parts.filter_map(of).collect()
}

fn name(data: &PointData, metric: &str) -> String {
    let planned = data.planned;
    let clock = data.clock().map_or_else(|| ClockSource::MONOTONIC.to_owned(), |clock| clock.id);
    comparable(&planned.point.series(metric), planned.description.version, &clock)
}

/// The name of a series among those that may be compared.
pub(crate) fn comparable(series: &str, version: u32, clock: &str) -> String {
    let clock =
        if clock == ClockSource::MONOTONIC { String::new() } else { format!(" by {clock}") };
    let version = if version == 1 { String::new() } else { format!(" v{version}") };
    format!("{series}{version}{clock}")
}

/// Whether two runs, by where they were measured first, count as of one machine.
pub(crate) fn is_one_machine(one: Option<&Target>, other: Option<&Target>, by: By) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.is_one_with(other, by),
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// The facts of the environment that the run began in, of those that may move a number: a newer tool that
/// no workload uses does not make earlier runs strangers.
pub(crate) fn environment(record: &RunRecord) -> Vec<(&str, &str)> {
    let facts = record.targets.first().map(|target| &target.environment.facts);
    let all = facts.into_iter().flatten().map(|(field, value)| (field.as_str(), value.as_str()));
    all.filter(|(field, _)| Impact::of(field) > Impact::Harmless).collect()
}
