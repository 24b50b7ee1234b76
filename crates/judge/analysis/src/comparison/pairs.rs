//! Later points against the first, paired by round (docs/method.md, *Pairs*).
//!
//! Every round holds one unit of the comparison, so that what disturbs one side of a round disturbs the
//! other too; the ratio is taken inside the round. Where the strategy looked on the way, its looks are
//! derived again from the samples: what is shown never rests on what was decided, only on facts.

use plumb_model::{
    ComparisonPlan, Decision, InvocationRecord, Outcome, Role, RunRecord, too_disturbed,
};
use plumb_stats::NoInterval;
use plumb_stats::describe::median;
use plumb_stats::multiple::crashes_differ;
use plumb_stats::pairs::{FEWEST_PAIRS, hodges_lehmann, log_ratios};
use plumb_stats::spread;
use plumb_stats::verdict::{Confidence, Judgement, Schedule, interval_of_pairs, judge_pairs};

use crate::estimate::estimate;
use crate::summarise::point_facts;
use crate::{CONFIDENCE, Comparison, Estimate, LookFinding, SpreadRatio};

/// Every later point compared with the first; none when the plan does not ask.
pub(crate) fn against_first(record: &RunRecord) -> Vec<Comparison> {
    let Some(plan) = record.plan.comparison() else { return Vec::new() };
    let first = costs(record, 0, &plan);
    let measured = |point: &usize| {
        let planned = &record.plan.points[*point];
        record.good_invocations(*point).any(|it| it.costs(planned, plan.metric).is_some())
    };
    (1..record.plan.points.len())
        .filter(|point| measured(point) || !first.is_empty())
        .map(|point| compare(record, point, &plan, &first))
        .collect()
}

/// The log ratios of the second point's units over the first's; None where nothing is compared.
pub(crate) fn log_ratios_of(record: &RunRecord) -> Option<Vec<f64>> {
    let plan = record.plan.comparison()?;
    Some(log_ratios(&costs(record, 0, &plan), &costs(record, 1, &plan), plan.a_unit))
}

/// The median cost of a point in every invocation, with its round.
fn costs(record: &RunRecord, point: usize, plan: &ComparisonPlan) -> Vec<(u32, f64)> {
    let planned = &record.plan.points[point];
    let cost = |costs: Vec<f64>| median(&costs);
    record
        .good_invocations(point)
        .filter_map(|it| Some((it.round, cost(it.costs(planned, plan.metric)?)?)))
        .collect()
}

fn compare(
    record: &RunRecord,
    point: usize,
    plan: &ComparisonPlan,
    first: &[(u32, f64)],
) -> Comparison {
    let logs = log_ratios(first, &costs(record, point, plan), plan.a_unit);
    let level = level(plan);
    let unfit = failures(record, point).or_else(|| disturbed(record, point));
    let judged = unfit.map_or_else(|| judge(&logs, level, plan.margin), Err);
    let decisions: Vec<&Decision> = record
        .decisions
        .iter()
        .filter(|decision| decision.point == point && decision.compared.is_some())
        .collect();
    let looks = looks(&decisions, &logs, level, plan.margin);
    Comparison {
        first: point_facts(0, &record.plan.points[0]),
        point: point_facts(point, &record.plan.points[point]),
        metric: plan.metric.to_owned(),
        ratio: ratio(&logs, level),
        confidence: CONFIDENCE,
        pairs: logs.len(),
        margin: plan.margin,
        pairs_needed: judged.as_ref().ok().and_then(|judged| judged.pairs_needed),
        tags: judged.as_ref().map(tags).unwrap_or_default(),
        covariates: Vec::new(),
        verdict: judged.map(|judged| judged.verdict),
        spread: spread(record, point, plan),
        of_knob: !record.plan.points[point].preparation.is_empty(),
        rederived: (!looks.is_empty()).then(|| rederived(&decisions, &looks)),
        looks,
    }
}

/// How far both sides scatter, in their pairs; one look at all of them, whatever the costs' looks were.
fn spread(record: &RunRecord, point: usize, plan: &ComparisonPlan) -> SpreadRatio {
    let between = spread::log_step_ratios(&costs(record, 0, plan), &costs(record, point, plan));
    let within = |side: usize| -> Vec<(u32, f64)> {
        let planned = &record.plan.points[side];
        let spread = |it: &InvocationRecord| spread::within(&it.costs(planned, plan.metric)?);
        let invocations = record.good_invocations(side);
        invocations.filter_map(|it| Some((it.round, spread(it)?))).collect()
    };
    let within = log_ratios(&within(0), &within(point), plan.a_unit);
    SpreadRatio { between: ratio(&between, CONFIDENCE), within: ratio(&within, CONFIDENCE) }
}

/// The level of the interval: what leaves [`CONFIDENCE`] after all looks that the plan allows.
fn level(plan: &ComparisonPlan) -> f64 {
    plan.max_pairs.map_or(CONFIDENCE, |most| Schedule::up_to(most).level(Confidence::NinetyFive))
}

/// The ratio of costs with its interval; None without units.
fn ratio(logs: &[f64], level: f64) -> Option<Estimate> {
    let centre = hodges_lehmann(logs)?;
    let interval = interval_of_pairs(logs, level);
    Some(estimate(centre.exp(), interval.map(|found| found.map(f64::exp))))
}

fn judge(logs: &[f64], level: f64, margin: f64) -> Result<Judgement, String> {
    judge_pairs(logs, level, margin).map_err(|reason| match reason {
        reason if reason != NoInterval::NotFinite && logs.len() < FEWEST_PAIRS => {
            format!("a verdict takes {FEWEST_PAIRS} pairs")
        }
        reason => no_verdict(reason),
    })
}

/// Why log costs give no verdict: the log of a cost is infinite or none where the cost is not above 0.
pub(crate) fn no_verdict(reason: NoInterval) -> String {
    match reason {
        NoInterval::NotFinite => "a value is zero, negative or no number".to_owned(),
        reason => reason.to_string(),
    }
}

fn tags(judged: &Judgement) -> Vec<String> {
    let tags = [
        (judged.negligible, "detectable but negligible"),
        (judged.beyond_margin, "beyond margin"),
        (judged.exact, "exact"),
    ];
    tags.iter().filter(|(is, _)| *is).map(|(_, tag)| (*tag).to_owned()).collect()
}

/// docs/method.md, *Order*: what is left where other work disturbed too much says nothing.
fn disturbed(record: &RunRecord, point: usize) -> Option<String> {
    let excluded = record.excluded(0).max(record.excluded(point));
    let counted = record.good_invocations(point).count();
    too_disturbed(excluded, counted).then(|| {
        format!(
            "other work disturbed {excluded} of {} pairs, which is too many: try on a quieter machine, or \
             --on-interference keep",
            excluded + counted
        )
    })
}

/// docs/method.md, *Edge cases*: times say nothing of a program that fails on some of its ways.
fn failures(record: &RunRecord, point: usize) -> Option<String> {
    let count = |point: usize| {
        let all = || {
            record.invocations.iter().filter(|it| it.point == point && it.role == Role::Workload)
        };
        let failed = |end: &plumb_model::InvocationEnd| matches!(end.outcome, Outcome::Failed(_));
        let failures = all().filter(|it| it.end.as_ref().is_some_and(failed)).count();
        (failures, all().count())
    };
    let ((first, of_first), (later, of_later)) = (count(0), count(point));
    let chance = || {
        let count = |n: usize| n as u64;
        crashes_differ((count(first), count(of_first)), (count(later), count(of_later)))
    };
    (first + later > 0).then(|| {
        format!(
            "{later} of its {of_later} invocations failed, {first} of {of_first} of the first (p = {:.2} \
             by Fisher's test): their times are not compared",
            chance()
        )
    })
}

/// The looks of the strategy, derived anew from the units that it had.
fn looks(decisions: &[&Decision], logs: &[f64], level: f64, margin: f64) -> Vec<LookFinding> {
    let units = decisions.iter().filter_map(|it| it.compared.as_ref()).map(|it| it.pairs);
    units
        .filter_map(|pairs| {
            let logs = logs.get(..pairs)?;
            let judged = judge_pairs(logs, level, margin).ok();
            let verdict = judged.map(|judged| judged.verdict);
            Some(LookFinding { pairs, ratio: ratio(logs, level)?, verdict })
        })
        .collect()
}

/// Whether every stored look is what the samples say.
fn rederived(decisions: &[&Decision], looks: &[LookFinding]) -> bool {
    let stored = decisions.iter().filter_map(|it| Some((it.look?, it.compared.as_ref()?)));
    let stored: Vec<_> = stored.collect();
    let bits = |value: Option<f64>| value.map(f64::to_bits);
    stored.len() == looks.len()
        && stored.iter().zip(looks).all(|((look, compared), found)| {
            look.estimate.to_bits() == found.ratio.value.to_bits()
                && bits(look.low) == bits(found.ratio.low())
                && bits(look.high) == bits(found.ratio.high())
                && compared.verdict == found.verdict
        })
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn reasons_for_no_verdict_are_told() {
        let why = |logs: &[f64]| judge(logs, 0.95, 0.01).unwrap_err();
        assert_eq!(why(&[0.1; 7]), "a verdict takes 8 pairs");
        assert_eq!(why(&[]), "a verdict takes 8 pairs");
        assert_eq!(why(&[f64::NAN; 9]), "a value is zero, negative or no number");
    }
}
