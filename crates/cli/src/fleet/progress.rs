//! Progress of several machines: a line per machine on a terminal, and lines with its name elsewhere.

use std::time::{Duration, Instant};

use plumb_agent::{AgentEnd, MachineAddress, VisitFailure};
use plumb_live::{ProgressView, progress_line};
use plumb_model::{Event, Stamped};
use plumb_text::clip;

use crate::ui::{LINE_INTERVAL, Ui};

/// On a terminal: no more machines than this; the rest is counted.
const MOST_LINES: usize = 14;
/// On a terminal: no redrawing sooner than this after the last time.
const REDRAW: Duration = Duration::from_millis(200);

/// Follows the runs of several machines.
pub struct FleetProgress {
    ui: Ui,
    machines: Vec<MachineProgress>,
    drawn_at: Option<Instant>,
    drawn_lines: usize,
}

/// One of them.
struct MachineProgress {
    name: String,
    state: ProgressStage,
    /// When its last line was printed, where lines are not redrawn.
    said_at: Option<Instant>,
}

enum ProgressStage {
    Waiting,
    Connecting,
    Measuring(Box<ProgressView>),
    Over(String),
}

impl FleetProgress {
    /// For these machines.
    pub fn new(machines: &[MachineAddress], ui: &Ui) -> Self {
        let machines = machines.iter().map(|machine| MachineProgress {
            name: machine.name().to_owned(),
            state: ProgressStage::Waiting,
            said_at: None,
        });
        Self { ui: ui.clone(), machines: machines.collect(), drawn_at: None, drawn_lines: 0 }
    }

    /// The turn of a machine has come.
    pub fn begun(&mut self, machine: usize) {
        self.machines[machine].state = ProgressStage::Connecting;
        self.draw();
    }

    /// Something happened in the run of a machine.
    pub fn take(&mut self, machine: usize, stamped: &Stamped) {
        let one = &mut self.machines[machine];
        if let Event::RunStarted { plan, .. } = &stamped.event {
            one.state = ProgressStage::Measuring(Box::new(ProgressView::of(plan)));
        }
        if let ProgressStage::Measuring(view) = &mut one.state {
            view.take(stamped);
        }
        self.draw();
    }

    /// The visit of a machine is over.
    pub fn over(&mut self, machine: usize, ended: &Result<AgentEnd, VisitFailure>) {
        let one = &mut self.machines[machine];
        let text = match ended {
            Ok(end) if end.interrupted => "interrupted".to_owned(),
            Ok(_) => "done".to_owned(),
            Err(failure) => failure.to_string(),
        };
        one.state = ProgressStage::Over(text);
        one.said_at = None;
        self.draw();
        self.say_lines();
    }

    /// Draws what is new, if it is time.
    pub fn draw(&mut self) {
        if self.ui.is_quiet() {
            return;
        }
        if !self.ui.is_live() {
            return self.say_lines();
        }
        if self.drawn_at.is_some_and(|at| at.elapsed() < REDRAW) {
            return;
        }
        self.drawn_at = Some(Instant::now());
        let width = self.ui.width();
        let mut text = String::new();
        for machine in self.machines.iter().take(MOST_LINES) {
            // No line may wrap: the lines are drawn over each other.
            text += &clip(&machine.line(), width);
            text.push('\n');
        }
        let hidden = self.machines.len().saturating_sub(MOST_LINES);
        if hidden > 0 {
            let over = self.machines.iter().filter(|machine| machine.is_over()).count();
            text += &format!("{hidden} more; {over} of {} done\n", self.machines.len());
        }
        self.ui.draw(&format!("{}{text}", self.back()));
        self.drawn_lines = text.lines().count();
    }

    /// Wipes what was drawn.
    pub fn finish(&mut self) {
        if self.ui.is_live() && !self.ui.is_quiet() {
            self.ui.draw(&self.back());
            self.drawn_lines = 0;
            self.drawn_at = None;
        }
    }

    fn say_lines(&mut self) {
        if self.ui.is_quiet() || self.ui.is_live() {
            return;
        }
        for machine in &mut self.machines {
            let is_due = match machine.state {
                ProgressStage::Waiting | ProgressStage::Connecting => false,
                ProgressStage::Measuring(_) => {
                    machine.said_at.is_none_or(|at| at.elapsed() >= LINE_INTERVAL)
                }
                ProgressStage::Over(_) => machine.said_at.is_none(),
            };
            if is_due {
                machine.said_at = Some(Instant::now());
                self.ui.say(&machine.line());
            }
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

impl MachineProgress {
    fn is_over(&self) -> bool {
        matches!(self.state, ProgressStage::Over(_))
    }

    fn line(&self) -> String {
        let text = match &self.state {
            ProgressStage::Waiting => "waiting".to_owned(),
            ProgressStage::Connecting => "connecting".to_owned(),
            ProgressStage::Measuring(view) => progress_line(view),
            ProgressStage::Over(text) => plumb_text::clean(text),
        };
        format!("{}: {text}", self.name)
    }
}
