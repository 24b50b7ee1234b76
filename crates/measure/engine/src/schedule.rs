//! Which points come next, and what is known of them: the strategy with the history that it sees. Nothing
//! here starts or tells anything.

use plumb_model::{Decision, Id, Plan, RunRecord, StopReason};

use crate::context::Ended;
use crate::draws::Draws;
use crate::exclusion::{self, exclusions};
use crate::history::{History, Observation, PointHistory};
use crate::strategy::{self, Strategy};

/// An invocation that ended well, until its round is over.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Id of the invocation.
    pub invocation: Id,
    /// Index of its point in the plan.
    pub point: usize,
    /// The rules of interference that it met, in one text.
    pub rules: String,
    /// Its observation for the strategy; None for a workload without a metric.
    pub observation: Option<Observation>,
}

/// The rounds of a run.
pub struct RoundSchedule<'r> {
    plan: &'r Plan,
    strategy: Box<dyn Strategy>,
    history: History,
    /// Time of the segments before an interruption.
    elapsed_before_ns: u64,
    /// Invocations of this round that ended well.
    finished: Vec<Finished>,
    /// The point of the last invocation that ended well.
    last_point: Option<usize>,
}

impl<'r> RoundSchedule<'r> {
    /// Of a plan, or of what is left of it.
    pub fn of(plan: &'r Plan, before: Option<&RunRecord>) -> Self {
        let history = before.map_or_else(|| History::empty(plan.points.len()), History::of);
        // Not the wall clock: the budget must not pay for the time between interruption and resumption.
        let elapsed_before_ns = history.points.iter().map(|point| point.spent_ns).sum();
        let strategy = strategy::for_plan(plan);
        let last_turn = before.and_then(|record| record.turns().last());
        Self {
            plan,
            strategy,
            history,
            elapsed_before_ns,
            finished: Vec::new(),
            last_point: last_turn.map(|(invocation, _)| invocation.point),
        }
    }

    /// What the strategy decided after so much time of this segment, and the points of the next round in
    /// their order; none when the run is over.
    pub fn next_round(
        &mut self,
        elapsed_ns: u64,
        draws: &mut Draws,
    ) -> (Vec<Decision>, Vec<usize>) {
        self.history.elapsed_ns = self.elapsed_before_ns + elapsed_ns;
        let mut round = self.strategy.next(&mut self.history);
        if !round.ordered {
            draws.shuffle(&mut round.points);
        }
        (round.decisions, round.points)
    }

    /// When the time for the whole run is over, in nanoseconds of this segment; None if it has no end.
    pub fn end_ns(&self) -> Option<u64> {
        self.plan.budget_ns.map(|budget_ns| budget_ns.saturating_sub(self.elapsed_before_ns))
    }

    /// Whether the time for the whole run is over.
    pub fn budget_is_spent(&self, elapsed_ns: u64) -> bool {
        self.end_ns().is_some_and(|end_ns| elapsed_ns >= end_ns)
    }

    /// What is known of a point.
    pub fn known(&mut self, point: usize) -> &mut PointHistory {
        &mut self.history.points[point]
    }

    /// The state of all points.
    pub fn all_known(&mut self) -> &mut [PointHistory] {
        &mut self.history.points
    }

    /// Takes note of an invocation that ended well.
    pub fn finished(&mut self, finished: Finished) {
        self.finished.push(finished);
    }

    /// The invocations of a round become part of what is known, but for those that are excluded: these,
    /// with the rules that say so.
    pub fn settle_round(&mut self) -> Vec<(Id, String)> {
        let round = std::mem::take(&mut self.finished);
        let rules: Vec<&str> = round.iter().map(|taken| taken.rules.as_str()).collect();
        let by_rules = exclusions(self.plan, &rules);
        let mut excluded = Vec::new();
        for (one, by) in round.into_iter().zip(by_rules) {
            let known = &mut self.history.points[one.point];
            let follows_itself = self.last_point.replace(one.point) == Some(one.point);
            let cost = one.observation.as_ref().and_then(|observation| observation.cost);
            if let Some((round, _)) = cost {
                known.add_turn(round, exclusion::names(&one.rules), follows_itself);
            }
            known.disturbed += usize::from(!one.rules.is_empty());
            match (by, one.observation) {
                (Some(by), observation) => {
                    known.excluded += 1;
                    known.add_excluded(observation.as_ref());
                    excluded.push((one.invocation, by));
                }
                (None, Some(observation)) => known.add(observation),
                (None, None) => {}
            }
        }
        excluded
    }

    /// How the run has ended.
    pub fn ended(&self, interrupted: bool) -> Ended {
        let mut ended =
            Ended { interrupted, measured: 0, failed: 0, unsupported: 0, unclean: None };
        for (point, planned) in self.history.points.iter().zip(&self.plan.points) {
            // A run that ends early may have no good invocation of a point that has not failed often enough to be stopped.
            let only_failed = point.invocations == 0 && point.failures > 0;
            // One wrong result is enough: the other invocations do not make it right.
            let has_failed =
                point.stopped == Some(StopReason::Failed) || only_failed || point.wrong_results > 0;
            // What only shows a ceiling may be missing: nobody asked for it.
            let is_unsupported =
                point.stopped == Some(StopReason::Unsupported) && !planned.is_ceiling;
            // A comparison can rest on pairs that were all disturbed: by work of one side.
            let is_compared = self.plan.comparison().is_some() && point.excluded > 0;
            ended.measured += usize::from(point.invocations > 0 || is_compared);
            ended.failed += usize::from(has_failed);
            ended.unsupported += usize::from(is_unsupported);
        }
        ended
    }
}
