//! How far a run is, from a state that the caller keeps.

use std::time::Duration;

use plumb_model::{Decision, Event, Goal, Plan, Role, Stamped, StopReason};

/// A run under way.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProgressView {
    /// All planned points, in the plan's order.
    pub points: Vec<ProgressPoint>,
    /// Index of the point that is measured now.
    pub current: Option<usize>,
    /// Time since the run began.
    pub elapsed: Duration,
    /// Time that is still needed, if a prediction is sound.
    pub remaining: Option<Duration>,
    /// Time that the run has in all.
    pub budget: Option<Duration>,
    /// What the program of the current point says that it is doing.
    pub activity: Option<String>,
}

/// One point of a run under way.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProgressPoint {
    /// The name for people.
    pub name: String,
    /// Invocations so far that ended well.
    pub rounds: usize,
    /// Relative half-width of its interval, once it has one.
    pub reached: Option<f64>,
    /// Relative half-width wanted; None when precision is not the goal.
    pub wanted: Option<f64>,
    /// How it compares with the first point, if that is the goal.
    pub compared: Option<ProgressRatio>,
    /// Where it stands.
    pub state: ProgressState,
    /// Time that it is expected to need still, in nanoseconds, if a prediction is sound.
    pub remaining_ns: Option<u64>,
}

impl ProgressView {
    /// A plan before its first invocation.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let mut points: Vec<_> = plan
            .points
            .iter()
            .map(|planned| ProgressPoint {
                name: planned.name(),
                wanted: plan.rules_of(planned).and_then(|rules| rules.precision),
                ..ProgressPoint::default()
            })
            .collect();
        if let (Goal::Verdict(_), Some(first)) = (&plan.goal, points.first_mut()) {
            // It takes part as long as another point is open; their predictions count it.
            first.remaining_ns = Some(0);
        }
        Self { points, budget: plan.budget_ns.map(Duration::from_nanos), ..Self::default() }
    }

    /// So much time after the start.
    pub fn at(&mut self, elapsed: Duration) {
        self.elapsed = elapsed;
        self.remaining = self.predicted();
    }

    /// Takes an event of the run; whether there is something new to draw.
    pub fn take(&mut self, stamped: &Stamped) -> bool {
        match &stamped.event {
            Event::InvocationStarted { point, role: Role::Workload, .. } => {
                self.current = Some(*point);
                self.activity = None;
            }
            Event::Progress { point, text } => self.doing(*point, text),
            // Its point is open still, and the next program is not there yet.
            Event::InvocationEnded { .. } => {
                self.activity = None;
                return false;
            }
            Event::Unsupported(missing) => self.unsupported(missing.point),
            Event::Decided(decision) => self.decided(decision),
            _ => return false,
        }
        self.at(Duration::from_nanos(stamped.at_ns));
        true
    }

    /// The program of a point says that it is doing something.
    pub fn doing(&mut self, point: usize, text: &str) {
        self.current = Some(point);
        self.activity = Some(text.to_owned());
    }

    /// A point can't be measured.
    pub fn unsupported(&mut self, point: usize) {
        if let Some(point) = self.points.get_mut(point) {
            point.state = ProgressState::Unsupported;
        }
    }

    /// The strategy decided.
    pub fn decided(&mut self, decision: &Decision) {
        if let Some(point) = self.points.get_mut(decision.point) {
            point.decided(decision);
        }
        self.remaining = self.predicted();
    }

    /// The sum over open points if each has a prediction; never more than the budget leaves.
    fn predicted(&self) -> Option<Duration> {
        let sum = self
            .points
            .iter()
            .filter(|point| point.state == ProgressState::Open)
            .map(|point| point.remaining_ns)
            .sum::<Option<u64>>();
        let left = self.budget.map(|budget| budget.saturating_sub(self.elapsed));
        match (sum.map(Duration::from_nanos), left) {
            (Some(sum), Some(left)) => Some(sum.min(left)),
            (sum, None) => sum,
            (None, Some(_)) => None,
        }
    }
}

impl ProgressPoint {
    fn decided(&mut self, decision: &Decision) {
        self.rounds = decision.invocations;
        self.remaining_ns = decision.remaining_ns;
        match (&decision.compared, decision.look, decision.wanted) {
            (Some(compared), Some(look), Some(margin)) => {
                let pairs = compared.pairs;
                let ratio = look.estimate;
                let ends = look.low.zip(look.high);
                self.compared = Some(ProgressRatio { pairs, ratio, ends, margin });
            }
            // A look without an interval does not take back the precision that an earlier one had.
            (_, Some(look), _) => self.reached = look.relative_half_width().or(self.reached),
            _ => {}
        }
        self.state = match decision.stop {
            None => self.state,
            Some(StopReason::MaxPairs | StopReason::Hopeless) => ProgressState::Inconclusive,
            Some(StopReason::Budget | StopReason::MaxTime | StopReason::Interference) => {
                ProgressState::Ended
            }
            Some(StopReason::Failed) => ProgressState::Failed,
            Some(StopReason::Unsupported) => ProgressState::Unsupported,
            Some(_) => ProgressState::Done,
        };
    }
}

/// A comparison with the first point under way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgressRatio {
    /// Pairs at the last look.
    pub pairs: usize,
    /// Cost over the first's cost.
    pub ratio: f64,
    /// Ends of its interval, once it has one.
    pub ends: Option<(f64, f64)>,
    /// Smallest relative change that matters.
    pub margin: f64,
}

/// Where a point stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProgressState {
    /// It still needs data.
    #[default]
    Open,
    /// It has what was wanted.
    Done,
    /// Its time was over before.
    Ended,
    /// It has all that could be taken, without a verdict.
    Inconclusive,
    /// It failed too often.
    Failed,
    /// It can't be measured here.
    Unsupported,
}

impl ProgressPoint {
    /// How much of the way to the wanted precision is behind it, from 0 to 1. Half-widths fall with
    /// the root of the data, so that twice too wide means a quarter of the way.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        if self.state == ProgressState::Done {
            return Some(1.0);
        }
        let reached = self.reached?;
        let wanted = self.wanted?;
        let share = (wanted / reached).powi(2).min(1.0);
        if reached <= wanted { Some(1.0) } else { share.is_finite().then_some(share) }
    }
}
