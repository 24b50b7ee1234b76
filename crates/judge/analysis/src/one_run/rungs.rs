//! Results next to part of their work, measured on its own in the same run.

use plumb_model::{Better, PlannedPoint, RunRecord, Rung};

use crate::estimate::{Ends, Estimate};
use crate::one_run::bottlenecks::is_set;
use crate::one_run::finding::{BaselineSource, Finding, NoBaseline, ShareOfBaseline};
use crate::one_run::share_of_baseline::{over_levels, share_of};

/// A part of a result's work that was measured on its own in the same run.
pub(super) struct MeasuredPart<'r> {
    /// What it is called: `2 × one thread`.
    pub name: String,
    /// The result of the part.
    pub finding: &'r Finding,
    /// As many of them work at the same time in the whole.
    pub factor: u64,
}

/// A result next to the lowest of the ceilings that its rungs give.
///
/// # Errors
/// Why there is none: no rung applies, none was measured, or the result is not below.
pub(super) fn of_rungs(
    finding: &Finding,
    planned: &PlannedPoint,
    all: &[Finding],
    record: &RunRecord,
) -> Result<ShareOfBaseline, NoBaseline> {
    let is_first = planned.description.primary().is_some_and(|first| first.name == finding.metric);
    // A part is measured on this machine, so it says nothing of another one.
    if !is_first || planned.far_end.is_some() {
        return Err(NoBaseline::Unknown);
    }
    if finding.better == Better::Neither {
        return Err(NoBaseline::Undirected);
    }
    let mut lowest = Err(NoBaseline::Unknown);
    for rung in &planned.description.rungs {
        let share = of_rung(finding, planned, rung, all, record);
        let is_lower = match (&lowest, &share) {
            (Ok(ShareOfBaseline { share: before, .. }), Ok(now)) => now.share.value > before.value,
            (Err(NoBaseline::Unknown), Err(_)) | (Err(_), Ok(_)) => true,
            (Ok(_) | Err(_), Err(_)) => false,
        };
        if is_lower {
            lowest = share;
        }
    }
    lowest
}

fn of_rung(
    finding: &Finding,
    planned: &PlannedPoint,
    rung: &Rung,
    all: &[Finding],
    record: &RunRecord,
) -> Result<ShareOfBaseline, NoBaseline> {
    let part = measured_part(finding, planned, rung, all, record)?;
    let ceiling = multiplied(&over_levels(part.finding), part.factor);
    let share =
        share_of(&over_levels(finding), &ceiling, finding.better).ok_or(NoBaseline::NotPositive)?;
    let is_below = match &share.interval {
        Ok(ends) => ends.high < 1.0,
        Err(_) => share.value < 1.0,
    };
    if !is_below {
        return Err(NoBaseline::NotBelow(part.name));
    }
    Ok(ShareOfBaseline {
        value: ceiling.value,
        worst: ceiling.value,
        share,
        verdict: None,
        source: BaselineSource::Rung { point: part.finding.point.name.clone(), name: part.name },
    })
}

/// The result of a rung in the same run, under the same conditions.
///
/// # Errors
/// Why there is none.
pub(super) fn measured_part<'r>(
    finding: &Finding,
    planned: &PlannedPoint,
    rung: &Rung,
    all: &'r [Finding],
    record: &RunRecord,
) -> Result<MeasuredPart<'r>, NoBaseline> {
    let own = &planned.point.settings;
    let settings = rung.settings_for(&planned.point.workload, own).ok_or(NoBaseline::Unknown)?;
    let mut points = Vec::new();
    for (index, other) in record.plan.points.iter().enumerate() {
        if other.point.workload == rung.workload
            && other.point.conditions == planned.point.conditions
            && is_set(other, &settings)
        {
            points.push(index);
        }
    }
    // One thread is not part of one thread.
    if points.contains(&finding.point.index) {
        return Err(NoBaseline::Unknown);
    }
    let part = all.iter().find(|other| {
        points.contains(&other.point.index)
            && other.target == finding.target
            && other.metric == rung.metric
            && other.unit == finding.unit
    });
    let Some(part) = part else {
        return Err(match points.is_empty() {
            true => NoBaseline::NotMeasured(rung.name.clone()),
            false => NoBaseline::NoResult(rung.name.clone()),
        });
    };
    let factor = rung.factor(own);
    let name = match factor {
        1 => rung.name.clone(),
        _ => format!("{factor} × {}", rung.name),
    };
    Ok(MeasuredPart { name, finding: part, factor })
}

/// As many times this figure.
pub(super) fn multiplied(estimate: &Estimate, factor: u64) -> Estimate {
    let factor = factor as f64;
    let interval = estimate
        .interval
        .clone()
        .map(|ends| Ends { low: ends.low * factor, high: ends.high * factor });
    Estimate { value: estimate.value * factor, interval }
}
