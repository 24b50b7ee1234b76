//! The draft that menus change, and the two ways in which they do: one of several, or a text.

use plumb_suite::{Suite, UsageError};

use crate::planner::Planner;
use crate::screen::Screen;

/// What the keys do, for the foot of a menu's head.
const KEYS: &str = "Arrows choose, Enter opens, Esc goes back.";
/// The same for a text.
const TEXT_KEYS: &str = "Enter accepts the line; an empty line leaves the choice to plumb.";
/// Columns of the labels in menus.
const LABEL: usize = 24;

/// A suite in the making, and the terminal on which it is made.
pub struct Form<'f, P> {
    /// The suite so far.
    pub draft: Suite,
    /// Who knows the workloads.
    pub planner: &'f mut P,
    screen: Screen,
}

impl<'f, P: Planner> Form<'f, P> {
    /// Takes the terminal over.
    pub fn open(draft: Suite, planner: &'f mut P) -> Result<Self, P::Error> {
        let screen = Screen::open(planner.has_colours()).map_err(|error| planner.lost(error))?;
        Ok(Self { draft, planner, screen })
    }

    /// Lets the user choose one of the items under the plan so far; None if they go back.
    pub fn choose(
        &mut self,
        title: &str,
        about: &str,
        items: &[String],
        at: usize,
    ) -> Result<Option<usize>, P::Error> {
        let plan = match self.draft.entries.is_empty() {
            true => "no points yet\n".to_owned(),
            false => match self.planner.duration(&self.draft) {
                Ok(duration) => duration + "\n",
                Err(error) => self.planner.told(error)?,
            },
        };
        let about = if about.is_empty() { String::new() } else { format!("{about}\n") };
        let chosen = self.screen.choose(&format!("{plan}{about}{KEYS}\n "), title, items, at);
        chosen.map_err(|error| self.planner.lost(error))
    }

    /// Lets the user change a text until the suite can be resolved with it.
    pub fn change(
        &mut self,
        title: &str,
        help: &str,
        text: &str,
        set: impl Fn(&mut Suite, &str) -> Result<(), UsageError>,
    ) -> Result<(), P::Error> {
        let mut typed = text.to_owned();
        let mut wrong = String::new();
        loop {
            let head = format!("{help}\n{TEXT_KEYS}\n{wrong} ");
            let answer = self.screen.ask(&head, title, &typed);
            typed = answer.map_err(|error| self.planner.lost(error))?;
            match self.accept(|draft| set(draft, typed.trim())) {
                Ok(()) => return Ok(()),
                Err(error) => wrong = self.planner.told(error)?,
            }
        }
    }

    /// Lets the user name a file that the suite can go to; None for an empty line.
    pub fn file(
        &mut self,
        title: &str,
        help: &str,
        text: &str,
    ) -> Result<Option<String>, P::Error> {
        let mut typed = text.to_owned();
        let mut wrong = String::new();
        loop {
            let head = format!("{help}\nAn empty line goes back.\n{wrong} ");
            let answer = self.screen.ask(&head, title, &typed);
            typed = answer.map_err(|error| self.planner.lost(error))?;
            let word = typed.trim();
            if word.is_empty() {
                return Ok(None);
            }
            match self.planner.check_file(word) {
                Ok(()) => return Ok(Some(word.to_owned())),
                Err(error) => wrong = self.planner.told(error)?,
            }
        }
    }

    /// Changes the draft if the suite can then be resolved; without points there is nothing to resolve.
    pub fn accept(
        &mut self,
        set: impl FnOnce(&mut Suite) -> Result<(), UsageError>,
    ) -> Result<(), P::Error> {
        let mut changed = self.draft.clone();
        set(&mut changed)?;
        if !changed.entries.is_empty() {
            self.planner.duration(&changed)?;
        }
        self.draft = changed;
        Ok(())
    }
}

/// A line of a menu: what it is, and what is stated of it.
pub fn line(label: &str, value: &str) -> String {
    format!("{label:<LABEL$}{value}")
}
