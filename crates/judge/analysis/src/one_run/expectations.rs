//! Results beside what they should be: what the user expects, or what the same machine gives where
//! nothing is in the way.

use plumb_model::{Better, Description, Expectation, PointFacts, RunRecord};
use plumb_stats::multiple::{holm, p_of_below as p_of_share_below};

use crate::estimate::{Ends, Estimate};
use crate::facts::point_facts;
use crate::one_run::finding::{
    BaselineSource, ExpectationVerdict, Finding, NoBaseline, ShareOfBaseline,
};
use crate::one_run::rungs;
use crate::one_run::share_of_baseline::{over_levels, share, share_of};

/// What the built-ins of the time said before workloads declared it: stored runs still need it. It does not
/// grow.
const BEFORE_DECLARED: [(&str, &str); 3] =
    [("memory.copy", "method"), ("storage.sequential", "place"), ("storage.random", "place")];

/// The parameter whose values show the ceiling of a workload's points.
pub(super) fn ceiling_parameter(description: &Description) -> Option<&str> {
    let before = || BEFORE_DECLARED.iter().find(|(id, _)| *id == description.id);
    description.ceiling.as_deref().or_else(|| before().map(|(_, parameter)| *parameter))
}

/// The workload and the metric that measure the clock.
const CLOCK: (&str, &str) = ("cpu.frequency", "frequency");

/// Without an interval of this machine, a result is judged only if the machine's speed would have to change by this factor to
/// reverse the verdict. This is a judgement, not a simulated level: on a busy guest, cpu.sieve fell from 446 to 200 ops/s
/// within an hour (2026-11-29).
const OTHER_TIMES: f64 = 3.0;

/// Says of every result what it is of what it should be; an expectation goes before a ceiling, and that before a figure of the
/// microarchitecture.
pub(crate) fn judge(results: &mut [Finding], record: &RunRecord) {
    let ceilings: Vec<Result<ShareOfBaseline, NoBaseline>> = results
        .iter()
        .map(|finding| match record.plan.points.get(finding.point.index) {
            Some(planned) if planned.is_ceiling => Err(NoBaseline::OfOthers),
            Some(planned) => {
                let other_values =
                    of_ceiling(finding, ceiling_parameter(&planned.description), results)
                        .map_err(|why| without_result(why, finding, record));
                let measured =
                    lower_of(other_values, rungs::of_rungs(finding, planned, results, record));
                lower_of(measured, of_limit(finding, record))
            }
            None => Err(NoBaseline::Unknown),
        })
        .collect();
    let clocks: Vec<Option<Estimate>> =
        results.iter().map(|finding| clock(finding, results, record)).collect();
    for ((finding, ceiling), clock) in results.iter_mut().zip(ceilings).zip(clocks) {
        finding.of_baseline = match stated(finding, record, is_figure) {
            Some(expected) => of_expectation(finding, expected).ok_or(NoBaseline::NotPositive),
            None => ceiling.or_else(|why| match stated(finding, record, is_in_cycles) {
                // A reason that says more than that nothing is known stays, if the clock is missing.
                Some(expected) => of_cycles(finding, expected, clock.as_ref())
                    .map_err(|missing| if why == NoBaseline::Unknown { missing } else { why }),
                None => Err(why),
            }),
        };
    }
    hold_together(results);
}

/// Of many results, one in 40 is below its expectation by chance. A result stays below if it is so with Holm's procedure over all
/// results of the run that have an expectation.
fn hold_together(results: &mut [Finding]) {
    let judged: Vec<usize> = results
        .iter()
        .enumerate()
        .filter(|(_, finding)| finding.of_baseline.as_ref().is_ok_and(|of| of.verdict.is_some()))
        .map(|(index, _)| index)
        .collect();
    let p_values: Vec<f64> = judged.iter().map(|index| p_of_below(&results[*index])).collect();
    let Some(confidence) = judged.first().map(|index| results[*index].confidence) else { return };
    let stays = holm(&p_values, (1.0 - confidence) / 2.0);
    for (index, stays) in judged.into_iter().zip(stays) {
        if let Ok(of) = &mut results[index].of_baseline
            && of.verdict == Some(ExpectationVerdict::Below)
            && !stays
        {
            of.verdict = Some(ExpectationVerdict::Undecided);
        }
    }
}

/// The p of a result as good as the worst that is expected; 1 if it is not called below.
fn p_of_below(finding: &Finding) -> f64 {
    let Ok(of) = &finding.of_baseline else { return 1.0 };
    if of.verdict != Some(ExpectationVerdict::Below) {
        return 1.0;
    }
    let least = match finding.better {
        Better::Lower => of.value / of.worst,
        Better::Higher | Better::Neither => of.worst / of.value,
    };
    let high = match &of.share.interval {
        Ok(ends) => ends.high,
        Err(_) => match session_share(finding, of.value) {
            Some(ends) => beyond_session(ends).high,
            None => return 1.0,
        },
    };
    p_of_share_below(of.share.value, high, least, finding.confidence, independent(finding))
}

/// The independent values behind the interval: processes, or what the samples of a single process are worth.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of samples, at least one"
)]
fn independent(finding: &Finding) -> usize {
    match (finding.invocations, finding.n_eff) {
        (0 | 1, Some(samples)) => samples.max(1.0) as usize,
        (processes, _) => processes,
    }
}

/// The interval of the session as a share of this value.
fn session_share(finding: &Finding, value: f64) -> Option<Ends> {
    share(&finding.estimate, value, finding.better)?.interval.ok()
}

fn is_figure(expectation: &Expectation) -> bool {
    !expectation.in_cycles && expectation.limit.is_none()
}

fn is_in_cycles(expectation: &Expectation) -> bool {
    expectation.in_cycles
}

fn is_limit(expectation: &Expectation) -> bool {
    expectation.limit.is_some()
}

/// The last expectation of this kind for a result.
fn stated<'r>(
    finding: &Finding,
    record: &'r RunRecord,
    is_of_kind: fn(&Expectation) -> bool,
) -> Option<&'r Expectation> {
    let planned = record.plan.points.get(finding.point.index)?;
    let mut all = record.plan.expectations.iter().rev();
    all.find(|expectation| {
        // Who expects something of a workload does not mean points that nobody asked for.
        let is_meant = !planned.is_ceiling || expectation.of != planned.point.workload;
        is_meant
            && is_of_kind(expectation)
            && expectation.is_of(&planned.point, &finding.metric, finding.primary)
    })
}

/// The clock rate that the same run measured where this result was measured, and under the same conditions.
fn clock(finding: &Finding, all: &[Finding], record: &RunRecord) -> Option<Estimate> {
    let own = record.plan.points.get(finding.point.index)?;
    let clock = all.iter().find(|other| {
        let planned = record.plan.points.get(other.point.index);
        other.target == finding.target
            && other.point.workload == CLOCK.0
            && other.metric == CLOCK.1
            && planned.is_some_and(|planned| planned.point.conditions == own.point.conditions)
    });
    clock.map(Finding::shown)
}

/// Of two ceilings the lower one, of which the result has the larger share. Without any, a reason that says more than that none
/// is known.
fn lower_of(
    other_values: Result<ShareOfBaseline, NoBaseline>,
    rung: Result<ShareOfBaseline, NoBaseline>,
) -> Result<ShareOfBaseline, NoBaseline> {
    match (other_values, rung) {
        (Ok(one), Ok(other)) if one.share.value >= other.share.value => Ok(one),
        (Ok(_), Ok(other)) | (Err(_), Ok(other)) => Ok(other),
        (Ok(one), Err(_)) => Ok(one),
        (Err(NoBaseline::Unknown), Err(why)) | (Err(why), Err(_)) => Err(why),
    }
}

/// A result next to what a part of the hardware carries at most.
///
/// # Errors
/// When nothing is known of it, or the result may be as fast.
fn of_limit(finding: &Finding, record: &RunRecord) -> Result<ShareOfBaseline, NoBaseline> {
    let (name, value) = limit_of(finding, record).ok_or(NoBaseline::Unknown)?;
    let share =
        share(&over_levels(finding), value, finding.better).ok_or(NoBaseline::NotPositive)?;
    let highest = share.high().unwrap_or(share.value);
    // A cache answers faster than the link behind it.
    if highest >= 1.0 {
        return Err(NoBaseline::NotBelow(name));
    }
    Ok(ShareOfBaseline {
        value,
        worst: value,
        share,
        verdict: None,
        source: BaselineSource::Limit { name },
    })
}

/// The part of the hardware that a result goes through, and what that carries at most.
pub(super) fn limit_of(finding: &Finding, record: &RunRecord) -> Option<(String, f64)> {
    let expected = stated(finding, record, is_limit)?;
    Some((expected.limit.clone()?, expected.value))
}

/// A ceiling that was not measured was perhaps tried.
fn without_result(why: NoBaseline, finding: &Finding, record: &RunRecord) -> NoBaseline {
    let NoBaseline::NotMeasured(what) = &why else { return why };
    let planned = record.plan.points.get(finding.point.index);
    let Some(parameter) = planned.and_then(|planned| ceiling_parameter(&planned.description))
    else {
        return why;
    };
    let own = finding.point.without(&[parameter]);
    let is_tried = record.plan.points.iter().enumerate().any(|(index, planned)| {
        let other = point_facts(index, planned);
        other.without(&[parameter]) == own
            && value_of(&other, parameter) != value_of(&finding.point, parameter)
    });
    if is_tried { NoBaseline::NoResult(what.clone()) } else { why }
}

/// A result next to a figure in cycles, at the clock that the same run measured. The interval of the share contains the
/// uncertainty of the clock.
///
/// # Errors
/// When the clock was not measured, or a figure is not positive.
fn of_cycles(
    finding: &Finding,
    expected: &Expectation,
    clock: Option<&Estimate>,
) -> Result<ShareOfBaseline, NoBaseline> {
    let clock = clock.ok_or_else(|| NoBaseline::NotMeasured(CLOCK.0.to_owned()))?;
    let most = expected.range.map_or(expected.value, |(_, most)| most);
    let baseline = at_clock(expected.value, clock, finding.better);
    let share = share_of(&over_levels(finding), &baseline, finding.better)
        .ok_or(NoBaseline::NotPositive)?;
    let verdict = match &share.interval {
        Ok(ends) => verdict(*ends, expected.value / most),
        Err(_) => ExpectationVerdict::Undecided,
    };
    Ok(ShareOfBaseline {
        value: baseline.value,
        worst: at_clock(most, clock, finding.better).value,
        share,
        verdict: Some(verdict),
        source: BaselineSource::Hardware {
            core: expected.reference.clone().unwrap_or_default(),
            cycles: expected.value,
            clock_hz: clock.value,
        },
    })
}

/// What so many cycles per unit of work are at this clock, in the unit of a metric with this direction.
fn at_clock(cycles: f64, clock: &Estimate, better: Better) -> Estimate {
    let interval = clock.interval.clone().map(|ends| {
        let one = per_second_or_seconds(cycles, ends.low, better);
        let other = per_second_or_seconds(cycles, ends.high, better);
        Ends { low: one.min(other), high: one.max(other) }
    });
    Estimate { value: per_second_or_seconds(cycles, clock.value, better), interval }
}

/// Units of work per second if more is better, else seconds per unit.
fn per_second_or_seconds(cycles: f64, hertz: f64, better: Better) -> f64 {
    match better {
        Better::Lower => cycles / hertz,
        Better::Higher | Better::Neither => hertz / cycles,
    }
}

/// A result next to what was stated for it. Its interval is the one that is shown: a few quiet seconds do not prove that this
/// machine reaches a figure.
fn of_expectation(finding: &Finding, expected: &Expectation) -> Option<ShareOfBaseline> {
    let shown = share(&finding.shown(), expected.value, finding.better)?;
    // The end of the range at which performance is worst.
    let worst = match (expected.range, finding.better) {
        (Some((low, _)), Better::Higher) => low,
        (Some((_, high)), Better::Lower) => high,
        (Some(_), Better::Neither) | (None, _) => expected.value,
    };
    let least = match finding.better {
        Better::Lower => expected.value / worst,
        Better::Higher | Better::Neither => worst / expected.value,
    };
    let verdict = match &shown.interval {
        Ok(ends) => verdict(*ends, least),
        Err(_) => session_share(finding, expected.value)
            .map_or(ExpectationVerdict::Undecided, |ends| verdict(beyond_session(ends), least)),
    };
    let source = match &expected.reference {
        Some(name) => BaselineSource::Reference(name.clone()),
        None => BaselineSource::Expectation,
    };
    Some(ShareOfBaseline {
        value: expected.value,
        worst,
        share: shown,
        verdict: Some(verdict),
        source,
    })
}

/// The interval of a session that is too short to describe the machine, or too noisy, as wide as the machine's speed may change.
fn beyond_session(ends: Ends) -> Ends {
    Ends { low: ends.low / OTHER_TIMES, high: ends.high * OTHER_TIMES }
}

fn verdict(share: Ends, least: f64) -> ExpectationVerdict {
    if share.high < least {
        ExpectationVerdict::Below
    } else if share.low >= least {
        ExpectationVerdict::Reached
    } else {
        ExpectationVerdict::Undecided
    }
}

/// A result next to the best that the same machine gave in this run for the same work with other values of the parameter `free`.
fn of_ceiling(
    finding: &Finding,
    free: Option<&str>,
    all: &[Finding],
) -> Result<ShareOfBaseline, NoBaseline> {
    let free = free.ok_or(NoBaseline::Unknown)?;
    let (best, setting) = best_of_others(finding, free, all)?;
    if performance(finding) >= performance(best) {
        return Err(NoBaseline::Best(free.to_owned()));
    }
    let share = share_of(&over_levels(finding), &over_levels(best), finding.better)
        .ok_or(NoBaseline::NotPositive)?;
    if share.interval.as_ref().is_ok_and(|ends| ends.high >= 1.0) {
        return Err(NoBaseline::AsGoodAs(setting));
    }
    Ok(ShareOfBaseline {
        value: best.estimate.value,
        worst: best.estimate.value,
        share,
        verdict: None,
        source: BaselineSource::Ceiling { point: best.point.name.clone(), setting },
    })
}

/// The best result of the same work with another value of the parameter `free`, and that value as people type it.
///
/// # Errors
/// When neither direction is better, or no other value was measured.
pub(super) fn best_of_others<'r>(
    finding: &Finding,
    free: &str,
    all: &'r [Finding],
) -> Result<(&'r Finding, String), NoBaseline> {
    if finding.better == Better::Neither {
        return Err(NoBaseline::Undirected);
    }
    let others = all.iter().filter(|other| {
        // Sides of a comparison may differ in a knob alone.
        let is_same_work = other.point.without(&[free]) == finding.point.without(&[free])
            && value_of(&other.point, free) != value_of(&finding.point, free);
        is_same_work && other.target == finding.target && other.metric == finding.metric
    });
    let best = others
        .filter_map(|other| Some((performance(other)?, other)))
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let Some((_, best)) = best else {
        return Err(NoBaseline::NotMeasured(format!("other values of {free}")));
    };
    Ok((best, format!("{free}={}", value_of(&best.point, free))))
}

/// The value of a parameter as people type it; empty if the point does not have it.
fn value_of<'p>(point: &'p PointFacts, name: &str) -> &'p str {
    let parameter = point.parameters.iter().find(|parameter| parameter.name == name);
    parameter.map_or("", |parameter| parameter.value.as_str())
}

/// A number that is higher for a better result; None if neither direction is better.
fn performance(finding: &Finding) -> Option<f64> {
    match finding.better {
        Better::Higher => Some(finding.estimate.value),
        Better::Lower => Some(-finding.estimate.value),
        Better::Neither => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Ends, ExpectationVerdict, verdict};

    #[test]
    fn only_a_whole_interval_reaches_or_misses() {
        let of = |low: f64, high: f64, least: f64| verdict(Ends { low, high }, least);
        assert_eq!(of(0.7, 0.9, 1.0), ExpectationVerdict::Below);
        assert_eq!(of(0.9, 1.1, 1.0), ExpectationVerdict::Undecided);
        assert_eq!(of(1.0, 1.1, 1.0), ExpectationVerdict::Reached);
        assert_eq!(of(0.7, 0.9, 0.6), ExpectationVerdict::Reached);
    }
}
