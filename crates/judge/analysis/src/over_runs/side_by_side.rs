//! Several arms side by side: the sides of one paired run, or stored runs.
//!
//! Sides of one run are compared by their pairs. Stored runs were measured at other times, so the noise between
//! runs counts too: it is estimated from earlier runs of the same series on the same machine in the same
//! environment, and where there are too few of them there is no verdict, but the noise that would explain the
//! difference away.

use std::collections::BTreeMap;

use plumb_model::{Better, By, MARGIN, Metric, PlannedPoint, RunRecord, SampleIs, SeriesInRun};
use plumb_stats::Interval;
use plumb_stats::describe::{BoxPlot, box_plot, mean, median};
use plumb_stats::multiple::mean_log_ratio;
use plumb_stats::precision::PER_LOOK_LEVEL;

use crate::comparison::covariates::{Counters, facts_that_differ, rates_that_differ};
use crate::comparison::pairs::unit_of_any;
use crate::comparison::verdict::Comparison;
use crate::estimate::{Estimate, estimate, median_of_processes};
use crate::facts::{CpuShares, PointFacts, RunFacts, point_facts, run_facts};
use crate::method::{CONFIDENCE, METHOD_VERSION};
use crate::one_run::finding::RunFinding;
use crate::one_run::point_data::PointData;
use crate::one_run::series_in_run::{processes, series_in_run};
use crate::over_runs::also_changed::invocations;
use crate::over_runs::arms::{CompareSettings, Group, groups, runs_of_arms};
use crate::over_runs::costs::is_one_machine;
use crate::over_runs::environment_diff::{Difference, differences};
use crate::over_runs::noise::RunsNoise;
use crate::over_runs::runs::by_runs;
use crate::over_runs::standing_out::{Candidate, StandingOut, standing_out};

/// What is found when arms are compared.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonFinding {
    /// Version of the method that found it.
    pub method: u32,
    /// The runs, in the order of their arms.
    pub runs: Vec<RunFacts>,
    /// What people call each arm; the first is what the others are compared with.
    pub arms: Vec<String>,
    /// What runs were grouped by, when they were.
    pub by: Option<String>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Level of every interval.
    pub confidence: f64,
    /// Whether the arms were measured in pairs.
    pub paired: bool,
    /// Whether the arms were measured on different machines.
    pub machines_differ: bool,
    /// What differs between the arms' machines, environments and plans.
    pub differences: Vec<Difference>,
    /// A comparison for every series that the first arm has in common with another.
    pub results: Vec<SeriesComparison>,
    /// Each later arm against the first over all series that both have: the geometric mean of their
    /// ratios, which speaks of these series and no others. None for fewer than two, for pairs, and where
    /// several metrics of one point would count.
    pub overall: Vec<Option<Estimate>>,
    /// Which series of each later arm moved unlike the others, from the first arm on; None for pairs and where
    /// machines differ.
    pub standing_out: Vec<Option<StandingOut>>,
    /// Series that only some arms have, with the arms that have them.
    pub not_in_all: Vec<(String, Vec<String>)>,
}

/// One series in every arm.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesComparison {
    /// Name of the series.
    pub series: String,
    /// The point; of the first arm where the arms are points.
    pub point: PointFacts,
    /// Name of the metric, without that of the point.
    pub metric: String,
    /// Whether it is the workload's first.
    pub primary: bool,
    /// Unit of the metric, an SI base unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// The arms; None where one lacks the series.
    pub arms: Vec<Option<Arm>>,
    /// Each later arm against the first.
    pub against_first: Vec<Option<Comparison>>,
    /// Each later arm against the one before it, where there are more than two.
    pub against_previous: Vec<Option<Comparison>>,
}

/// One arm of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Arm {
    /// The estimate with its interval.
    pub estimate: Estimate,
    /// Runs that it rests on.
    pub runs: usize,
    /// Processes that it rests on.
    pub processes: usize,
    /// What the arm gives for its price: rate a unit of price, or price times time; less of the latter
    /// is better. None without a numeric price.
    pub for_price: Option<f64>,
    /// The box plot of its steady samples.
    pub box_plot: Option<BoxPlot>,
    /// These samples, sorted.
    pub samples: Vec<f64>,
    /// Resource use as shares of wall time, the mean over runs; None where it is not known.
    pub cpu: Option<CpuShares>,
    /// What the metric is made of: the other headline metrics in its unit, each with its mean over runs.
    pub parts: Vec<(String, f64)>,
}

/// The sides of one run that was measured in pairs.
#[must_use]
pub fn compare_sides(record: &RunRecord, finding: &RunFinding) -> ComparisonFinding {
    let plan = record.plan.comparison();
    let points = &record.plan.points;
    let arms: Vec<String> = points.iter().map(PlannedPoint::name).collect();
    let result = finding.against_first.first().map(|first| {
        let metric = first.metric.clone();
        let declared = points.first().and_then(|point| point.description.metric(&metric));
        SeriesComparison {
            series: points[0].point.series(&metric),
            point: first.first.clone(),
            primary: true,
            unit: declared.map_or_else(|| unit_of_any(&metric), |metric| metric.unit.clone()),
            better: declared.map_or(Better::Lower, |metric| metric.better),
            arms: (0..points.len()).map(|point| side(record, point, &metric)).collect(),
            against_first: finding
                .against_first
                .iter()
                .map(|comparison| Some(comparison.found.clone()))
                .collect(),
            against_previous: Vec::new(),
            metric,
        }
    });
    ComparisonFinding {
        method: METHOD_VERSION,
        runs: vec![finding.run.clone()],
        arms,
        by: None,
        margin: plan.map_or(MARGIN, |plan| plan.margin),
        confidence: CONFIDENCE,
        paired: true,
        machines_differ: false,
        differences: Vec::new(),
        results: result.into_iter().collect(),
        overall: Vec::new(),
        standing_out: Vec::new(),
        not_in_all: Vec::new(),
    }
}

/// One side of a paired run by the metric that is compared.
fn side(record: &RunRecord, point: usize, metric: &str) -> Option<Arm> {
    let planned = &record.plan.points[point];
    let declared = planned.description.metric(metric);
    let by_invocation: Vec<Vec<f64>> = record
        .good_invocations(point)
        .filter_map(|invocation| match declared {
            Some(declared) => invocation.steady(declared),
            None => invocation.costs(planned, metric),
        })
        .collect();
    let processes = match planned.description.sample_is {
        SampleIs::Process => by_invocation.into_iter().flatten().map(|value| vec![value]).collect(),
        SampleIs::Iteration => by_invocation,
    };
    let data = PointData::of(record).into_iter().find(|data| data.index == point);
    let parts = data.as_ref().zip(declared).map(|(data, metric)| parts_of(data, metric));
    let made = arm(&processes, 1, None)?;
    Some(Arm { cpu: data.and_then(|data| data.cpu()), parts: parts.unwrap_or_default(), ..made })
}

/// Stored runs compared with the first of them and with the one before. `earlier` are the series of further runs, which
/// show how much runs differ by themselves. With `counters`, differences are explained by what else changed; without,
/// that was not asked.
#[must_use]
pub fn compare<'s>(
    records: &[RunRecord],
    earlier: impl IntoIterator<Item = &'s SeriesInRun>,
    counters: Option<&Counters>,
    settings: &CompareSettings,
) -> ComparisonFinding {
    let groups = groups(records, settings);
    let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
    let first_run = records.first().map(series_in_run).unwrap_or_default();
    let noise = match settings.across {
        // Series of different workloads have the same name here: earlier runs of one say nothing of the other.
        true => RunsNoise::default(),
        false => {
            let earlier: Vec<SeriesInRun> = earlier.into_iter().cloned().collect();
            RunsNoise::of(&first_run, &earlier, settings.one_machine())
        }
    };
    let arms: Vec<BTreeMap<String, SeriesOfArm>> =
        groups.iter().map(|group| series_of_arm(group, settings)).collect();
    let order = series_in_order(&arms);
    let common = order.iter().filter(|series| {
        let with = arms.iter().filter(|arm| arm.contains_key(*series)).count();
        arms.first().is_some_and(|arm| arm.contains_key(*series)) && with > 1
    });
    let mut results: Vec<SeriesComparison> =
        common.map(|series| one_series(series, &arms, &noise, settings.margin)).collect();
    let machines_differ = machines_differ(records);
    let standing_out = (1..names.len())
        .map(|arm| (!machines_differ).then(|| mark_standing_out(&mut results, arm, &noise)))
        .collect();
    let mut not_in_all = Vec::new();
    for series in &order {
        let arms_with = arms.iter().zip(&names).filter(|(arm, _)| arm.contains_key(series));
        let with: Vec<String> = arms_with.map(|(_, name)| name.clone()).collect();
        if with.len() < names.len() {
            not_in_all.push((series.clone(), with));
        }
    }
    let mut finding = ComparisonFinding {
        method: METHOD_VERSION,
        runs: records.iter().map(run_facts).collect(),
        by: settings.by.clone(),
        margin: settings.margin,
        confidence: CONFIDENCE,
        paired: false,
        machines_differ,
        differences: differences(
            &groups.iter().map(|group| group.runs.as_slice()).collect::<Vec<_>>(),
        ),
        overall: (1..names.len())
            .map(|arm| if settings.every_metric { None } else { overall(&results, arm - 1) })
            .collect(),
        standing_out,
        results,
        not_in_all,
        arms: names,
    };
    if let Some(counters) = counters {
        add_covariates(&mut finding, records, settings, counters);
    }
    finding
}

/// Adds to every arm of stored runs that differs from the first what else changed, whether or not the noise
/// between runs is known well enough for a verdict.
fn add_covariates(
    finding: &mut ComparisonFinding,
    records: &[RunRecord],
    settings: &CompareSettings,
    counters: &Counters,
) {
    let arms = runs_of_arms(records, settings);
    let differences = finding.differences.clone();
    for result in &mut finding.results {
        for (index, against) in result.against_first.iter_mut().enumerate() {
            let later = index + 1;
            let Some(against) = against.as_mut().filter(|point| point.differs()) else { continue };
            let series = &result.series;
            let from = invocations(&arms[0], series);
            let to = invocations(&arms[later], series);
            against.covariates = facts_that_differ(&differences, 0, later);
            against.covariates.extend(rates_that_differ(&from, &to, counters));
        }
    }
}

fn machines_differ(records: &[RunRecord]) -> bool {
    records.iter().enumerate().any(|(index, one)| {
        records[..index].iter().any(|other| !is_one_machine(one, other, By::Host))
    })
}

/// Which series of an arm moved unlike the others, and the remark on each of them.
fn mark_standing_out(
    results: &mut [SeriesComparison],
    arm: usize,
    noise: &RunsNoise,
) -> StandingOut {
    let first_metrics = results.iter().enumerate().filter(|(_, result)| result.primary);
    let candidates = first_metrics.filter_map(|(place, result)| {
        let estimate = |arm: usize| Some(&result.arms.get(arm)?.as_ref()?.estimate);
        let against = result.against_first.get(arm - 1)?.as_ref()?;
        let earlier = noise.beside_common(&result.series);
        Some(Candidate { place, against, estimates: (estimate(0)?, estimate(arm)?), earlier })
    });
    let found = standing_out(candidates);
    for &place in found.places() {
        let against =
            results.get_mut(place).and_then(|result| result.against_first.get_mut(arm - 1));
        against.into_iter().flatten().for_each(Comparison::mark_standing_out);
    }
    found
}

/// The geometric mean of one arm's ratios; without an interval where one of theirs leaves the noise
/// between runs out.
fn overall(results: &[SeriesComparison], arm: usize) -> Option<Estimate> {
    let all: Vec<Interval> =
        results.iter().filter_map(|result| log_ratio_of(result, arm)).collect();
    if all.len() < 2 {
        return None;
    }
    let mean = mean_log_ratio(&all, CONFIDENCE).ok()?;
    let value = mean.estimate.exp();
    if results.iter().all(|result| is_noise_known(result, arm)) {
        return Some(estimate(value, Ok(mean.map(f64::exp))));
    }
    Some(Estimate { value, interval: Err("too little is known of the noise between runs".into()) })
}

/// The log of one arm's ratio with its interval.
fn log_ratio_of(result: &SeriesComparison, arm: usize) -> Option<Interval> {
    let ratio = result.against_first.get(arm)?.as_ref()?.ratio.as_ref()?;
    let ends = ratio.interval.as_ref().ok()?;
    Some(Interval { estimate: ratio.value.ln(), low: ends.low.ln(), high: ends.high.ln() })
}

/// Whether the interval of one arm's ratio, if there is a ratio, allows for the noise between runs: only then there is
/// a verdict.
fn is_noise_known(result: &SeriesComparison, arm: usize) -> bool {
    let against = result.against_first.get(arm).and_then(Option::as_ref);
    against.is_none_or(|found| found.ratio.is_none() || found.verdict.is_ok())
}

/// One series of one arm: in its runs, with the samples behind it.
struct SeriesOfArm {
    point: PointFacts,
    in_runs: Vec<SeriesInRun>,
    /// Values of every process, over all runs of the arm.
    processes: Vec<Vec<f64>>,
    price: Option<f64>,
    /// Resource use, of every run in which it is known.
    cpu: Vec<CpuShares>,
    /// Of every run, what the metric is made of: see [`parts_of`].
    parts: Vec<Vec<(String, f64)>>,
}

fn series_of_arm(group: &Group, settings: &CompareSettings) -> BTreeMap<String, SeriesOfArm> {
    let mut found: BTreeMap<String, SeriesOfArm> = BTreeMap::new();
    for record in &group.runs {
        let price = record.plan.labels.get(&settings.price).and_then(|text| price(text));
        let all = PointData::of(record);
        for series in series_in_run(record) {
            if !series.primary && !settings.every_metric {
                continue;
            }
            let data: Vec<&PointData> = all.iter().filter(|data| gives(data, &series)).collect();
            let Some(first) = data.first() else { continue };
            let point = point_facts(first.index, first.planned);
            let name = match settings.across {
                true => format!("{}/{} in {}", point.name, series.metric, series.unit),
                false => series.comparable_name(),
            };
            let of_arm = found.entry(name).or_insert_with(|| SeriesOfArm {
                point,
                in_runs: Vec::new(),
                processes: Vec::new(),
                price,
                cpu: Vec::new(),
                parts: Vec::new(),
            });
            let metric = first.planned.description.metric(&series.metric);
            of_arm.cpu.extend(first.cpu());
            of_arm.parts.push(metric.map_or_else(Vec::new, |metric| parts_of(first, metric)));
            of_arm.processes.extend(processes(record, &data, &series.metric));
            of_arm.in_runs.push(series);
        }
    }
    found
}

/// Whether this point on this target gives the series.
fn gives(data: &PointData, series: &SeriesInRun) -> bool {
    series.points.iter().any(|part| part.point == data.index && part.target == data.target)
}

/// What the first metric, a time, is made of: the other headline metrics in its unit, each with its median. Rates do not
/// add up.
fn parts_of(data: &PointData, first: &Metric) -> Vec<(String, f64)> {
    let mut metrics = data.planned.description.metrics.iter();
    let is_first = metrics
        .next()
        .is_some_and(|metric| metric.name == first.name && metric.better == Better::Lower);
    let mut parts = Vec::new();
    for metric in metrics.filter(|metric| is_first && metric.headline && metric.unit == first.unit)
    {
        let Some(processes) = data.processes(metric) else { continue };
        let medians: Vec<f64> = processes.iter().filter_map(|values| median(values)).collect();
        parts.extend(median(&medians).map(|middle| (metric.name.clone(), middle)));
    }
    parts
}

/// A price that can be multiplied with and divided by.
fn price(text: &str) -> Option<f64> {
    text.parse().ok().filter(|price: &f64| price.is_finite() && *price > 0.0)
}

/// All series: those of the first arm in the order of its points, then others.
fn series_in_order(arms: &[BTreeMap<String, SeriesOfArm>]) -> Vec<String> {
    let mut order: Vec<(usize, usize, String)> = Vec::new();
    for (arm, series) in arms.iter().enumerate() {
        for (name, of_arm) in series {
            if !order.iter().any(|(_, _, known)| known == name) {
                order.push((arm, of_arm.point.index, name.clone()));
            }
        }
    }
    order.sort();
    order.into_iter().map(|(_, _, name)| name).collect()
}

fn one_series(
    series: &str,
    arms: &[BTreeMap<String, SeriesOfArm>],
    noise: &RunsNoise,
    margin: f64,
) -> SeriesComparison {
    let arms: Vec<Option<&SeriesOfArm>> = arms.iter().map(|arm| arm.get(series)).collect();
    let point =
        arms.iter().flatten().next().map_or_else(PointFacts::default, |arm| arm.point.clone());
    let first = arms.iter().flatten().find_map(|arm| arm.in_runs.first());
    let against = |other: usize, this: usize| {
        let other: Vec<&SeriesInRun> = arms[other]?.in_runs.iter().collect();
        let this: Vec<&SeriesInRun> = arms[this]?.in_runs.iter().collect();
        Some(by_runs(&other, &this, noise, margin))
    };
    let previous = if arms.len() > 2 { 1..arms.len() } else { 0..0 };
    SeriesComparison {
        series: series.to_owned(),
        point,
        primary: first.is_some_and(|result| result.primary),
        metric: first.map_or_else(String::new, |result| result.metric.clone()),
        unit: first.map_or_else(String::new, |result| result.unit.clone()),
        better: first.map_or(Better::Neither, |result| result.better),
        against_first: (1..arms.len()).map(|this| against(0, this)).collect(),
        against_previous: previous.map(|this| against(this - 1, this)).collect(),
        arms: arms.iter().map(|arm| arm.and_then(arm_of)).collect(),
    }
}

fn arm_of(series: &SeriesOfArm) -> Option<Arm> {
    let better = series.in_runs.first().map_or(Better::Neither, |first| first.better);
    let price = series.price.map(|price| (price, better));
    let made = arm(&series.processes, series.in_runs.len(), price)?;
    let mut parts = Vec::new();
    // The first run says which parts there are; a run of another version of the workload may lack one.
    for (name, _) in series.parts.first().into_iter().flatten() {
        let in_runs = series.parts.iter().flatten().filter(|(other, _)| other == name);
        let values: Vec<f64> = in_runs.map(|(_, value)| *value).collect();
        parts.extend(mean(&values).map(|mean| (name.clone(), mean)));
    }
    Some(Arm { cpu: mean_shares(&series.cpu), parts, ..made })
}

/// The mean of resource use over runs.
fn mean_shares(runs: &[CpuShares]) -> Option<CpuShares> {
    let users: Vec<f64> = runs.iter().map(|run| run.user).collect();
    let systems: Vec<f64> = runs.iter().map(|run| run.system).collect();
    let waits: Vec<f64> = runs.iter().map(|run| run.iowait).collect();
    Some(CpuShares { user: mean(&users)?, system: mean(&systems)?, iowait: mean(&waits)? })
}

fn arm(processes: &[Vec<f64>], runs: usize, price: Option<(f64, Better)>) -> Option<Arm> {
    let slices: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
    let estimate = median_of_processes(&slices, PER_LOOK_LEVEL)?.estimate;
    let for_price = price.map(|(price, better)| match better {
        Better::Higher => estimate.value / price,
        Better::Lower | Better::Neither => estimate.value * price,
    });
    let mut samples: Vec<f64> = processes.iter().flatten().copied().collect();
    let box_plot = box_plot(&samples);
    samples.retain(|value| value.is_finite());
    samples.sort_unstable_by(f64::total_cmp);
    Some(Arm {
        runs,
        processes: slices.len(),
        for_price,
        estimate,
        box_plot,
        samples,
        cpu: None,
        parts: Vec::new(),
    })
}
