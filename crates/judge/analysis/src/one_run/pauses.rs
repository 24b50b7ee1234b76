//! What pauses do to a point of a run that is spread over a time: whether it is as fast right after one.

use plumb_model::{
    AFTER_PAUSE, InvocationRecord, MARGIN, Metric, Outcome, RunRecord, SHORTEST_PAUSE_NS,
};
use plumb_stats::describe::median;
use plumb_stats::verdict::{Verdict, interval_of_pairs, judge_pairs};

use crate::estimate::{Estimate, estimate};
use crate::method::CONFIDENCE;

/// How invocations right after a pause compare with those right after them.
#[derive(Debug, Clone, PartialEq)]
pub struct Pauses {
    /// The median length of a pause, in seconds.
    pub length_s: f64,
    /// The metric's value right after a pause over the next invocation's, with its interval over pauses.
    pub ratio: Estimate,
    /// Whether the two are equivalent, within the wanted precision or 1 %.
    pub equivalent: bool,
    /// Pauses that it rests on.
    pub pairs: usize,
    /// Invocations right after a pause that do not count, because they are not like the others.
    pub left_out: usize,
}

/// Of a metric of a point; None where the run has no pauses before this point's invocations.
pub(crate) fn of(record: &RunRecord, point: usize, metric: &Metric) -> Option<Pauses> {
    record.plan.spread_ns?;
    let pauses_are_stored =
        record.invocations.iter().any(|invocation| invocation.ready.paused_ns.is_some());
    let mut pairs: Vec<(f64, f64)> = Vec::new();
    let mut ended_ns = None;
    let mut after: Option<(f64, f64)> = None;
    for invocation in &record.invocations {
        let (Some((began, ends)), Some(value)) = (span(invocation), value(invocation, metric))
        else {
            continue;
        };
        let gap_ns = ended_ns.replace(ends).map_or(0, |before| began.saturating_sub(before));
        // Of a run that did not store its pauses, a gap that a busy machine makes is taken for one.
        let paused_ns = match pauses_are_stored {
            true => invocation.ready.paused_ns.unwrap_or(0),
            false => gap_ns,
        };
        if paused_ns >= SHORTEST_PAUSE_NS {
            after = (invocation.point == point).then_some((seconds(paused_ns), value));
        } else if invocation.point == point {
            pairs.extend(after.take().map(|(length, first)| (length, (first / value).ln())));
        }
    }
    let lengths: Vec<f64> = pairs.iter().map(|pair| pair.0).collect();
    let logs: Vec<f64> = pairs.iter().map(|pair| pair.1).filter(|log| log.is_finite()).collect();
    let is_left_out = |invocation: &&InvocationRecord| {
        invocation.point == point && invocation.excluded_by.as_deref() == Some(AFTER_PAUSE)
    };
    let rules = record.plan.rules_of(&record.plan.points[point]);
    let margin = rules.and_then(|rules| rules.precision).unwrap_or(MARGIN);
    let judged = judge_pairs(&logs, CONFIDENCE, margin);
    Some(Pauses {
        equivalent: judged.is_ok_and(|equivalence| equivalence.verdict == Verdict::Equivalent),
        length_s: median(&lengths)?,
        ratio: estimate(
            median(&logs)?.exp(),
            interval_of_pairs(&logs, CONFIDENCE).map(|interval| interval.map(f64::exp)),
        ),
        pairs: logs.len(),
        left_out: record.invocations.iter().filter(is_left_out).count(),
    })
}

/// From the start of its first sample, warm-up included, to the end of its last, in nanoseconds.
fn span(invocation: &InvocationRecord) -> Option<(u64, u64)> {
    let starts = &invocation.samples.start_ns;
    let lengths = &invocation.samples.elapsed_ns;
    Some((*starts.first()?, starts.last()?.saturating_add(*lengths.last()?)))
}

fn value(invocation: &InvocationRecord, metric: &Metric) -> Option<f64> {
    let done = invocation.end.as_ref().is_some_and(|end| end.outcome == Outcome::Done);
    median(&invocation.steady(metric).filter(|_| done)?)
}

#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
