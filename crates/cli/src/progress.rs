//! Progress on stderr, drawn between timed batches, never inside one.

use plumb_model::{Decision, Event, Plan, Stamped};

use crate::ui::Ui;

/// Follows a run.
pub struct Progress {
    ui: Ui,
    names: Vec<String>,
}

impl Progress {
    /// For this plan.
    pub fn new(plan: &Plan, ui: &Ui) -> Self {
        let names = plan.points.iter().map(plumb_model::PlannedPoint::name).collect();
        Self { ui: ui.clone(), names }
    }

    /// Takes one event.
    pub fn take(&mut self, event: &Stamped) {
        if let Event::Decided(decision) = &event.event {
            self.decided(event.at_ns, decision);
        }
    }

    fn decided(&self, at_ns: u64, decision: &Decision) {
        #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
        let at = at_ns as f64 / 1e9;
        let name = self.names.get(decision.point).map_or("", String::as_str);
        let reached = decision.look.and_then(|look| look.relative_half_width());
        let reached =
            reached.map_or("no interval yet".to_owned(), |r| format!("±{:.1} %", r * 100.0));
        let stop = decision.stop.as_deref().unwrap_or("");
        self.ui.say(&format!(
            "[{at:6.1} s] {name}: {} invocations, {} samples, {reached} {stop}",
            decision.invocations, decision.samples
        ));
    }

    /// The run is over.
    pub fn finish(&mut self) {}
}
