//! Later points against the first, paired by round (METHOD 1.6, fixed number of pairs).
//!
//! Every round holds one invocation of each point in random order, so that what disturbs one side of
//! a round disturbs the other too; the ratio is taken inside the round.

use std::collections::BTreeMap;

use plumb_model::{Better, Metric, RunRecord};
use plumb_stats::describe::median;
use plumb_stats::pairs::{FEWEST_PAIRS, hodges_lehmann, signed_rank_interval};
use plumb_stats::{Interval, NoInterval};

use crate::estimate::estimate;
use crate::evidence::steady;
use crate::summarise::point_facts;
use crate::{CONFIDENCE, Comparison, Verdict};

/// Smallest relative change that matters.
pub const MARGIN: f64 = 0.01;

/// Segment, round and target: what two invocations have in common when they were one pair.
type Round = (u32, u32, u32);

/// Every later point compared with the first; none when the plan does not ask.
pub(crate) fn against_first(record: &RunRecord) -> Vec<Comparison> {
    let points = &record.plan.points;
    let Some(metric) = points.first().and_then(|first| first.description.primary()) else {
        return Vec::new();
    };
    if !record.plan.against_first {
        return Vec::new();
    }
    let first = costs(record, 0, metric);
    (1..points.len())
        .filter(|&point| points[point].description.metric(&metric.name).is_some())
        .map(|point| compare(record, point, metric, &first))
        .collect()
}

/// The median cost of a point in every round: less is better, whatever the metric's direction.
fn costs(record: &RunRecord, point: usize, metric: &Metric) -> BTreeMap<Round, f64> {
    let mut values: BTreeMap<Round, Vec<f64>> = BTreeMap::new();
    for invocation in record.good_invocations(point) {
        let round = (invocation.segment, invocation.round, invocation.target);
        values.entry(round).or_default().extend(steady(invocation, metric).unwrap_or_default());
    }
    let cost = |value: f64| if metric.better == Better::Higher { 1.0 / value } else { value };
    values.into_iter().filter_map(|(round, values)| Some((round, cost(median(&values)?)))).collect()
}

fn compare(
    record: &RunRecord,
    point: usize,
    metric: &Metric,
    first: &BTreeMap<Round, f64>,
) -> Comparison {
    let later = costs(record, point, metric);
    let logs: Vec<f64> =
        first.iter().filter_map(|(round, first)| Some((later.get(round)? / first).ln())).collect();
    let interval = signed_rank_interval(&logs, CONFIDENCE);
    let judged = judge(&logs, &interval);
    let ratio = hodges_lehmann(&logs).map(|centre| {
        let value = exact(&logs, &interval).unwrap_or(centre).exp();
        estimate(value, interval.map(|found| found.map(f64::exp)))
    });
    Comparison {
        first: point_facts(0, &record.plan.points[0]),
        point: point_facts(point, &record.plan.points[point]),
        metric: metric.name.clone(),
        ratio,
        confidence: CONFIDENCE,
        pairs: logs.len(),
        margin: MARGIN,
        verdict: judged.verdict,
        pairs_needed: judged.pairs_needed,
        tags: judged.tags.into_iter().map(str::to_owned).collect(),
    }
}

struct Judged {
    verdict: Result<Verdict, String>,
    pairs_needed: Option<usize>,
    tags: Vec<&'static str>,
}

impl Judged {
    fn new(verdict: Verdict, tags: Vec<&'static str>) -> Self {
        Self { verdict: Ok(verdict), pairs_needed: None, tags }
    }
}

/// The common log ratio where all pairs have the same one.
fn exact(logs: &[f64], interval: &Result<Interval, NoInterval>) -> Option<f64> {
    matches!(interval, Err(NoInterval::AllEqual)).then(|| logs.first().copied()).flatten()
}

fn judge(logs: &[f64], interval: &Result<Interval, NoInterval>) -> Judged {
    if let Some(centre) = exact(logs, interval) {
        let all_equal = Interval { estimate: centre, low: centre, high: centre };
        let mut judged = judge_interval(&all_equal, logs.len());
        judged.tags.push("exact");
        return judged;
    }
    match interval {
        Ok(interval) => judge_interval(interval, logs.len()),
        Err(NoInterval::NotFinite) => without("a value is zero, negative or no number".to_owned()),
        Err(_) if logs.len() < FEWEST_PAIRS => without(too_few()),
        Err(reason) => without(reason.to_string()),
    }
}

fn without(why: String) -> Judged {
    Judged { verdict: Err(why), pairs_needed: None, tags: Vec::new() }
}

fn too_few() -> String {
    format!("a verdict takes {FEWEST_PAIRS} pairs")
}

/// The verdict that one interval of the log ratio supports.
fn judge_interval(interval: &Interval, pairs: usize) -> Judged {
    let Interval { estimate, low, high } = *interval;
    let margin = MARGIN.ln_1p();
    if -margin < low && high < margin {
        let seen = low > 0.0 || high < 0.0;
        let tags = if seen { vec!["detectable but negligible"] } else { Vec::new() };
        return Judged::new(Verdict::Equivalent, tags);
    }
    let beyond = |is: bool| if is { vec!["beyond margin"] } else { Vec::new() };
    if low > 0.0 {
        return Judged::new(Verdict::Slower, beyond(low > margin));
    }
    if high < 0.0 {
        return Judged::new(Verdict::Faster, beyond(high < -margin));
    }
    let half = (high - low) / 2.0;
    Judged {
        verdict: Ok(Verdict::Inconclusive),
        pairs_needed: pairs_needed(estimate.abs(), half, margin, pairs),
        tags: Vec::new(),
    }
}

/// Pairs that would settle it, for a difference or for equivalence, whichever is nearer.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number of pairs, refused where it is absurd"
)]
fn pairs_needed(centre: f64, half: f64, margin: f64, pairs: usize) -> Option<usize> {
    let difference = half / centre;
    let equivalence = if centre < margin { half / (margin - centre) } else { f64::INFINITY };
    let needed = (pairs as f64 * difference.min(equivalence).powi(2)).ceil();
    (needed < 1e6).then_some(needed as usize)
}

#[cfg(test)]
mod tests {
    use plumb_stats::pairs::signed_rank_interval;
    use proptest::prelude::{prop, proptest};

    use super::judge;
    use crate::Verdict;

    fn verdict(logs: &[f64]) -> Result<Verdict, String> {
        judge(logs, &signed_rank_interval(logs, 0.95)).verdict
    }

    /// Ten log ratios around `centre`.
    fn around(centre: f64, spread: f64) -> Vec<f64> {
        (0..10).map(|i| centre + spread * (f64::from(i) - 4.5) / 4.5).collect()
    }

    #[test]
    fn the_four_words_follow_from_the_interval() {
        assert_eq!(verdict(&around(0.05, 0.01)), Ok(Verdict::Slower));
        assert_eq!(verdict(&around(-0.05, 0.01)), Ok(Verdict::Faster));
        assert_eq!(verdict(&around(0.0, 0.005)), Ok(Verdict::Equivalent));
        assert_eq!(verdict(&around(0.0, 0.1)), Ok(Verdict::Inconclusive));
    }

    #[test]
    fn seven_pairs_give_no_verdict() {
        assert_eq!(verdict(&[0.1; 7]), Err("a verdict takes 8 pairs".into()));
        assert_eq!(verdict(&[]), Err("a verdict takes 8 pairs".into()));
    }

    #[test]
    fn equal_pairs_are_exact() {
        let logs = [0.0; 9];
        let judged = judge(&logs, &signed_rank_interval(&logs, 0.95));
        assert_eq!((judged.verdict, judged.tags), (Ok(Verdict::Equivalent), vec!["exact"]));
    }

    proptest! {
        #[test]
        fn swapping_the_sides_mirrors_the_verdict(logs in prop::collection::vec(-0.2..0.2_f64, 0..40)) {
            let mirrored: Vec<f64> = logs.iter().map(|log| -log).collect();
            let mirror = |verdict: Verdict| match verdict {
                Verdict::Faster => Verdict::Slower,
                Verdict::Slower => Verdict::Faster,
                same => same,
            };
            assert_eq!(verdict(&logs).map(mirror), verdict(&mirrored));
        }
    }
}
