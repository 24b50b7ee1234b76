//! From a record to its series without samples: what histories, checks and comparisons are computed from.

use std::sync::Arc;

use plumb_model::{
    ClockSource, Environment, Kind, MeasuredOn, Metric, PointOnTarget, RunOfSeries, RunRecord,
    RunStatus, SeriesInRun, comparable_name,
};
use plumb_stats::describe::median;
use plumb_stats::precision::PER_LOOK_LEVEL;

use crate::estimate::median_of_processes;
use crate::facts::run_facts;
use crate::one_run::point_data::PointData;

/// The series of a run: a metric of every point that has values, but for distributions. Points that give the
/// same series, as when a program was compared with itself, are one: what they have in common is the run.
#[must_use]
pub fn series_in_run(record: &RunRecord) -> Vec<SeriesInRun> {
    let run = Arc::new(run_of_series(record));
    let environments: Vec<Arc<Environment>> =
        record.environments.iter().map(|environment| Arc::new(environment.clone())).collect();
    let all = PointData::of(record);
    let mut found: Vec<Measured> = Vec::new();
    for data in &all {
        for (place, metric) in data.planned.description.metrics.iter().enumerate() {
            if metric.kind == Kind::Histogram {
                continue;
            }
            let measured = Measured { parts: vec![data], metric, primary: place == 0 };
            match found.iter_mut().find(|known| known.is_same(&measured)) {
                Some(known) => known.parts.push(data),
                None => found.push(measured),
            }
        }
    }
    found.iter().filter_map(|measured| measured.series(record, &run, &environments)).collect()
}

/// The first metrics alone.
pub(crate) fn first_metrics(record: &RunRecord) -> Vec<SeriesInRun> {
    let mut series = series_in_run(record);
    series.retain(|series| series.primary);
    series
}

/// A metric of the points that give one series.
struct Measured<'d> {
    parts: Vec<&'d PointData<'d>>,
    metric: &'d Metric,
    primary: bool,
}

impl Measured<'_> {
    fn name(&self) -> String {
        self.parts[0].planned.point.series(&self.metric.name)
    }

    fn is_same(&self, other: &Self) -> bool {
        let one = self.parts[0];
        let two = other.parts[0];
        self.metric.name == other.metric.name
            && one.planned.description.version == two.planned.description.version
            && self.name() == other.name()
            && clock(one) == clock(two)
    }

    /// None if there is no value, or one is not a number.
    fn series(
        &self,
        record: &RunRecord,
        run: &Arc<RunOfSeries>,
        environments: &[Arc<Environment>],
    ) -> Option<SeriesInRun> {
        let data = self.parts[0];
        let processes = processes(record, &self.parts, &self.metric.name);
        let slices: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
        let planned = data.planned;
        let first = record.good_invocations(data.index).next()?;
        let place = |part: &&PointData| PointOnTarget { point: part.index, target: part.target };
        Some(SeriesInRun {
            run: Arc::clone(run),
            environment: environments.get(first.environment).cloned().unwrap_or_default(),
            name: self.name(),
            workload: planned.point.workload.clone(),
            version: planned.description.version,
            clock: clock(data),
            metric: self.metric.name.clone(),
            unit: self.metric.unit.clone(),
            better: self.metric.better,
            primary: self.primary,
            title: planned.title.clone(),
            point_labels: planned.labels.clone(),
            versions: first.ready.versions.clone(),
            // Values of a knob that are conditions of their point make a series of their own.
            is_side_of_knob: !planned.preparation.is_empty() && planned.point.conditions.is_empty(),
            points: self.parts.iter().map(place).collect(),
            process_medians: slices.iter().filter_map(|values| median(values)).collect(),
            samples: processes.iter().map(Vec::len).sum(),
            // At one level whatever rules stopped the run, so that runs can be compared.
            estimate: median_of_processes(&slices, PER_LOOK_LEVEL)?.estimate,
        })
    }
}

/// The steady values of a metric, an entry an independent process. Processes of several points are in the order in
/// which they ran, because the interval of the median looks at neighbours in time.
pub(crate) fn processes(record: &RunRecord, parts: &[&PointData], metric: &str) -> Vec<Vec<f64>> {
    if let [one] = parts {
        let declared = one.planned.description.metric(metric);
        return declared.and_then(|metric| one.processes(metric)).unwrap_or_default();
    }
    let mut found = Vec::new();
    for invocation in &record.invocations {
        let part = parts.iter().find(|part| {
            invocation.counts_for(part.index) && invocation.target as usize == part.target
        });
        let Some(part) = part else { continue };
        let declared = part.planned.description.metric(metric);
        let Some(values) = declared.and_then(|metric| invocation.steady(metric)) else { continue };
        if part.samples_are_processes() {
            found.extend(values.into_iter().map(|value| vec![value]));
        } else if !values.is_empty() {
            found.push(values);
        }
    }
    found
}

/// The points of a run that give this series, by its name among comparable ones.
pub(crate) fn points_of(record: &RunRecord, series: &str) -> Vec<usize> {
    let gives = |data: &&PointData| {
        let description = &data.planned.description;
        description.metrics.iter().any(|metric| {
            let stored = data.planned.point.series(&metric.name);
            comparable_name(&stored, description.version, &clock(data)) == series
        })
    };
    PointData::of(record).iter().filter(gives).map(|data| data.index).collect()
}

fn clock(data: &PointData) -> String {
    data.clock().map_or_else(|| ClockSource::MONOTONIC.to_owned(), |clock| clock.id)
}

fn run_of_series(record: &RunRecord) -> RunOfSeries {
    let place = record.targets.first().map(|target| MeasuredOn {
        machine: Arc::new(target.machine.clone()),
        host: target.host.clone(),
        environment: Arc::new(target.environment.clone()),
    });
    RunOfSeries {
        run: record.run,
        started_unix_ns: record.started_unix_ns,
        plumb: record.plumb.clone(),
        suite: record.plan.suite.clone(),
        labels: record.plan.labels.clone(),
        loads: run_facts(record).loads,
        points: record.plan.points.len(),
        is_complete: record.status == RunStatus::Complete,
        place,
    }
}
