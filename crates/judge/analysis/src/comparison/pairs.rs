//! Later points against the first, paired by round (docs/method.md, *Pairs*).
//!
//! Every round holds one unit of the comparison, so that what disturbs one side of a round disturbs the
//! other too; the ratio is taken inside the round. Where the strategy looked on the way, its looks are
//! derived again from the samples: what is shown never rests on what was decided, only on facts.

use plumb_model::{
    ComparisonPlan, Decision, InvocationEnd, InvocationRecord, Outcome, Role, RunRecord,
    too_disturbed,
};
use plumb_stats::NoInterval;
use plumb_stats::describe::median;
use plumb_stats::multiple::crashes_differ;
use plumb_stats::pairs::{FEWEST_PAIRS, hodges_lehmann, log_ratios};
use plumb_stats::spread;
use plumb_stats::verdict::{Confidence, Judgement, Schedule, interval_of_pairs, judge_pairs};

use crate::comparison::verdict::{
    Basis, ByPairs, Comparison, LookFound, NoVerdict, Remark, SpreadRatio,
};
use crate::estimate::{Estimate, estimate};
use crate::facts::{PointFacts, point_facts};
use crate::method::CONFIDENCE;

/// A later point compared with the plan's first.
#[derive(Debug, Clone, PartialEq)]
pub struct PointComparison {
    /// The first point.
    pub first: PointFacts,
    /// The later point.
    pub point: PointFacts,
    /// The metric, or CPU time or peak memory of any workload.
    pub metric: String,
    /// Level of the interval.
    pub confidence: f64,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Whether the sides are one point at several values of a knob.
    pub of_knob: bool,
    /// The later point against the first.
    pub found: Comparison,
}

/// Every later point compared with the first; none when the plan does not ask.
pub(crate) fn against_first(record: &RunRecord) -> Vec<PointComparison> {
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
) -> PointComparison {
    PointComparison {
        first: point_facts(0, &record.plan.points[0]),
        point: point_facts(point, &record.plan.points[point]),
        metric: plan.metric.to_owned(),
        confidence: CONFIDENCE,
        margin: plan.margin,
        of_knob: !record.plan.points[point].preparation.is_empty(),
        found: by_pairs(record, point, plan, first),
    }
}

fn by_pairs(
    record: &RunRecord,
    point: usize,
    plan: &ComparisonPlan,
    first: &[(u32, f64)],
) -> Comparison {
    let logs = log_ratios(first, &costs(record, point, plan), plan.a_unit);
    let level = level(plan);
    let unfit = failures(record, point).or_else(|| disturbed(record, point));
    let judged = unfit.map_or_else(|| judge(&logs, level, plan.margin), Err);
    let is_look = |it: &&Decision| it.point == point && it.compared.is_some();
    let decisions: Vec<&Decision> = record.decisions.iter().filter(is_look).collect();
    let looks = looks(&decisions, &logs, level, plan.margin);
    let basis = ByPairs {
        pairs: logs.len(),
        rederived: (!looks.is_empty()).then(|| rederived(&decisions, &looks)),
        looks,
        pairs_needed: judged.as_ref().ok().and_then(|judged| judged.pairs_needed),
        spread: spread(record, point, plan),
    };
    Comparison {
        basis: Basis::Pairs(basis),
        ratio: ratio(&logs, level),
        remarks: judged.as_ref().map(remarks).unwrap_or_default(),
        verdict: judged.map(|judged| judged.verdict),
        covariates: Vec::new(),
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

fn judge(logs: &[f64], level: f64, margin: f64) -> Result<Judgement, NoVerdict> {
    judge_pairs(logs, level, margin).map_err(|reason| match reason {
        reason if reason != NoInterval::NotFinite && logs.len() < FEWEST_PAIRS => {
            NoVerdict::FewPairs
        }
        reason => reason.into(),
    })
}

fn remarks(judged: &Judgement) -> Vec<Remark> {
    Remark::those(&[
        (judged.negligible, Remark::Negligible),
        (judged.beyond_margin, Remark::BeyondMargin),
        (judged.exact, Remark::Exact),
    ])
}

/// docs/method.md, *Order*: what is left where other work disturbed too much says nothing.
fn disturbed(record: &RunRecord, point: usize) -> Option<NoVerdict> {
    let excluded = record.excluded(0).max(record.excluded(point));
    let counted = record.good_invocations(point).count();
    let of = excluded + counted;
    too_disturbed(excluded, counted).then_some(NoVerdict::Disturbed { excluded, of })
}

/// docs/method.md, *Edge cases*: times say nothing of a program that fails on some of its ways.
fn failures(record: &RunRecord, point: usize) -> Option<NoVerdict> {
    let failed = |end: &InvocationEnd| matches!(end.outcome, Outcome::Failed(_));
    let count = |point: usize| {
        let is_of = |it: &&InvocationRecord| it.point == point && it.role == Role::Workload;
        let all = || record.invocations.iter().filter(is_of);
        (all().filter(|it| it.end.as_ref().is_some_and(failed)).count(), all().count())
    };
    let (first, later) = (count(0), count(point));
    (first.0 + later.0 > 0).then(|| {
        let counts = |(failed, all): (usize, usize)| (failed as u64, all as u64);
        NoVerdict::Failures { later, first, p: crashes_differ(counts(first), counts(later)) }
    })
}

/// The looks of the strategy, derived anew from the units that it had.
fn looks(decisions: &[&Decision], logs: &[f64], level: f64, margin: f64) -> Vec<LookFound> {
    let units = decisions.iter().filter_map(|it| it.compared.as_ref()).map(|it| it.pairs);
    units
        .filter_map(|pairs| {
            let logs = logs.get(..pairs)?;
            let judged = judge_pairs(logs, level, margin).ok();
            let verdict = judged.map(|judged| judged.verdict);
            Some(LookFound { pairs, ratio: ratio(logs, level)?, verdict })
        })
        .collect()
}

/// Whether every stored look is what the samples say.
fn rederived(decisions: &[&Decision], looks: &[LookFound]) -> bool {
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
        let why = |logs: &[f64]| judge(logs, 0.95, 0.01).unwrap_err().to_string();
        assert_eq!(why(&[0.1; 7]), "a verdict needs 8 pairs");
        assert_eq!(why(&[]), "a verdict needs 8 pairs");
        assert_eq!(why(&[f64::NAN; 9]), "a value is zero, negative or not a number");
    }
}
