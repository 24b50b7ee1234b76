//! Later points against the first and against the one above, paired by round (docs/method.md, *Pairs*).
//!
//! Every round holds one unit of the comparison, so that what disturbs one side of a round disturbs the
//! other too; the ratio is taken inside the round. Where the strategy looked on the way, its looks are
//! derived again from the samples: what is shown never rests on what was decided, only on facts.

use std::collections::BTreeSet;

use plumb_model::{
    CPU, ComparisonPlan, Decision, FlagKind, Goal, InvocationRecord, Preparation, Role, RunRecord,
    Verdict,
};
use plumb_stats::NoInterval;
use plumb_stats::describe::median;
use plumb_stats::exclusion::pairs_too_disturbed;
use plumb_stats::multiple::crashes_differ;
use plumb_stats::outlook::{pair_scale, told_apart};
use plumb_stats::pairs::{FEWEST_PAIRS, differences, hodges_lehmann, log_ratios};
use plumb_stats::precision::clustered;
use plumb_stats::side_effects::{ChosenPairs, SideOfPairs, choose};
use plumb_stats::spread;
use plumb_stats::verdict::{Judgement, interval_of_pairs};

use crate::asked::Asked;
use crate::comparison::ends::ends;
use crate::comparison::generator_busy::is_generator_busy;
use crate::comparison::levels::LevelsCompared;
use crate::comparison::verdict::{
    Basis, ByPairs, Comparison, LookFound, NoVerdict, OtherBuild, SpreadRatio, VerdictRemark,
};
use crate::estimate::{Estimate, estimate};
use crate::facts::{PointFacts, point_facts};
use crate::method::CONFIDENCE;

/// Below this chance of so unequal shares, one side fails more often.
const FAILURES_DIFFER: f64 = 0.05;
/// The largest relative difference that another build can commonly explain, on machines that were not audited.
const COMMON_LAYOUT_EFFECT: f64 = 0.05;
/// With more than this share of pairs left out, those that remain are a choice of their own.
const MOST_LEFT_OUT: f64 = 0.2;

/// A later point compared with the plan's first, or with the one above it.
#[derive(Debug, Clone, PartialEq)]
pub struct PointComparison {
    /// The point that it is compared with.
    pub first: PointFacts,
    /// The later point.
    pub point: PointFacts,
    /// The metric, or CPU time or peak memory of any workload.
    pub metric: String,
    /// Level of the intervals of all comparisons of the run together.
    pub confidence: f64,
    /// The number of comparisons that share it.
    pub comparisons: usize,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Whether the sides are one point at several values of a knob.
    pub of_knob: bool,
    /// The later point against the other.
    pub found: Comparison,
    /// The unit of the metric.
    pub unit: String,
    /// By how much the later point's values exceed the other's, in that unit; None where nothing was measured of
    /// both, or their units differ.
    pub difference: Option<Estimate>,
    /// The throughput of the later point, where its medium encrypts and the other's does not: a device that is slower
    /// than this is not slowed down by the encryption. In bytes a second.
    pub encrypted: Option<Estimate>,
    /// Whether the clients of either used most of their CPU time in most invocations. If so, a slower server may not show.
    pub busy_clients: bool,
}

impl PointComparison {
    /// What people call the later point next to the other.
    #[must_use]
    pub fn name(&self) -> String {
        self.point.name_beside(&self.first)
    }

    /// What people call the other point next to the later.
    #[must_use]
    pub fn first_name(&self) -> String {
        self.first.name_beside(&self.point)
    }
}

/// Every later point compared with the first; none when the plan does not ask.
pub(crate) fn against_first(record: &RunRecord) -> Vec<PointComparison> {
    let Some(plan) = record.plan.comparison() else { return Vec::new() };
    let has_first = has_ended_well(record, 0);
    record
        .plan
        .compared_points()
        .skip(1)
        .filter(|point| has_first || has_ended_well(record, *point))
        .map(|point| compare(record, 0, point, &plan))
        .collect()
}

/// Every point from the third on compared with the measured one above it; none where looks at comparisons with the
/// first decide how long a run goes on.
pub(crate) fn against_above(record: &RunRecord) -> Vec<PointComparison> {
    let Some(plan) = record.plan.comparison().filter(|plan| plan.looks.is_none()) else {
        return Vec::new();
    };
    let points = record.plan.compared_points();
    let measured: Vec<usize> = points.filter(|point| is_measured(record, *point, &plan)).collect();
    let rows = measured.windows(2).filter(|rows| rows[0] > 0);
    rows.map(|rows| compare(record, rows[0], rows[1], &plan)).collect()
}

fn has_ended_well(record: &RunRecord, point: usize) -> bool {
    record.good_invocations(point).next().is_some()
}

/// Whether a point was measured, but without this metric.
fn lacks_metric(record: &RunRecord, point: usize, plan: &ComparisonPlan) -> bool {
    has_ended_well(record, point) && !is_measured(record, point, plan)
}

fn is_measured(record: &RunRecord, point: usize, plan: &ComparisonPlan) -> bool {
    let planned = &record.plan.points[point];
    record
        .good_invocations(point)
        .any(|invocation| invocation.costs(planned, plan.metric).is_some())
}

/// The log ratios of the second point's units over the first's; None where nothing is compared.
pub(crate) fn log_ratios_of(record: &RunRecord) -> Option<Vec<f64>> {
    log_ratios_between(record, 1)
}

/// The log ratios of this point's units over the first's; None where nothing is compared.
pub(crate) fn log_ratios_between(record: &RunRecord, point: usize) -> Option<Vec<f64>> {
    let plan = record.plan.comparison()?;
    Some(Sides::of(record, 0, point, &plan).choose(&plan).judged)
}

/// Both sides of a comparison, excluded invocations included.
struct Sides {
    first: SideOfPairs,
    later: SideOfPairs,
    /// Rounds in which the later point was measured, and how many of its invocations up to then count.
    counted: Vec<(u32, usize)>,
}

impl Sides {
    fn of(record: &RunRecord, from: usize, point: usize, plan: &ComparisonPlan) -> Self {
        let mut counted = Vec::new();
        let mut sum = 0;
        for invocation in done(record, point) {
            sum += usize::from(invocation.excluded_by.is_none());
            counted.push((invocation.round, sum));
        }
        Self { first: side_of(record, from, plan), later: side_of(record, point, plan), counted }
    }

    fn choose(&self, plan: &ComparisonPlan) -> ChosenPairs {
        choose(&self.first, &self.later, plan.a_unit, &|pairs| plan.level(pairs))
    }

    /// The pairs as the strategy had them at a look.
    fn at_look(&self, plan: &ComparisonPlan, decision: &Decision) -> ChosenPairs {
        let pairs = decision.compared.as_ref().map_or(0, |compared| compared.pairs);
        // Several rounds have this number of invocations that count, if excluded ones followed. A look came with the first
        // of them that had its pairs, unless the time was up.
        let rounds = self.counted.iter().filter(|(_, counted)| *counted == decision.invocations);
        let mut found = None;
        for (round, _) in rounds {
            let chosen = Self {
                first: self.first.up_to(*round),
                later: self.later.up_to(*round),
                counted: Vec::new(),
            }
            .choose(plan);
            if chosen.judged.len() == pairs {
                found = Some(chosen);
                if decision.stop.is_none() {
                    break;
                }
            }
        }
        found.unwrap_or_default()
    }
}

/// The measured invocations of a point that ended well, excluded ones included.
pub(crate) fn done(record: &RunRecord, point: usize) -> impl Iterator<Item = &InvocationRecord> {
    let of_point = move |invocation: &&InvocationRecord| {
        let is_after_pause = invocation.excluded_by.is_some() && !invocation.is_disturbed();
        invocation.point == point && invocation.is_workload_done() && !is_after_pause
    };
    record.invocations.iter().filter(of_point)
}

fn side_of(record: &RunRecord, point: usize, plan: &ComparisonPlan) -> SideOfPairs {
    let planned = &record.plan.points[point];
    let mut side = SideOfPairs::default();
    for (invocation, follows_itself) in record.turns() {
        if invocation.point == point {
            let is_disturbed = !invocation.interference.is_empty();
            side.add_turn(invocation.round, is_disturbed, follows_itself);
            for found in &invocation.interference {
                side.add_rule(invocation.round, &found.rule);
            }
        }
    }
    for invocation in done(record, point) {
        let costs = invocation.costs(planned, plan.metric);
        if let Some(cost) = costs.and_then(|costs| median(&costs)) {
            side.add(invocation.round, cost, invocation.is_disturbed());
        }
    }
    side
}

/// The median cost of a point in every invocation, with its round.
fn costs(record: &RunRecord, point: usize, plan: &ComparisonPlan) -> Vec<(u32, f64)> {
    let planned = &record.plan.points[point];
    medians(record, point, |invocation| invocation.costs(planned, plan.metric))
}

fn medians(
    record: &RunRecord,
    point: usize,
    of: impl Fn(&InvocationRecord) -> Option<Vec<f64>>,
) -> Vec<(u32, f64)> {
    let all = record.good_invocations(point);
    all.filter_map(|invocation| Some((invocation.round, median(&of(invocation)?)?))).collect()
}

/// By how much the later point's values exceed the other's.
fn difference(
    record: &RunRecord,
    from: usize,
    point: usize,
    plan: &ComparisonPlan,
) -> Option<Estimate> {
    if unit(record, from, plan) != unit(record, point, plan) {
        return None;
    }
    let judged: BTreeSet<u32> =
        Sides::of(record, from, point, plan).choose(plan).units.into_iter().collect();
    let values = |side: usize| -> Vec<(u32, f64)> {
        let planned = &record.plan.points[side];
        let mut values = Vec::new();
        for invocation in done(record, side) {
            let all = invocation.values(planned, plan.metric);
            if judged.contains(&invocation.round) {
                values.extend(all.and_then(|all| Some((invocation.round, median(&all)?))));
            }
        }
        values
    };
    let values = differences(&values(from), &values(point), plan.a_unit);
    let centre = hodges_lehmann(&values)?;
    Some(estimate(centre, interval_of_pairs(&values, plan.level(values.len()))))
}

/// The median throughput of a point whose medium encrypts, beside one whose medium does not.
fn encrypted(
    record: &RunRecord,
    from: usize,
    point: usize,
    plan: &ComparisonPlan,
) -> Option<Estimate> {
    let declared = record.plan.points[point].description.metric(plan.metric)?;
    // What memory answered was not decrypted.
    let is_cached = record
        .good_invocations(point)
        .any(|invocation| invocation.flags.iter().any(|flag| flag.flag == FlagKind::Cached));
    let only_later_encrypts = !has_encryption(record, from) && has_encryption(record, point);
    if !only_later_encrypts || declared.unit != "B/s" || is_cached {
        return None;
    }
    let values: Vec<f64> = medians(record, point, |invocation| invocation.steady(declared))
        .into_iter()
        .map(|(_, level)| level)
        .collect();
    let processes: Vec<&[f64]> = values.chunks(1).collect();
    let interval =
        clustered(&processes, 0.5, plan.confidence.level()).map(|estimate| estimate.interval);
    Some(estimate(median(&values)?, interval))
}

/// Whether the medium of a point encrypts.
fn has_encryption(record: &RunRecord, point: usize) -> bool {
    record.plan.points[point].preparation.iter().any(Preparation::encrypts)
}

fn unit(record: &RunRecord, point: usize, plan: &ComparisonPlan) -> String {
    let declared = record.plan.points[point].description.compared(plan.metric);
    declared.map_or_else(|| unit_of_any(plan.metric), |metric| metric.unit.clone())
}

/// The unit of what any workload can be compared by.
pub(crate) fn unit_of_any(metric: &str) -> String {
    if metric == CPU { "s" } else { "B" }.to_owned()
}

fn compare(
    record: &RunRecord,
    from: usize,
    point: usize,
    plan: &ComparisonPlan,
) -> PointComparison {
    PointComparison {
        first: point_facts(from, &record.plan.points[from]),
        point: point_facts(point, &record.plan.points[point]),
        metric: plan.metric.to_owned(),
        confidence: plan.confidence.level(),
        comparisons: plan.comparisons,
        margin: plan.margin,
        of_knob: !record.plan.points[point].preparation.is_empty(),
        found: by_pairs(record, from, point, plan),
        unit: unit(record, point, plan),
        difference: difference(record, from, point, plan),
        encrypted: encrypted(record, from, point, plan),
        busy_clients: either_generator_is_busy(record, from, point),
    }
}

fn by_pairs(record: &RunRecord, from: usize, point: usize, plan: &ComparisonPlan) -> Comparison {
    let first = costs(record, from, plan);
    let later = costs(record, point, plan);
    let sides = Sides::of(record, from, point, plan);
    let chosen = sides.choose(plan);
    let logs = &chosen.judged;
    let level = plan.level(logs.len());
    let failed = Failures::of(record, from, point);
    let first_ends = ends(record.good_invocations(from));
    let later_ends = ends(record.good_invocations(point));
    let is_missing = lacks_metric(record, from, plan) || lacks_metric(record, point, plan);
    let unfit = failed
        .unfit(logs.len())
        .or_else(|| NoVerdict::of_ends(&first_ends, &later_ends))
        .or_else(|| is_missing.then_some(NoVerdict::MetricMissing))
        .or_else(|| disturbed(record, from, point, &chosen));
    let judged = unfit.map_or_else(|| judge(&chosen, level, plan.margin), Err);
    // The rate of busy clients says little about their server, which may have become slower.
    let is_hidden = either_generator_is_busy(record, from, point);
    let judged = judged.and_then(|judged| match judged.verdict {
        Verdict::Equivalent if is_hidden => Err(NoVerdict::GeneratorBusy),
        _ => Ok(judged),
    });
    // The strategy looks only at comparisons with the first point.
    let decisions: Vec<&Decision> = record
        .decisions
        .iter()
        .filter(|decision| from == 0 && decision.point == point && decision.compared.is_some())
        .collect();
    let looks = looks(&decisions, &sides, plan);
    let scale = pair_scale(logs);
    let ratio = ratio(logs, level);
    let verdict = judged.as_ref().ok().map(|judged| judged.verdict);
    let basis = ByPairs {
        pairs: logs.len(),
        rederived: (!looks.is_empty()).then(|| rederived(&decisions, &looks)),
        looks,
        pairs_needed: judged.as_ref().ok().and_then(|judged| judged.pairs_needed),
        pair_sd: scale.map(f64::exp_m1),
        told_apart: judged
            .as_ref()
            .ok()
            .filter(|judged| !judged.settled())
            .and_then(|_| Some(told_apart(scale?, logs.len(), level).exp_m1())),
        spread: spread(record, from, point, plan),
        left_out: failed.rounds,
        side_effects: chosen.of_one_side.clone(),
        other_build: other_build(record, from, point, verdict, ratio.as_ref()),
    };
    Comparison {
        basis: Basis::Pairs(basis),
        ratio,
        remarks: judged
            .as_ref()
            .map(|judged| remarks(judged, later_ends.has_failures()))
            .unwrap_or_default(),
        verdict: judged.map(|judged| judged.verdict),
        levels: LevelsCompared::of(&own_logs(&first), &own_logs(&later), plan.margin),
        covariates: Asked::NotAsked,
    }
}

fn either_generator_is_busy(record: &RunRecord, from: usize, point: usize) -> bool {
    [from, point].into_iter().any(|side| is_generator_busy(record.good_invocations(side)))
}

/// Whether a difference of two files is so small that another build of either could explain it (docs/method.md, *Order*).
fn other_build(
    record: &RunRecord,
    from: usize,
    point: usize,
    verdict: Option<Verdict>,
    ratio: Option<&Estimate>,
) -> Option<OtherBuild> {
    let Goal::Verdict(goal) = &record.plan.goal else { return None };
    let is_found = matches!(verdict, Some(Verdict::Faster | Verdict::Slower));
    if from != 0 || !is_found || !goal.other_files.contains(&point) {
        return None;
    }
    let effect = goal.layout_effect.unwrap_or(COMMON_LAYOUT_EFFECT);
    let is_below = ratio?.value.ln().abs() < effect.ln_1p();
    is_below.then_some(OtherBuild { layout_effect: goal.layout_effect })
}

/// The logs of costs; what has none is left for the intervals to refuse.
fn own_logs(costs: &[(u32, f64)]) -> Vec<f64> {
    costs.iter().map(|(_, cost)| cost.ln()).collect()
}

/// How far both sides scatter, in their pairs; one look at all of them, whatever the costs' looks were.
fn spread(record: &RunRecord, from: usize, point: usize, plan: &ComparisonPlan) -> SpreadRatio {
    let between = spread::log_step_ratios(&costs(record, from, plan), &costs(record, point, plan));
    let within = |side: usize| -> Vec<(u32, f64)> {
        let planned = &record.plan.points[side];
        let spread = |invocation: &InvocationRecord| {
            spread::within(&invocation.costs(planned, plan.metric)?)
        };
        let invocations = record.good_invocations(side);
        invocations.filter_map(|invocation| Some((invocation.round, spread(invocation)?))).collect()
    };
    let within = log_ratios(&within(from), &within(point), plan.a_unit);
    SpreadRatio { between: ratio(&between, CONFIDENCE), within: ratio(&within, CONFIDENCE) }
}

/// The ratio of costs with its interval; None without units.
fn ratio(logs: &[f64], level: f64) -> Option<Estimate> {
    let centre = hodges_lehmann(logs)?;
    let interval = interval_of_pairs(logs, level);
    Some(estimate(centre.exp(), interval.map(|found| found.map(f64::exp))))
}

fn judge(chosen: &ChosenPairs, level: f64, margin: f64) -> Result<Judgement, NoVerdict> {
    chosen.judge(level, margin).map_err(|reason| match reason {
        reason if reason != NoInterval::NotFinite && chosen.judged.len() < FEWEST_PAIRS => {
            NoVerdict::FewPairs
        }
        reason => reason.into(),
    })
}

fn remarks(judged: &Judgement, of_failures: bool) -> Vec<VerdictRemark> {
    VerdictRemark::those(&[
        (of_failures, VerdictRemark::OfFailures),
        (judged.negligible, VerdictRemark::Negligible),
        (judged.beyond_margin, VerdictRemark::BeyondMargin),
        (judged.exact, VerdictRemark::Exact),
        (judged.contradicted, VerdictRemark::Contradicted),
    ])
}

/// docs/method.md, *Order*: other work disturbed so many that it was no use to go on, or left too few for a verdict.
fn disturbed(
    record: &RunRecord,
    from: usize,
    point: usize,
    chosen: &ChosenPairs,
) -> Option<NoVerdict> {
    let pairs = chosen.judged.len();
    let excluded;
    let counted;
    if chosen.of_one_side.is_empty() {
        // Those that were excluded may lack a partner, so they are counted by themselves.
        excluded = record.excluded(from).max(record.excluded(point));
        let all = record.invocations.iter();
        counted = all.filter(|invocation| invocation.counts_for(point)).count();
    } else {
        // Pairs that were excluded for a side's own work count again.
        excluded = chosen.all.len() - pairs;
        counted = pairs;
    }
    let too_many = pairs_too_disturbed(excluded, counted);
    let too_few_left = excluded > pairs && pairs < FEWEST_PAIRS;
    let of = excluded + counted;
    (too_many || too_few_left).then_some(NoVerdict::Disturbed { excluded, of })
}

/// Invocations that failed: of each point, with all that it had, and the rounds that they leave incomplete.
struct Failures {
    first: (usize, usize),
    later: (usize, usize),
    rounds: usize,
}

impl Failures {
    fn of(record: &RunRecord, from: usize, point: usize) -> Self {
        let is_failed = |invocation: &&InvocationRecord| {
            invocation.end.as_ref().is_some_and(|end| end.outcome.failure().is_some())
        };
        let all = |point: usize| {
            let is_of = move |invocation: &&InvocationRecord| {
                invocation.point == point && invocation.role == Role::Workload
            };
            record.invocations.iter().filter(is_of)
        };
        let failed = |point: usize| all(point).filter(is_failed);
        let count = |point: usize| (failed(point).count(), all(point).count());
        let rounds: BTreeSet<u32> =
            failed(from).chain(failed(point)).map(|invocation| invocation.round).collect();
        Self { first: count(from), later: count(point), rounds: rounds.len() }
    }

    /// docs/method.md, *Edge cases*: where one side fails more often than the other, or pairs are left out in large
    /// numbers, the times of the others do not tell which program is slower.
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    fn unfit(&self, pairs: usize) -> Option<NoVerdict> {
        let counts = |(failed, all): (usize, usize)| (failed as u64, all as u64);
        let p = crashes_differ(counts(self.first), counts(self.later));
        let differ = p < FAILURES_DIFFER;
        let many = self.rounds as f64 > MOST_LEFT_OUT * (self.rounds + pairs) as f64;
        let first = self.first;
        let later = self.later;
        (self.rounds > 0 && (differ || many)).then_some(NoVerdict::Failures {
            later,
            first,
            p,
            differ,
        })
    }
}

/// The looks of the strategy, derived anew from the units that it had.
fn looks(decisions: &[&Decision], sides: &Sides, plan: &ComparisonPlan) -> Vec<LookFound> {
    let mut found = Vec::new();
    for decision in decisions {
        let chosen = sides.at_look(plan, decision);
        let pairs = chosen.judged.len();
        let level = plan.level(pairs);
        let Some(ratio) = ratio(&chosen.judged, level) else { continue };
        let judged = chosen.judge(level, plan.margin).ok();
        found.push(LookFound { pairs, ratio, verdict: judged.map(|judged| judged.verdict) });
    }
    found
}

/// Whether every stored look is what the samples say.
fn rederived(decisions: &[&Decision], looks: &[LookFound]) -> bool {
    let stored: Vec<_> = decisions
        .iter()
        .filter_map(|decision| Some((decision.look?, decision.compared.as_ref()?)))
        .collect();
    // The same code on the same samples gives the same bits; anything else is a difference, however small.
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
    use super::{ChosenPairs, judge};

    #[test]
    fn reasons_for_no_verdict_are_told() {
        let why = |logs: &[f64]| {
            let chosen = ChosenPairs::without_exclusions(logs.to_vec());
            judge(&chosen, 0.95, 0.01).unwrap_err().to_string()
        };
        assert_eq!(why(&[0.1; 7]), "a verdict needs 8 pairs");
        assert_eq!(why(&[]), "a verdict needs 8 pairs");
        assert_eq!(why(&[f64::NAN; 9]), "a value is zero, negative or not a number");
    }
}
