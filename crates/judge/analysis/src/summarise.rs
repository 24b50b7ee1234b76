//! A run's record, summarised.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{
    Goal, Kind, Metric, ParameterType, PlannedPoint, Role, RunRecord, RunStatus, Value,
};
use plumb_stats::describe::median;

use crate::comparison::pairs;
use crate::estimate::{median_at_any_time, median_of_processes};
use crate::point_data::PointData;
use crate::{
    CONFIDENCE, Disturbances, Estimate, Finding, METHOD_VERSION, PointFacts, RunFacts, RunFinding,
    Setting, baselines, failures, histogram, rules, scaling,
};

/// Most quantiles of the steady samples that are kept for sketches.
const THINNED: usize = 256;

/// What a run's record says. Samples of invocations that did not end well never count.
#[must_use]
pub fn summarise(record: &RunRecord) -> RunFinding {
    let run_flags = rules::of_run(record);
    let evidence = PointData::of(record);
    let mut results: Vec<Finding> = evidence.iter().flat_map(|e| of_point(e, record)).collect();
    for flag in &run_flags {
        results.iter_mut().for_each(|finding| rules::add(&mut finding.flags, flag.clone()));
    }
    baselines::judge(&mut results, record);
    let mut failed = failures::failed(record);
    failed.extend(failures::no_numbers(&evidence));
    RunFinding {
        method: METHOD_VERSION,
        run: run_facts(record),
        targets: record.targets.clone(),
        scaling: scaling::scaling(&results),
        results,
        against_first: pairs::against_first(record),
        unsupported: failures::unsupported(record),
        failed,
        not_reached: failures::not_reached(record),
        interference: disturbances(record),
        flags: run_flags,
    }
}

/// How often something else disturbed a run.
fn disturbances(record: &RunRecord) -> Disturbances {
    let measured = || record.invocations.iter().filter(|it| it.role == Role::Workload);
    let mut rules = BTreeMap::new();
    for invocation in measured() {
        let found: BTreeSet<&String> = invocation.interference.iter().map(|it| &it.rule).collect();
        for rule in found {
            *rules.entry(rule.clone()).or_default() += 1;
        }
    }
    Disturbances {
        on_interference: record.plan.on_interference,
        invocations: measured().count(),
        disturbed: measured().filter(|it| !it.interference.is_empty()).count(),
        excluded: measured().filter(|it| it.excluded_by.is_some()).count(),
        rules,
    }
}

pub(crate) fn run_facts(record: &RunRecord) -> RunFacts {
    RunFacts {
        id: record.run,
        started_unix_ns: record.started_unix_ns,
        ended_unix_ns: record.ended_unix_ns,
        status: record.status,
        suite: record.plan.suite.clone(),
        labels: record.plan.labels.clone(),
        seed: record.plan.seed,
        plumb: record.plumb.clone(),
        command: record.command.clone(),
        dir: record.plan.dir.clone(),
        goal: record.plan.goal.clone(),
        budget_ns: record.plan.budget_ns,
        segments: record.segments.len(),
        loads: rules::loads(record),
        preparations: record.preparations.clone(),
    }
}

/// A point as people know it.
#[must_use]
pub fn point_facts(index: usize, planned: &PlannedPoint) -> PointFacts {
    PointFacts {
        index,
        workload: planned.point.workload.clone(),
        version: planned.description.version,
        key: planned.point.key.clone(),
        name: planned.name(),
        titled: planned.title.is_some(),
        settings: planned.point.settings.clone(),
        parameters: parameters(planned),
    }
}

fn parameters(planned: &PlannedPoint) -> Vec<Setting> {
    let key = format!(",{}", planned.point.key);
    let shown = planned.description.parameters.iter().filter(|p| p.kind != ParameterType::Path);
    shown
        .filter_map(|parameter| {
            let value = match (parameter.kind, planned.point.settings.get(&parameter.name)?) {
                (ParameterType::Bytes, Value::Integer(bytes)) => Value::show_bytes(*bytes),
                (_, value) => value.to_string(),
            };
            Some(Setting {
                name: parameter.name.clone(),
                value,
                kind: parameter.kind,
                default: !key.contains(&format!(",{}=", parameter.name)),
            })
        })
        .collect()
}

fn of_point(evidence: &PointData, record: &RunRecord) -> Vec<Finding> {
    let metrics = evidence.planned.description.metrics.iter().enumerate();
    metrics
        .flat_map(|(i, metric)| match metric.kind {
            Kind::Histogram => of_histogram(evidence, metric),
            _ => of_metric(evidence, record, metric, i == 0).into_iter().collect(),
        })
        .collect()
}

/// The quantiles of a reported distribution, a finding each.
fn of_histogram(evidence: &PointData, metric: &Metric) -> Vec<Finding> {
    let processes = histogram::processes(evidence, metric);
    let samples = processes.iter().flat_map(|counts| counts.values()).sum::<u64>();
    let quantile = |found: histogram::QuantileFound| Finding {
        series: format!("{} {}", evidence.planned.point.series(&metric.name), found.name),
        metric: format!("{} {}", metric.name, found.name),
        statistic: found.name.to_owned(),
        reached: found.estimate.relative_half_width(),
        invocations: processes.len(),
        samples: usize::try_from(samples).unwrap_or(usize::MAX),
        ..finding(evidence, metric, found.estimate)
    };
    histogram::quantiles(&processes, &metric.unit).into_iter().map(quantile).collect()
}

/// The finding of one metric. None when the samples do not carry it, or one value is no number.
fn of_metric(
    evidence: &PointData,
    record: &RunRecord,
    metric: &Metric,
    primary: bool,
) -> Option<Finding> {
    let processes = evidence.processes(metric)?;
    let slices: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
    let found = if open_ended(record) { median_at_any_time } else { median_of_processes }(&slices)?;
    let pool = slices.concat();
    let mut finding = Finding {
        primary,
        reached: found.estimate.relative_half_width(),
        invocations: processes.len(),
        samples: pool.len(),
        n_eff: found.n_eff,
        discarded: evidence.discarded(),
        wanted: primary.then(|| evidence.wanted().or(wanted(record))).flatten(),
        process_medians: slices.iter().filter_map(|values| median(values)).collect(),
        distribution: rules::thin(&pool, THINNED),
        ..finding(evidence, metric, found.estimate)
    };
    finding.flags = rules::of_result(evidence, &finding);
    Some(finding)
}

/// What is known of a metric of a point besides its samples.
fn finding(evidence: &PointData, metric: &Metric, estimate: Estimate) -> Finding {
    let description = &evidence.planned.description;
    Finding {
        series: evidence.planned.point.series(&metric.name),
        point: point_facts(evidence.index, evidence.planned),
        metric: metric.name.clone(),
        summary: metric.summary.clone(),
        unit: metric.unit.clone(),
        better: metric.better,
        primary: false,
        statistic: "median".to_owned(),
        reached: None,
        estimate,
        confidence: CONFIDENCE,
        invocations: 0,
        samples: 0,
        n_eff: None,
        sample_is: description.sample_is,
        warmup: evidence.warmup(),
        discarded: 0,
        stop: evidence.stop(),
        wanted: None,
        target: evidence.target,
        cpu: evidence.cpu(),
        peak_memory_bytes: evidence.peak_memory_bytes(),
        clock: evidence.clock(),
        process_medians: Vec::new(),
        distribution: Vec::new(),
        versions: evidence.versions(),
        notes: evidence.notes(),
        of_baseline: None,
        flags: Vec::new(),
    }
}

/// Whether somebody may have ended the run, or look at it, because of what it shows.
fn open_ended(record: &RunRecord) -> bool {
    record.plan.goal == Goal::Soak && record.status != RunStatus::Complete
}

fn wanted(record: &RunRecord) -> Option<f64> {
    match record.plan.goal {
        Goal::Precision { relative } => Some(relative),
        Goal::Fixed { .. } | Goal::Soak | Goal::Verdict { .. } => None,
    }
}
