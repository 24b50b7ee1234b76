//! Ranks variants of one parameter in a run: docs/method.md, *Ranks*.

use std::collections::BTreeMap;

use plumb_model::{Better, ParameterType, RunRecord};
use plumb_stats::ranks::{FEWEST_VALUES, NoRanking, Ranking, in_blocks, independent};
use plumb_stats::rng::Rng;

use crate::method::CONFIDENCE;
use crate::one_run::finding::Finding;
use crate::one_run::ranking::{RankedVariant, VariantRanking, is_of_implementations};

/// Seed of the simulated critical values, so that a run always has the same ranks.
const SEED: u64 = 1;

/// A ranking for each workload of which all points differ in one such parameter alone. A suite names its points for other
/// reasons, a comparison has verdicts, and nobody asked for ceilings. Implementations of the same work are ranked in every run.
pub(crate) fn rankings(results: &[Finding], record: &RunRecord) -> Vec<VariantRanking> {
    if record.plan.suite.is_some() || record.plan.comparison().is_some() {
        return Vec::new();
    }
    let mut workloads: BTreeMap<(usize, &str), Vec<&Finding>> = BTreeMap::new();
    let is_asked_for = |found: &&Finding| !found.point.titled && !found.point.is_ceiling;
    for found in results.iter().filter(|found| found.primary).filter(is_asked_for) {
        let workload = found.point.workload.as_str();
        if !is_of_implementations(workload) {
            workloads.entry((found.target, workload)).or_default().push(found);
        }
    }
    workloads.into_values().filter_map(|points| ranking(&points)).collect()
}

/// The parameter in which all these points differ and which alone tells them apart, if its values have no order.
fn only_difference<'f>(points: &[&'f Finding]) -> Option<&'f str> {
    let first = points.first()?;
    let mut choices =
        first.point.parameters.iter().filter(|parameter| parameter.kind == ParameterType::Choice);
    let alone = choices.find(|parameter| {
        let names = [parameter.name.as_str()];
        let without = first.point.without(&names);
        points.iter().all(|found| found.point.without(&names) == without)
    })?;
    Some(&alone.name)
}

/// None for one point, if they differ in other ways, or if neither more nor less is better.
fn ranking(points: &[&Finding]) -> Option<VariantRanking> {
    if points.len() < 2 {
        return None;
    }
    let parameter = only_difference(points)?;
    let mut speeds = Vec::with_capacity(points.len());
    for found in points {
        speeds.push(speed(found, found.estimate.value)?);
    }
    let fastest = speeds.iter().copied().fold(0.0, f64::max);
    let ranked = ranked(points);
    let mut variants = Vec::with_capacity(points.len());
    for (index, found) in points.iter().enumerate() {
        variants.push(RankedVariant {
            value: value(found, parameter),
            speed: speeds[index] / fastest,
            ranks: ranked.as_ref().ok().map(|ranking| ranking.sets[index]),
            costs: None,
        });
    }
    variants.sort_by(|one, other| other.speed.total_cmp(&one.speed));
    Some(VariantRanking {
        of: points[0].point.without(&[parameter]),
        workload: points[0].point.workload.clone(),
        parameter: parameter.to_owned(),
        metric: points[0].metric.clone(),
        variants,
        no_ranks: ranked.err().map(|why| no_ranks_text(&why, points)),
        implementations: None,
    })
}

/// The value of a parameter, as people type it.
fn value(found: &Finding, parameter: &str) -> String {
    let shown = found.point.parameters.iter().find(|shown| shown.name == parameter);
    shown.map_or_else(String::new, |shown| shown.value.clone())
}

/// The speed of a value of the metric: a rate, or the inverse of a time; None if there is none.
pub(crate) fn speed(found: &Finding, value: f64) -> Option<f64> {
    let speed = match found.better {
        Better::Higher => value,
        Better::Lower => value.recip(),
        Better::Neither => return None,
    };
    (speed.is_finite() && speed > 0.0).then_some(speed)
}

/// Why there are no ranks, with the names of the points.
pub(crate) fn no_ranks_text(why: &NoRanking, points: &[&Finding]) -> String {
    match *why {
        NoRanking::TooFewItems { .. } => "there is nothing to compare".to_owned(),
        NoRanking::TooFewBlocks { have } => {
            let rounds = if have == 1 { "round" } else { "rounds" };
            format!("{have} {rounds}; ranks need --min-invocations {FEWEST_VALUES}")
        }
        NoRanking::TooFewValues { item, have } => {
            let name = &points[item].point.name;
            format!("{have} processes of {name}; ranks need --min-invocations {FEWEST_VALUES}")
        }
        NoRanking::NotFinite { item } => {
            format!("a process of {} has no value", points[item].point.name)
        }
        _ => why.to_string(),
    }
}

/// The ranks of the variants' processes by cost. Variants with as many processes took turns, so each round is a block.
pub(crate) fn ranked(points: &[&Finding]) -> Result<Ranking, NoRanking> {
    let mut costs = Vec::with_capacity(points.len());
    for found in points {
        let of_process = |median: &f64| speed(found, *median).map_or(f64::NAN, |speed| -speed.ln());
        costs.push(found.process_medians.iter().map(of_process).collect::<Vec<f64>>());
    }
    let mut rng = Rng::new(SEED);
    let rounds = costs[0].len();
    if costs.iter().any(|costs| costs.len() != rounds) {
        return independent(&costs, CONFIDENCE, &mut rng);
    }
    let blocks: Vec<Vec<f64>> =
        (0..rounds).map(|round| costs.iter().map(|costs| costs[round]).collect()).collect();
    in_blocks(&blocks, CONFIDENCE, &mut rng)
}
