//! Who hears of the events of a run: the store, then progress on stderr, redrawn in place on a terminal and plain lines
//! elsewhere.
//!
//! Progress only ever draws when an event arrives. Events arrive between timed batches, so nothing is drawn inside one;
//! except for a program whose sample takes seconds and that says itself, between what it times, how far it is.

use std::collections::BTreeSet;
use std::time::Duration;

use plumb_live::{ProgressView, SecondLines, outlook_line, progress_line, progress_lines};
use plumb_model::{Decision, Event, EventSink, Plan, Role, SinkError, Stamped, StopReason};

use crate::measuring::live::LivePage;
use crate::ui::{LINE_INTERVAL, Ui};

/// On a terminal: no more than so many lines.
const MOST_LINES: usize = 14;
/// On a terminal: no redrawing sooner than this after the last time.
const REDRAW: Duration = Duration::from_millis(80);

/// The events go to the store first: what progress shows is already safe.
pub struct Listeners<'p, W> {
    /// Writes the events to the store.
    pub store: W,
    /// Draws the progress of the run on the terminal.
    pub progress: RunProgress,
    /// Why the store takes no more.
    pub full: Option<String>,
    /// The run's page.
    pub page: Option<&'p LivePage>,
    /// Says the page's address as soon as there is something on it, once.
    pub announce: Option<Ui>,
}

impl<W: EventSink> EventSink for Listeners<'_, W> {
    fn take(&mut self, event: &Stamped) -> std::result::Result<(), SinkError> {
        // After one event is lost, the later ones would make a record with a gap.
        if let Some(why) = &self.full {
            return Err(SinkError(why.clone()));
        }
        if let Err(error) = self.store.take(event) {
            self.full = Some(error.0.clone());
            return Err(error);
        }
        if matches!(event.event, Event::RunStarted { .. }) {
            return Ok(());
        }
        // The page can be read once the start of the run is stored, so not before this event.
        if let Some(page) = self.page {
            if let Some(ui) = self.announce.take() {
                ui.say(&format!("live at {}", page.url()));
            }
            // All else that the page shows it reads from the store.
            match &event.event {
                Event::Progress { point, text } => page.doing(Some((*point, text.clone()))),
                Event::InvocationStarted { role: Role::Workload, .. }
                | Event::InvocationEnded { .. } => page.doing(None),
                _ => {}
            }
        }
        self.progress.take(event);
        Ok(())
    }
}

/// Follows a run.
pub struct RunProgress {
    ui: Ui,
    plan: Plan,
    view: ProgressView,
    seconds: SecondLines,
    /// What was said of which comparison: how slow it is, and what it can tell.
    told: BTreeSet<(usize, bool)>,
    drawn_at: Option<Duration>,
    drawn_lines: usize,
}

impl RunProgress {
    /// For this plan.
    pub fn new(plan: &Plan, ui: &Ui) -> Self {
        Self {
            ui: ui.clone(),
            plan: plan.clone(),
            view: ProgressView::of(plan),
            seconds: SecondLines::of(plan),
            told: BTreeSet::new(),
            drawn_at: None,
            drawn_lines: 0,
        }
    }

    /// Takes one event.
    pub fn take(&mut self, event: &Stamped) {
        if self.ui.is_quiet() {
            return;
        }
        for line in self.seconds.take(&event.event) {
            self.finish();
            self.ui.say(&line);
        }
        let mut finished = false;
        match &event.event {
            // Few come, and the newest may be true for long: it is not left out because something was just drawn.
            Event::Progress { .. } if self.ui.is_live() => self.drawn_at = None,
            Event::Decided(decision) => {
                self.tell(decision);
                // At the end of the time all points end together: one line is enough.
                let over = [StopReason::Budget, StopReason::Time];
                finished = decision.stop.is_some_and(|stop| !over.contains(&stop));
            }
            _ => {}
        }
        if self.view.take(event) {
            self.draw(finished);
        }
    }

    /// Wipes what was drawn: the scorecard comes next.
    pub fn finish(&mut self) {
        if self.ui.is_live() && !self.ui.is_quiet() {
            self.ui.draw(&self.back());
            self.drawn_lines = 0;
        }
    }

    /// Says what to expect of a comparison, once.
    fn tell(&mut self, decision: &Decision) {
        let line = outlook_line(&self.plan, decision);
        if let Some(line) = line
            && self.told.insert((decision.point, decision.compared.is_some()))
        {
            self.finish();
            self.ui.say(&line);
        }
    }

    fn draw(&mut self, finished: bool) {
        let since = self.drawn_at.map(|at| self.view.elapsed.saturating_sub(at));
        let pause = if self.ui.is_live() { REDRAW } else { LINE_INTERVAL };
        let early = since.is_some_and(|since| since < pause);
        if early && (self.ui.is_live() || !finished) {
            return;
        }
        self.drawn_at = Some(self.view.elapsed);
        if self.ui.is_live() {
            let text = progress_lines(&self.view, &self.ui.talk_terminal(), MOST_LINES);
            self.ui.draw(&format!("{}{text}", self.back()));
            self.drawn_lines = text.lines().count();
        } else {
            self.ui.say(&progress_line(&self.view));
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
