//! The checks of one plug-in, each with its outcome, shown as they come.

use serde::Serialize;

use crate::error::Exit;
use crate::reading::output::pretty;
use crate::ui::Ui;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, but readers of its results would wonder.
    Warning,
    /// plumb would not accept it.
    Failed,
    /// It could not be looked at.
    Skipped,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "FAILED",
            Self::Skipped => "skipped",
        }
    }
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// A word for it.
    pub name: &'static str,
    /// Whether plumb would accept it: false only when it failed.
    pub ok: bool,
    /// How it went.
    pub state: State,
    /// What was seen; what would be right, when it is wrong.
    pub why: String,
}

/// The checks so far.
#[derive(Debug)]
pub struct Checklist {
    ui: Ui,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Document<'c> {
    schema: &'static str,
    id: Option<&'c str>,
    checks: &'c [Check],
}

impl Checklist {
    /// Nothing checked yet.
    pub fn new(ui: &Ui) -> Self {
        Self { ui: ui.clone(), checks: Vec::new() }
    }

    /// Adds a check and shows its line.
    pub fn add(&mut self, name: &'static str, state: State, why: impl Into<String>) {
        let why = why.into();
        if !self.ui.wants_json() {
            let shown = plumb_text::clean(&why);
            self.ui.out(&format!("{:<8} {name:<15} {shown}", state.word()));
        }
        self.checks.push(Check { name, ok: state != State::Failed, state, why });
    }

    /// Adds a check that went well or failed; whether it went well.
    pub fn judge(&mut self, name: &'static str, verdict: Result<String, String>) -> bool {
        match verdict {
            Ok(why) => self.add(name, State::Ok, why),
            Err(why) => self.add(name, State::Failed, why),
        }
        self.checks.last().is_some_and(|check| check.ok)
    }

    /// Adds a check that at worst gives a warning.
    pub fn advise(&mut self, name: &'static str, verdict: Result<String, String>) {
        match verdict {
            Ok(why) => self.add(name, State::Ok, why),
            Err(why) => self.add(name, State::Warning, why),
        }
    }

    /// Whether something failed.
    pub fn has_failed(&self) -> bool {
        self.checks.iter().any(|check| !check.ok)
    }

    /// The last words: a line and the next command, or the document.
    pub fn finish(&self, id: Option<&str>, next: &str) -> crate::error::Result<Exit> {
        if self.ui.wants_json() {
            let document = Document { schema: "plumb.plugin-check/1", id, checks: &self.checks };
            self.ui.out(&pretty(&document)?);
        } else {
            self.ui.out(&self.last_line(id, next));
        }
        Ok(if self.has_failed() { Exit::Failed } else { Exit::Fine })
    }

    fn last_line(&self, id: Option<&str>, next: &str) -> String {
        let count = |state| self.checks.iter().filter(|check| check.state == state).count();
        let (failed, warnings) = (count(State::Failed), count(State::Warning));
        let name = plumb_text::clean(id.unwrap_or("the plug-in"));
        match (failed, warnings) {
            (0, 0) => format!("\n{name} is fine; measure it: {next}"),
            (0, 1) => format!("\n{name} works, with a warning; measure it: {next}"),
            (0, n) => format!("\n{name} works, with {n} warnings; measure it: {next}"),
            (n, _) => format!("\n{name} failed {n} of {} checks", self.checks.len()),
        }
    }
}
