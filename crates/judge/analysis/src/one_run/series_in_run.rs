//! From a record to its series without samples: what histories, checks and comparisons are computed from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plumb_model::{
    ClockSource, Environment, MeasuredOn, Metric, PlannedPoint, PointOnTarget, QuantityKind, Role,
    RunCompanion, RunOfSeries, RunRecord, SeriesInRun,
};
use plumb_stats::describe::median;
use plumb_stats::precision::PER_LOOK_LEVEL;

use crate::comparison::ends::ends;
use crate::comparison::generator_busy::is_generator_busy;
use crate::estimate::median_of_processes;
use crate::facts::point_facts;
use crate::one_run::point_data::PointData;

/// The series of a run: a metric of every point that has values, but for distributions. Points that give the
/// same series, as when a program was compared with itself, are one: what they have in common is the run.
#[must_use]
pub fn series_in_run(record: &RunRecord) -> Vec<SeriesInRun> {
    let run = Arc::new(run_of_series(record));
    let environments: Vec<Arc<Environment>> =
        record.environments.iter().map(|environment| Arc::new(environment.clone())).collect();
    let all = PointData::of(record);
    let mut found: Vec<MetricPoints> = Vec::new();
    for data in &all {
        for (place, metric) in data.planned.description.metrics.iter().enumerate() {
            if metric.kind == QuantityKind::Histogram {
                continue;
            }
            let measured = MetricPoints { parts: vec![data], metric, primary: place == 0 };
            match found.iter_mut().find(|known| known.is_same(&measured)) {
                Some(known) => known.parts.push(data),
                None => found.push(measured),
            }
        }
    }
    found.iter().filter_map(|measured| measured.series(record, &run, &environments)).collect()
}

/// A metric of the points that give one series.
struct MetricPoints<'d> {
    parts: Vec<&'d PointData<'d>>,
    metric: &'d Metric,
    primary: bool,
}

impl MetricPoints<'_> {
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
            point: Arc::new(point_facts(data.index, planned)),
            name: self.name(),
            clock: clock(data),
            metric: self.metric.name.clone(),
            unit: self.metric.unit.clone(),
            better: self.metric.better,
            primary: self.primary,
            versions: first.ready.versions.clone(),
            is_side_of_knob: is_side_of_knob(planned),
            points: self.parts.iter().map(place).collect(),
            process_medians: slices.iter().filter_map(|values| median(values)).collect(),
            ends: ends(self.parts.iter().flat_map(|part| part.invocations.iter().copied())),
            busy_clients: is_generator_busy(
                self.parts.iter().flat_map(|part| part.invocations.iter().copied()),
            ),
            samples: processes.iter().map(Vec::len).sum(),
            // At one level whatever rules stopped the run, so that runs can be compared.
            estimate: median_of_processes(&slices, PER_LOOK_LEVEL)?.estimate,
        })
    }
}

/// Whether nobody measures the point under these conditions but to compare them.
fn is_side_of_knob(planned: &PlannedPoint) -> bool {
    // Values of a knob that are conditions of their point make a series of their own.
    let is_of_knob = !planned.preparation.is_empty() && planned.point.conditions.is_empty();
    is_of_knob || planned.proof.is_some()
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

fn clock(data: &PointData) -> String {
    data.clock().map_or_else(|| ClockSource::MONOTONIC.to_owned(), |clock| clock.id)
}

/// What all series of a run have in common.
#[must_use]
pub fn run_of_series(record: &RunRecord) -> RunOfSeries {
    let place = record.targets.first().map(|target| MeasuredOn {
        machine: Arc::new(target.machine.clone()),
        host: target.host.clone(),
        environment: Arc::new(target.environment.clone()),
    });
    let companions = record
        .plan
        .beside(None)
        .map(|companion| RunCompanion { role: companion.role, name: companion.point.name() });
    RunOfSeries {
        run: record.run,
        started_unix_ns: record.started_unix_ns,
        plumb: record.plumb.clone(),
        command: record.command.clone(),
        suite: record.plan.suite.clone(),
        labels: record.plan.labels.clone(),
        companions: companions.collect(),
        prepared: record.plan.prepared(None),
        versions: versions(record),
        points: record.plan.points.len(),
        status: record.status,
        sends_to_named_host: sends_to_named_host(record),
        place,
    }
}

/// Every version that a measured invocation reported, whether or not it ended well.
fn versions(record: &RunRecord) -> BTreeMap<String, BTreeSet<String>> {
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let measured = record.invocations.iter().filter(|invocation| invocation.role == Role::Workload);
    for (component, version) in measured.flat_map(|invocation| &invocation.ready.versions) {
        all.entry(component.clone()).or_default().insert(version.clone());
    }
    all
}

/// Whether a point of the run, or a load next to it, sends to a host that somebody named, which is not this machine.
fn sends_to_named_host(record: &RunRecord) -> bool {
    let loads = record.plan.companions.iter().map(|companion| &companion.point);
    record.plan.points.iter().chain(loads).any(|planned| {
        let rule = planned.description.restricted.as_ref();
        rule.is_some_and(|rule| rule.sent(&planned.point.settings).is_some())
    })
}
