//! A run's record, summarised.

use plumb_model::{Goal, MARGIN, Metric, QuantityKind, Role, RunRecord, RunStatus, SeriesInRun};
use plumb_stats::describe::median;
use std::collections::{BTreeMap, BTreeSet};

use crate::asked::Asked;
use crate::comparison::covariates::CounterMeans;
use crate::comparison::pairs::{against_above, against_first};
use crate::estimate::{
    Estimate, SessionFacts, machine_interval, median_at_any_time, median_of_processes,
};
use crate::facts::{point_facts, run_facts};
use crate::method::{CONFIDENCE, METHOD_VERSION, level};
use crate::one_run::also_changed::{add_covariates_to_levels, add_covariates_to_points};
use crate::one_run::best_quarter;
use crate::one_run::bottlenecks::bottlenecks;
use crate::one_run::burst::Burst;
use crate::one_run::curves::curves;
use crate::one_run::energy;
use crate::one_run::expectations;
use crate::one_run::failures;
use crate::one_run::finding::{Disturbances, Finding, NoBaseline, RunFinding};
use crate::one_run::flags;
use crate::one_run::gate::gate;
use crate::one_run::histogram;
use crate::one_run::implementations::{PointsWithoutResult, rankings_of_implementations};
use crate::one_run::ladders::ladders;
use crate::one_run::levels::TwoLevels;
use crate::one_run::link_fits::link_fits;
use crate::one_run::odd_addresses::flag_odd;
use crate::one_run::other_cpu;
use crate::one_run::pauses;
use crate::one_run::point_data::PointData;
use crate::one_run::random_reads::flag_faster;
use crate::one_run::rankings::rankings;
use crate::one_run::right_answers::RightAnswers;
use crate::one_run::series_in_run::series_in_run;
use crate::one_run::shares;
use crate::one_run::start_ups::start_ups;
use crate::over_runs::since::{EarlierRuns, results_since};
use crate::over_runs::usual::add_usual;

/// Most quantiles of the steady samples that are kept for sketches.
const THINNED: usize = 256;

/// What a finding takes besides the record. Each is read only if the record gives a reason to.
pub struct RunQuestions<'q, E> {
    /// Reads what monitors counted; None to leave out what else changed.
    pub counters: Option<&'q dyn Fn() -> Result<CounterMeans, E>>,
    /// Finds the earlier runs for these series of the run; None if it is not asked what moved since.
    pub earlier: Option<EarlierOf<'q, E>>,
}

/// Finds earlier runs for the series of a run; None if there is no comparable one.
pub type EarlierOf<'q, E> = &'q dyn Fn(&[SeriesInRun]) -> Result<Option<EarlierRuns>, E>;

/// What a run's record says, with the answers to these questions.
///
/// # Errors
/// When what a question takes cannot be read.
pub fn summarise_with<E>(
    record: &RunRecord,
    questions: &RunQuestions<'_, E>,
) -> Result<RunFinding, E> {
    let mut finding = summarise(record);
    let has_levels = finding.results.iter().any(|result| result.levels.is_some());
    let may_cost = other_cpu::may_cost(record);
    let has_media = other_cpu::has_media(record);
    let has_energy = energy::is_measured(record);
    if let Some(counters) = questions.counters
        && (has_levels || may_cost || has_media || has_energy || !finding.against_first.is_empty())
    {
        let counters = counters()?;
        if may_cost {
            other_cpu::add_other_cpu(&mut finding, record, &counters);
        }
        if has_media {
            other_cpu::add_media_cpu(&mut finding, record, &counters);
        }
        if has_energy {
            energy::add_energy(&mut finding, record, &counters);
        }
        add_covariates_to_points(&mut finding, record, &counters);
        add_covariates_to_levels(&mut finding, record, &counters);
    }
    if let Some(earlier) = questions.earlier {
        let this = series_in_run(record);
        let earlier = earlier(&this)?;
        let found = earlier
            .as_ref()
            .and_then(|earlier| results_since(&this, &finding.results, earlier, MARGIN));
        finding.since_last = found.into();
        if let Some(earlier) = &earlier {
            add_usual(&mut finding.results, &this, earlier);
        }
    }
    Ok(finding)
}

/// What a run's record says by itself. Samples of invocations that did not end well never count.
#[must_use]
pub fn summarise(record: &RunRecord) -> RunFinding {
    let run_flags = flags::of_run(record);
    let data = PointData::of(record);
    let mut results: Vec<Finding> = data.iter().flat_map(|e| of_point(e, record)).collect();
    for flag in &run_flags {
        results.iter_mut().for_each(|finding| flags::add(&mut finding.flags, flag.clone()));
    }
    flag_faster(&mut results, record);
    flag_odd(&mut results, record);
    shares::say(&mut results);
    expectations::judge(&mut results, record);
    let mut failed = failures::failed(record);
    failed.extend(failures::no_numbers(&data));
    let unsupported = failures::unsupported(record);
    let without = PointsWithoutResult { unsupported: &unsupported, failed: &failed };
    let mut rankings = rankings(&results, record);
    rankings.extend(rankings_of_implementations(&results, &data, &without));
    let against_first = against_first(record);
    RunFinding {
        method: METHOD_VERSION,
        run: run_facts(record),
        targets: record.targets.clone(),
        curves: curves(&results, record),
        links: link_fits(&results, record),
        bottlenecks: bottlenecks(&results, record),
        ladders: ladders(&results, record),
        rankings,
        results,
        proof: gate(record, &against_first),
        against_first,
        against_above: against_above(record),
        start_ups: start_ups(record),
        since_last: Asked::NotAsked,
        unsupported,
        failed,
        accepted_failures: failures::accepted(&data),
        not_reached: failures::not_reached(record),
        interference: disturbances(record),
        right_answers: RightAnswers::of(record),
        flags: run_flags,
    }
}

/// How often something else disturbed a run.
fn disturbances(record: &RunRecord) -> Disturbances {
    let measured =
        || record.invocations.iter().filter(|invocation| invocation.role == Role::Workload);
    let mut rules = BTreeMap::new();
    for invocation in measured() {
        let found: BTreeSet<&String> =
            invocation.interference.iter().map(|interference| &interference.rule).collect();
        for rule in found {
            *rules.entry(rule.clone()).or_default() += 1;
        }
    }
    Disturbances {
        on_interference: record.plan.on_interference,
        invocations: measured().count(),
        disturbed: measured().filter(|invocation| !invocation.interference.is_empty()).count(),
        excluded: measured().filter(|invocation| invocation.is_disturbed()).count(),
        rules,
    }
}

fn of_point(data: &PointData, record: &RunRecord) -> Vec<Finding> {
    let metrics = data.planned.description.metrics.iter().enumerate();
    metrics
        .flat_map(|(i, metric)| match metric.kind {
            QuantityKind::Histogram => of_histogram(data, record, metric),
            _ => of_metric(data, record, metric, i == 0).into_iter().collect(),
        })
        .collect()
}

/// The quantiles of a reported distribution, a finding each.
fn of_histogram(data: &PointData, record: &RunRecord, metric: &Metric) -> Vec<Finding> {
    let processes = histogram::processes(data, metric);
    let samples = processes.iter().flat_map(|counts| counts.values()).sum::<u64>();
    let quantile = |found: histogram::QuantileFound| Finding {
        series: format!("{} {}", data.planned.point.series(&metric.name), found.name),
        metric: format!("{} {}", metric.name, found.name),
        statistic: found.name.to_owned(),
        reached: found.estimate.relative_half_width(),
        invocations: processes.len(),
        samples: usize::try_from(samples).unwrap_or(usize::MAX),
        ..finding(data, metric, found.estimate)
    };
    let level = level(record, data.planned);
    histogram::quantiles(&processes, &metric.unit, level).into_iter().map(quantile).collect()
}

/// The finding of one metric. None when the samples do not carry it, or one value is no number.
fn of_metric(
    data: &PointData,
    record: &RunRecord,
    metric: &Metric,
    primary: bool,
) -> Option<Finding> {
    let processes = data.processes(metric)?;
    let slices: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
    let level = level(record, data.planned);
    let found = if open_ended(record) {
        median_at_any_time(&slices)?
    } else {
        median_of_processes(&slices, level)?
    };
    let pool = slices.concat();
    let process_medians: Vec<f64> = slices.iter().filter_map(|values| median(values)).collect();
    let headline = primary || metric.headline;
    let session_s = data.seconds();
    let session = SessionFacts { seconds: session_s, beside: data.is_beside(), unit: &metric.unit };
    // No precision is asked of a metric that is not shown first.
    let wanted = match headline {
        true => data.wanted().or_else(|| record.plan.rules_of(data.planned)?.precision),
        false => None,
    };
    let burst = Burst::of(data, metric, level).filter(|_| primary);
    let mut finding = Finding {
        primary,
        headline,
        reached: found.estimate.relative_half_width(),
        invocations: processes.len(),
        samples: pool.len(),
        n_eff: found.n_eff,
        machine: machine_interval(&found.estimate, &slices, &session),
        session_s,
        other_cpu: None,
        media_cpu: None,
        energy: None,
        stretch: found.stretch,
        resolved: found.resolved,
        pauses: primary.then(|| pauses::of(record, data.index, metric)).flatten(),
        discarded: data.discarded(),
        needs_s: data.needs_s().filter(|_| primary),
        // A burst that ends explains its two levels.
        levels: TwoLevels::of(&slices, wanted, level).filter(|_| primary && burst.is_none()),
        burst,
        wanted,
        best_quarter: best_quarter::of(&process_medians, metric.better).filter(|_| primary),
        process_medians,
        distribution: flags::thin(&pool, THINNED),
        ..finding(data, metric, found.estimate)
    };
    finding.flags = flags::of_result(data, &finding);
    Some(finding)
}

/// What is known of a metric of a point besides its samples.
fn finding(data: &PointData, metric: &Metric, estimate: Estimate) -> Finding {
    let description = &data.planned.description;
    Finding {
        series: data.planned.point.series(&metric.name),
        point: point_facts(data.index, data.planned),
        metric: metric.name.clone(),
        summary: metric.summary.clone(),
        unit: metric.unit.clone(),
        goal: metric.search.as_ref().map(|goal| goal.words.clone()),
        better: metric.better,
        primary: false,
        headline: false,
        statistic: "median".to_owned(),
        reached: None,
        estimate,
        machine: None,
        best_quarter: None,
        levels: None,
        burst: None,
        session_s: None,
        other_cpu: None,
        media_cpu: None,
        energy: None,
        stretch: None,
        resolved: true,
        pauses: None,
        confidence: CONFIDENCE,
        invocations: 0,
        samples: 0,
        n_eff: None,
        sample_is: description.sample_is,
        warmup: data.warmup(),
        discarded: 0,
        stop: data.stop(),
        needs_s: None,
        wanted: None,
        target: data.target,
        cpu: data.cpu(),
        peak_memory_bytes: data.peak_memory_bytes(),
        clock: data.clock(),
        process_medians: Vec::new(),
        distribution: Vec::new(),
        versions: data.versions(),
        notes: data.notes(),
        of_baseline: Err(NoBaseline::Unknown),
        flags: Vec::new(),
    }
}

/// Whether somebody may have ended the run, or look at it, because of what it shows.
fn open_ended(record: &RunRecord) -> bool {
    record.plan.goal == Goal::Soak && record.status != RunStatus::Complete
}
