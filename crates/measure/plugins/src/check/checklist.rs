//! The checks of one plug-in, each with its outcome.

use std::fmt;

use serde::Serialize;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// As it should be.
    Ok,
    /// It works, but readers of its results would wonder.
    Warning,
    /// plumb would not accept it.
    Failed,
    /// It could not be looked at.
    Skipped,
}

/// One check of a plug-in and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    /// A word for it.
    pub name: &'static str,
    /// Whether plumb would accept it: false only when it failed.
    pub ok: bool,
    /// How it went.
    pub state: CheckOutcome,
    /// What was seen; what would be right, when it is wrong.
    pub why: String,
}

/// The checks so far.
pub struct Checklist<'l> {
    checks: Vec<Check>,
    show: &'l mut dyn FnMut(&Check),
    numbers: Numbers,
}

/// How numbers with units are written for people.
#[derive(Debug, Clone, Copy)]
pub struct Numbers(fn(f64, &str) -> String);

impl Numbers {
    /// By this function, of a value and its unit.
    #[must_use]
    pub fn new(quantity: fn(f64, &str) -> String) -> Self {
        Self(quantity)
    }

    /// A value in its unit.
    pub(super) fn quantity(self, value: f64, unit: &str) -> String {
        (self.0)(value, unit)
    }

    /// A length of time.
    #[expect(clippy::cast_precision_loss, reason = "times for people")]
    pub(super) fn seconds(self, ns: u64) -> String {
        self.quantity(ns as f64 * 1e-9, "s")
    }
}

impl fmt::Debug for Checklist<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Checklist").field(&self.checks).finish()
    }
}

impl<'l> Checklist<'l> {
    /// Nothing checked yet; each check is shown as it comes.
    pub fn new(show: &'l mut dyn FnMut(&Check), numbers: Numbers) -> Self {
        Self { checks: Vec::new(), show, numbers }
    }

    /// The checks so far.
    #[must_use]
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// How numbers with units are written for people.
    pub(super) fn numbers(&self) -> Numbers {
        self.numbers
    }

    /// Adds a check and shows it.
    pub fn add(&mut self, name: &'static str, state: CheckOutcome, why: impl Into<String>) {
        let check = Check { name, ok: state != CheckOutcome::Failed, state, why: why.into() };
        (self.show)(&check);
        self.checks.push(check);
    }

    /// Adds a check that went well or failed; whether it went well.
    pub fn judge(&mut self, name: &'static str, verdict: Result<String, String>) -> bool {
        match verdict {
            Ok(why) => self.add(name, CheckOutcome::Ok, why),
            Err(why) => self.add(name, CheckOutcome::Failed, why),
        }
        self.checks.last().is_some_and(|check| check.ok)
    }

    /// Adds a check that at worst gives a warning.
    pub(super) fn advise(&mut self, name: &'static str, verdict: Result<String, String>) {
        match verdict {
            Ok(why) => self.add(name, CheckOutcome::Ok, why),
            Err(why) => self.add(name, CheckOutcome::Warning, why),
        }
    }
}
