//! A result next to parts of its work, each measured on its own in the same run: how much of the time each step adds.
//!
//! A part is the same work with another value of the parameter that the workload declares (a file in memory), a rung (a copy of
//! the bytes that TCP carries), or what a link carries at most. The time of a part is its share of the time of the whole, as in
//! [`share_of`]; a step is the difference between two neighbours. The interval of a step is MOVER as if the two were
//! independent. Both are divided by the same whole, and results of one run rise and fall together, so it is rather too wide.

use plumb_model::{Better, RunRecord};
use plumb_stats::Interval;

use crate::estimate::{Ends, Estimate};
use crate::one_run::bottlenecks::with_interval;
use crate::one_run::expectations::{best_of_others, ceiling_parameter, limit_of};
use crate::one_run::finding::Finding;
use crate::one_run::ladder::{Ladder, LadderRung};
use crate::one_run::rungs::{measured_part, multiplied};
use crate::one_run::share_of_baseline::{share, share_of};

/// The ladder of every result of a point that was asked for and of which a part was measured.
pub(crate) fn ladders(results: &[Finding], record: &RunRecord) -> Vec<Ladder> {
    let mut found = Vec::new();
    for (index, finding) in results.iter().enumerate() {
        let Some(planned) = record.plan.points.get(finding.point.index) else { continue };
        let is_first = planned.description.primary().is_some_and(|own| own.name == finding.metric);
        if !is_first || planned.is_ceiling || finding.better == Better::Neither {
            continue;
        }
        let parts = parts(finding, results, record);
        if !parts.is_empty() {
            found.push(Ladder { result: index, rungs: with_steps(parts, finding) });
        }
    }
    found
}

/// The parts that take less time than the whole, each with its time as a share of it.
fn parts(finding: &Finding, results: &[Finding], record: &RunRecord) -> Vec<LadderRung> {
    let Some(planned) = record.plan.points.get(finding.point.index) else { return Vec::new() };
    let whole = with_interval(finding);
    let mut parts = Vec::new();
    if let Some(free) = ceiling_parameter(&planned.description)
        && let Ok((best, setting)) = best_of_others(finding, free, results)
        && is_for_comparison(best, record)
    {
        let result = with_interval(best);
        let of_whole = share_of(&whole, &result, finding.better);
        parts.extend(of_whole.map(|of_whole| part(setting, result, of_whole)));
    }
    // A part is measured on this machine, so it says nothing of another one.
    for rung in planned.description.rungs.iter().filter(|_| planned.far_end.is_none()) {
        let Ok(measured) = measured_part(finding, planned, rung, results, record) else { continue };
        if !is_for_comparison(measured.finding, record) {
            continue;
        }
        let result = multiplied(&with_interval(measured.finding), measured.factor);
        let of_whole = share_of(&whole, &result, finding.better);
        parts.extend(of_whole.map(|of_whole| part(measured.name, result, of_whole)));
    }
    if let Some((name, value)) = limit_of(finding, record) {
        let exactly = Ends { low: value, high: value };
        let result = Estimate { value, interval: Ok(exactly) };
        let of_whole = share(&whole, value, finding.better);
        parts.extend(of_whole.map(|of_whole| part(name, result, of_whole)));
    }
    // What may take as long as the whole is no part of it.
    parts.retain(|part| part.of_whole.high().unwrap_or(part.of_whole.value) < 1.0);
    parts.sort_by(|one, other| one.of_whole.value.total_cmp(&other.of_whole.value));
    parts
}

/// Whether a point was measured only for comparison. Points that were asked for have curves and rankings.
fn is_for_comparison(finding: &Finding, record: &RunRecord) -> bool {
    record.plan.points.get(finding.point.index).is_some_and(|planned| planned.is_ceiling)
}

/// A part whose step is not known yet: as if nothing were below it.
fn part(name: String, result: Estimate, of_whole: Estimate) -> LadderRung {
    LadderRung { name, result, step: of_whole.clone(), of_whole }
}

/// These parts and the whole above them, each with its step.
fn with_steps(parts: Vec<LadderRung>, finding: &Finding) -> Vec<LadderRung> {
    let one = Estimate { value: 1.0, interval: Ok(Ends { low: 1.0, high: 1.0 }) };
    let whole = part(finding.point.name.clone(), with_interval(finding), one);
    let mut rungs: Vec<LadderRung> = Vec::new();
    for mut rung in parts.into_iter().chain([whole]) {
        if let Some(below) = rungs.last() {
            rung.step = difference(&rung.of_whole, &below.of_whole);
        }
        rungs.push(rung);
    }
    rungs
}

/// One share less another.
fn difference(one: &Estimate, other: &Estimate) -> Estimate {
    let ends = match (interval_of(one), interval_of(other)) {
        (Ok(one), Ok(other)) => {
            let difference = one.minus(&other);
            Ok(Ends { low: difference.low, high: difference.high })
        }
        (Err(why), _) | (_, Err(why)) => Err(why),
    };
    Estimate { value: one.value - other.value, interval: ends }
}

fn interval_of(estimate: &Estimate) -> Result<Interval, String> {
    let ends = estimate.interval.clone()?;
    Ok(Interval { estimate: estimate.value, low: ends.low, high: ends.high })
}
