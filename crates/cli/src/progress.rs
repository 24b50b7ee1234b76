//! Progress on stderr: redrawn in place on a terminal, plain lines elsewhere.
//!
//! It only ever draws when an event arrives, and events arrive between timed batches: nothing is drawn
//! inside one.

use std::time::Duration;

use plumb_model::{Decision, Event, Goal, Plan, Role, Stamped};
use plumb_report::progress::{
    ProgressPoint, ProgressRatio, ProgressState, ProgressView, live, plain,
};

use crate::ui::Ui;

/// On a terminal: no more than so many lines.
const MOST_LINES: usize = 14;
/// On a terminal: no redrawing sooner than this after the last time.
const REDRAW: Duration = Duration::from_millis(80);
/// Elsewhere: a line no sooner than this after the last one, unless a point is finished.
const NEXT_LINE: Duration = Duration::from_secs(5);

/// Follows a run.
pub struct Progress {
    ui: Ui,
    view: ProgressView,
    remaining_ns: Vec<Option<u64>>,
    budget: Option<Duration>,
    drawn_at: Option<Duration>,
    drawn_lines: usize,
}

impl Progress {
    /// For this plan.
    pub fn new(plan: &Plan, ui: &Ui) -> Self {
        let wanted = match plan.goal {
            Goal::Precision { relative } => Some(relative),
            Goal::Fixed { .. } | Goal::Soak | Goal::Verdict { .. } => None,
        };
        let point = |name| ProgressPoint { name, wanted, ..ProgressPoint::default() };
        let budget = plan.budget_ns.map(Duration::from_nanos);
        let view = ProgressView {
            points: plan.points.iter().map(plumb_model::PlannedPoint::name).map(point).collect(),
            budget,
            ..ProgressView::default()
        };
        let mut remaining_ns = vec![None; view.points.len()];
        if let (Goal::Verdict { .. }, Some(first)) = (&plan.goal, remaining_ns.first_mut()) {
            // It takes part as long as another point is open; their predictions count it.
            *first = Some(0);
        }
        Self { ui: ui.clone(), view, remaining_ns, budget, drawn_at: None, drawn_lines: 0 }
    }

    /// Takes one event.
    pub fn take(&mut self, event: &Stamped) {
        if self.ui.is_quiet() {
            return;
        }
        self.view.elapsed = Duration::from_nanos(event.at_ns);
        let mut finished = false;
        match &event.event {
            Event::InvocationStarted { point, role: Role::Workload, .. } => {
                self.view.current = Some(*point);
            }
            Event::Unsupported(missing) => self.set(missing.point, ProgressState::Unsupported),
            Event::Decided(decision) => {
                self.decided(decision);
                // At the end of the time all points end together: one line is enough.
                let over = |stop: &str| stop == "budget" || stop == "time";
                finished = decision.stop.as_deref().is_some_and(|stop| !over(stop));
            }
            _ => return,
        }
        self.view.remaining = self.remaining();
        self.draw(finished);
    }

    /// Wipes what was drawn: the scorecard comes next.
    pub fn finish(&mut self) {
        if self.ui.is_live() && !self.ui.is_quiet() {
            self.ui.draw(&self.back());
            self.drawn_lines = 0;
        }
    }

    fn set(&mut self, point: usize, state: ProgressState) {
        if let Some(point) = self.view.points.get_mut(point) {
            point.state = state;
        }
    }

    fn decided(&mut self, decision: &Decision) {
        if let Some(point) = self.view.points.get_mut(decision.point) {
            point.rounds = decision.invocations;
            match (&decision.compared, decision.look, decision.wanted) {
                (Some(compared), Some(look), Some(margin)) => {
                    let (pairs, ratio) = (compared.pairs, look.estimate);
                    let ends = look.low.zip(look.high);
                    point.compared = Some(ProgressRatio { pairs, ratio, ends, margin });
                }
                (_, Some(look), _) => point.reached = look.relative_half_width().or(point.reached),
                _ => {}
            }
        }
        if let Some(remaining) = self.remaining_ns.get_mut(decision.point) {
            *remaining = decision.remaining_ns;
        }
        match decision.stop.as_deref() {
            None => {}
            Some("max-pairs" | "hopeless") => {
                self.set(decision.point, ProgressState::Inconclusive);
            }
            Some("budget" | "max-time" | "interference") => {
                self.set(decision.point, ProgressState::Ended)
            }
            Some("failed") => self.set(decision.point, ProgressState::Failed),
            Some("unsupported") => self.set(decision.point, ProgressState::Unsupported),
            Some(_) => self.set(decision.point, ProgressState::Done),
        }
    }

    /// The sum over open points where each has a prediction; never more than the budget leaves.
    fn remaining(&self) -> Option<Duration> {
        let open = self.view.points.iter().zip(&self.remaining_ns);
        let open = open.filter(|(point, _)| point.state == ProgressState::Open);
        let sum = open.map(|(_, remaining)| *remaining).sum::<Option<u64>>();
        let left = self.budget.map(|budget| budget.saturating_sub(self.view.elapsed));
        match (sum.map(Duration::from_nanos), left) {
            (Some(sum), Some(left)) => Some(sum.min(left)),
            (sum, None) => sum,
            (None, Some(_)) => None,
        }
    }

    fn draw(&mut self, finished: bool) {
        let since = self.drawn_at.map(|at| self.view.elapsed.saturating_sub(at));
        let pause = if self.ui.is_live() { REDRAW } else { NEXT_LINE };
        let early = since.is_some_and(|since| since < pause);
        if early && (self.ui.is_live() || !finished) {
            return;
        }
        self.drawn_at = Some(self.view.elapsed);
        if self.ui.is_live() {
            let text = live(&self.view, &self.ui.talk_terminal(), MOST_LINES);
            self.ui.draw(&format!("{}{text}", self.back()));
            self.drawn_lines = text.lines().count();
        } else {
            self.ui.say(&plain(&self.view));
        }
    }

    /// Goes back over what was drawn last and clears it.
    fn back(&self) -> String {
        match self.drawn_lines {
            0 => String::new(),
            lines => format!("\x1b[{lines}A\x1b[J"),
        }
    }
}
