//! Until it is known whether the machine is as fast as healthy ones: docs/method.md, *Quick check*.
//!
//! One invocation at a time, of the point from which it is expected to give the most information per second. The first
//! point that is confirmed to be slow ends the run. A suspect point is confirmed by processes that begin a while later, so that
//! what disturbs the machine for a moment is not confirmed by itself.

use plumb_model::{Better, Compared, Decision, HealthGoal, Look, Plan, StopReason, Verdict};
use plumb_stats::describe::median;
use plumb_stats::health::{HealthState, HealthTest};

use super::strategy::{Round, Strategy, close, common_stop, decision};
use crate::history::{History, PointHistory};

/// What confirms a suspect point begins so much later, in nanoseconds.
const CONFIRM_AFTER_NS: u64 = 10_000_000_000;
/// How long an invocation is expected to take before the first of its point, in nanoseconds.
const UNKNOWN_NS: u64 = 1_000_000_000;

/// Compares points with healthy machines until all are healthy or one is slow.
#[derive(Debug)]
pub struct UntilHealthIsKnown {
    budget_ns: Option<u64>,
    points: Vec<PointTest>,
}

/// The test of one point.
#[derive(Debug)]
struct PointTest {
    test: HealthTest,
    better: Better,
    /// The processes of the point that the test has seen, or that came too early to confirm it.
    seen: usize,
    /// When the point became suspect, in nanoseconds of the run.
    suspect_since_ns: Option<u64>,
    /// When its latest invocation was asked for, in nanoseconds of the run.
    asked_at_ns: u64,
}

impl PointTest {
    /// Takes in the processes that have ended since the last time; whether there were any.
    fn take(&mut self, known: &PointHistory, now_ns: u64) -> bool {
        let new = known.processes.get(self.seen..).unwrap_or_default();
        self.seen = known.processes.len();
        let is_too_early =
            self.suspect_since_ns.is_some_and(|since| self.asked_at_ns < since + CONFIRM_AFTER_NS);
        if is_too_early {
            return !new.is_empty();
        }
        for process in new {
            let Some(value) = median(process) else { continue };
            let log = value.ln();
            self.test.add(if self.better == Better::Higher { -log } else { log });
            if self.test.state() == HealthState::Suspect && self.suspect_since_ns.is_none() {
                self.suspect_since_ns = Some(now_ns);
                break;
            }
        }
        !new.is_empty()
    }

    /// Whether an invocation that begins now would be too early to confirm that the point is slow.
    fn must_wait(&self, now_ns: u64) -> bool {
        self.suspect_since_ns.is_some_and(|since| now_ns < since + CONFIRM_AFTER_NS)
    }

    /// The information that a second of this point is expected to give, in nats.
    fn information_per_second(&self, known: &PointHistory) -> f64 {
        let invocations = (known.invocations + known.excluded + known.failures) as u64;
        let invocation_ns = known.spent_ns.checked_div(invocations).unwrap_or(UNKNOWN_NS);
        self.test.expected_information() / invocation_ns.max(1) as f64
    }

    /// The decision about the point so far.
    fn decision(&self, history: &History, point: usize, stop: Option<StopReason>) -> Decision {
        let bounds = self.test.bounds();
        let verdict = match self.test.state() {
            HealthState::Healthy => Some(Verdict::Equivalent),
            HealthState::Slow => Some(Verdict::Slower),
            HealthState::Open | HealthState::Suspect => None,
        };
        Decision {
            look: bounds.map(|bounds| Look {
                estimate: bounds.estimate.exp(),
                low: Some(bounds.low.exp()),
                high: Some(bounds.high.exp()),
                level: bounds.level,
            }),
            compared: Some(Compared { pairs: self.seen, verdict, pairs_needed: None }),
            ..decision(history, point, stop)
        }
    }
}

impl UntilHealthIsKnown {
    /// For the points of `plan`, which the goal has in the same order.
    #[must_use]
    pub fn new(plan: &Plan, goal: &HealthGoal) -> Self {
        let tests = goal.healthy.len();
        let points = plan.points.iter().zip(&goal.healthy).map(|(planned, healthy)| PointTest {
            test: HealthTest::new(healthy.costs(), goal.margin, tests),
            better: planned.description.primary().map_or(Better::Lower, |metric| metric.better),
            seen: 0,
            suspect_since_ns: None,
            asked_at_ns: 0,
        });
        Self { budget_ns: plan.budget_ns, points: points.collect() }
    }

    /// Why the point is done, if it is.
    fn stop(&self, history: &History, point: usize) -> Option<StopReason> {
        // Disturbed invocations are replaced until the time is over: a busy machine is undecided, and not slow.
        let forced = common_stop(history, point, self.budget_ns, |_, _| false);
        match self.points[point].test.state() {
            HealthState::Healthy | HealthState::Slow => Some(StopReason::Verdict),
            HealthState::Open | HealthState::Suspect => forced,
        }
    }

    /// The point that the next invocation is of.
    fn most_informative(&self, history: &History) -> Option<usize> {
        let now_ns = history.elapsed_ns;
        let information =
            |point: usize| self.points[point].information_per_second(&history.points[point]);
        let can_begin = history.open().filter(|point| !self.points[*point].must_wait(now_ns));
        can_begin
            .max_by(|one, two| information(*one).total_cmp(&information(*two)))
            .or_else(|| history.open().next())
    }
}

impl Strategy for UntilHealthIsKnown {
    fn next(&mut self, history: &mut History) -> Round {
        let mut round = Round { ordered: true, ..Round::default() };
        let open: Vec<usize> = history.open().filter(|point| *point < self.points.len()).collect();
        for point in open {
            let has_new = self.points[point].take(&history.points[point], history.elapsed_ns);
            let stop = self.stop(history, point);
            let decision = self.points[point].decision(history, point, stop);
            if stop.is_some() {
                close(history, &mut round, decision);
            } else if has_new {
                round.decisions.push(decision);
            }
        }
        if self.points.iter().any(|point| point.test.state() == HealthState::Slow) {
            let open: Vec<usize> = history.open().collect();
            for point in open {
                let decision =
                    self.points[point].decision(history, point, Some(StopReason::Verdict));
                close(history, &mut round, decision);
            }
        }
        if let Some(point) = self.most_informative(history) {
            self.points[point].asked_at_ns = history.elapsed_ns;
            round.points.push(point);
        }
        round
    }
}
