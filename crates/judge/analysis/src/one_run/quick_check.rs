//! Is this machine as fast as healthy ones? What a run found that ends as soon as that is known: docs/method.md, *Quick check*.

use std::collections::BTreeMap;

use plumb_model::{Decision, Goal, Id, RunRecord, StopReason, Verdict};

use crate::method::METHOD_VERSION;

const NS_PER_S: f64 = 1e9;

/// What a quick check found.
#[derive(Debug, Clone, PartialEq)]
pub struct QuickCheckFinding {
    /// Version of the method that found it.
    pub method: u32,
    /// The run of the check.
    pub run: Id,
    /// How long it took, in seconds; None if it has no end.
    pub took_s: Option<f64>,
    /// Smallest relative change that matters.
    pub margin: f64,
    /// Every result: slow ones first, then those that are not decided, then healthy ones.
    pub results: Vec<QuickResult>,
    /// How many processes do not count by each rule about other activity.
    pub disturbed_by: BTreeMap<String, usize>,
}

/// One result of a quick check.
#[derive(Debug, Clone, PartialEq)]
pub struct QuickResult {
    /// Name of the point.
    pub name: String,
    /// What is known.
    pub state: QuickState,
    /// Cost over that of healthy machines, with the bounds at the last look; None before the second process. While a slow
    /// result is confirmed, only the confirming processes count.
    pub ratio: Option<CostRatio>,
    /// The highest such ratio that healthy machines reach.
    pub limit: f64,
    /// Processes that ended well.
    pub processes: usize,
    /// Processes that do not count because something else ran at the same time.
    pub disturbed: usize,
    /// Why the last process failed, or the point cannot be measured.
    pub trouble: Option<String>,
}

/// A ratio of costs with its bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostRatio {
    /// The estimate itself, without bounds.
    pub estimate: f64,
    /// It is no lower.
    pub low: f64,
    /// It is no higher.
    pub high: f64,
}

/// What is known of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuickState {
    /// Confirmed to cost more than on healthy machines.
    Slow,
    /// It failed too often.
    Failed,
    /// It cannot be measured here.
    Unsupported,
    /// Not known when the check ended.
    Undecided,
    /// As on healthy machines.
    Healthy,
}

impl QuickState {
    /// The word that is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Slow => "slow",
            Self::Failed => "failed",
            Self::Unsupported => "unsupported",
            Self::Undecided => "undecided",
            Self::Healthy => "healthy",
        }
    }
}

impl QuickCheckFinding {
    /// Of the run of a quick check; None of another run.
    #[must_use]
    pub fn of(record: &RunRecord) -> Option<Self> {
        let Goal::Health(goal) = &record.plan.goal else { return None };
        let tests = goal.healthy.len();
        let mut results: Vec<QuickResult> = Vec::new();
        for (point, healthy) in goal.healthy.iter().enumerate() {
            let limit = healthy.costs().reach(goal.margin, tests).exp();
            results.push(result(record, point, limit)?);
        }
        results.sort_by_key(|result| result.state);
        let took_s = record
            .ended_unix_ns
            .map(|ended_unix_ns| (ended_unix_ns - record.started_unix_ns) as f64 / NS_PER_S);
        let mut disturbed_by = BTreeMap::new();
        for invocation in record.invocations.iter().filter(|invocation| invocation.is_disturbed()) {
            for found in &invocation.interference {
                *disturbed_by.entry(found.rule.clone()).or_default() += 1;
            }
        }
        Some(Self {
            method: METHOD_VERSION,
            run: record.run,
            took_s,
            margin: goal.margin,
            results,
            disturbed_by,
        })
    }

    /// What is known of the machine: the most severe state of its results.
    #[must_use]
    pub fn state(&self) -> QuickState {
        self.results.iter().map(|result| result.state).min().unwrap_or(QuickState::Undecided)
    }

    /// The results in this state.
    pub fn in_state(&self, state: QuickState) -> impl Iterator<Item = &QuickResult> {
        self.results.iter().filter(move |result| result.state == state)
    }
}

/// What a run found about one of its points; None if it has no such point.
fn result(record: &RunRecord, point: usize, limit: f64) -> Option<QuickResult> {
    let planned = record.plan.points.get(point)?;
    let last = record.decisions.iter().rev().find(|decision| decision.point == point);
    let unsupported = record.unsupported.iter().find(|missing| missing.point == point);
    let failure = record
        .invocations
        .iter()
        .rev()
        .filter(|invocation| invocation.point == point)
        .find_map(|invocation| Some(invocation.end.as_ref()?.outcome.failure()?.to_owned()));
    let state = match unsupported {
        Some(_) => QuickState::Unsupported,
        None => last.map_or(QuickState::Undecided, state_of),
    };
    let ratio = last.and_then(|decision| decision.look).and_then(|look| {
        Some(CostRatio { estimate: look.estimate, low: look.low?, high: look.high? })
    });
    Some(QuickResult {
        name: planned.name(),
        state,
        ratio,
        limit,
        processes: last
            .and_then(|decision| decision.compared.as_ref())
            .map_or(0, |seen| seen.pairs),
        disturbed: record.excluded(point),
        trouble: unsupported.map(|missing| missing.why.clone()).or(failure),
    })
}

/// What a decision says of its point.
fn state_of(decision: &Decision) -> QuickState {
    let verdict = decision.compared.as_ref().and_then(|compared| compared.verdict);
    match (decision.stop, verdict) {
        (_, Some(Verdict::Slower)) => QuickState::Slow,
        (_, Some(Verdict::Equivalent)) => QuickState::Healthy,
        (Some(StopReason::Failed), _) => QuickState::Failed,
        _ => QuickState::Undecided,
    }
}
