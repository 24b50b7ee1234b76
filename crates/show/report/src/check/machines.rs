//! The checks of several machines: text and document.

use plumb_analysis::CheckFinding;
use plumb_text::markdown::escape;
use plumb_text::{Style, Terminal, TextLine, clean, counted};
use serde::Serialize;

use super::json::{CheckDocument, check_document};
use super::markdown::check_markdown;
use super::terminal::check_card;
use crate::json_parts::text::pretty;

/// Name of the document's form.
const CHECKS_SCHEMA: &str = "plumb.checks/1";

/// The check of one machine.
#[derive(Debug, Clone)]
pub struct CheckOfMachine<'f> {
    /// The name by which the user asked for it.
    pub name: &'f str,
    /// What was found; else why it could not be checked, with what to try.
    pub found: Result<&'f CheckFinding, (String, &'f [String])>,
}

/// The checks of several machines, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.checks/1"))]
pub struct ChecksDocument {
    /// Name of the schema: `plumb.checks/1`.
    #[cfg_attr(test, schemars(extend("const" = CHECKS_SCHEMA)))]
    pub schema: &'static str,
    /// The machines, in the order in which they were named.
    pub machines: Vec<MachineCheckPart>,
}

/// The check of one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachineCheckPart {
    /// The name by which the user asked for it.
    pub name: String,
    /// Why it could not be checked; null if it was.
    pub why: Option<String>,
    /// What to try.
    pub hints: Vec<String>,
    /// What was found; null if it could not be checked.
    pub check: Option<CheckDocument>,
}

impl MachineCheckPart {
    fn of(machine: &CheckOfMachine<'_>) -> Self {
        let error = machine.found.as_ref().err();
        Self {
            name: machine.name.to_owned(),
            why: error.map(|(why, _)| why.clone()),
            hints: error.map(|(_, hints)| hints.to_vec()).unwrap_or_default(),
            check: machine.found.as_ref().ok().map(|finding| check_document(finding)),
        }
    }
}

/// The checks of several machines, as the text of a document.
///
/// # Errors
/// When it can't be written as JSON.
pub fn machine_checks_json(machines: &[CheckOfMachine<'_>]) -> serde_json::Result<String> {
    pretty(&ChecksDocument {
        schema: CHECKS_SCHEMA,
        machines: machines.iter().map(MachineCheckPart::of).collect(),
    })
}

fn count(machines: &[CheckOfMachine<'_>], holds: impl Fn(&CheckFinding) -> bool) -> usize {
    machines
        .iter()
        .filter(|machine| machine.found.as_ref().is_ok_and(|finding| holds(finding)))
        .count()
}

/// How many were checked, and on which of them something became slower.
fn machines_title(machines: &[CheckOfMachine<'_>]) -> String {
    let checked = machines.iter().filter(|machine| machine.found.is_ok()).count();
    let slower: Vec<&str> = machines
        .iter()
        .filter(|machine| {
            machine.found.as_ref().is_ok_and(|finding| finding.regressions().next().is_some())
        })
        .map(|machine| machine.name)
        .collect();
    let found = match slower.as_slice() {
        [] => "no regression".to_owned(),
        names => format!("regression on {}", clean(&names.join(", "))),
    };
    let is_undecided = |finding: &CheckFinding| finding.is_inconclusive();
    let has_gaps = |finding: &CheckFinding| !finding.not_measured.is_empty();
    let mut title =
        format!("{checked} of {} checked: {found}", counted(machines.len(), "machine", "machines"));
    for (number, what) in [
        (count(machines, is_undecided), "undecided"),
        (count(machines, has_gaps), "with missing results"),
    ] {
        if number > 0 {
            title += &format!("; {number} {what}");
        }
    }
    title
}

/// The checks of several machines as Markdown: each below the name of its machine.
#[must_use]
pub fn machine_checks_markdown(machines: &[CheckOfMachine<'_>]) -> String {
    let mut out = format!("## plumb: {}\n", escape(&machines_title(machines)));
    for machine in machines {
        out.push_str(&format!("\n## {}\n\n", escape(&clean(machine.name))));
        match &machine.found {
            Ok(finding) => out.push_str(&check_markdown(finding)),
            Err((why, _)) => out.push_str(&format!("not checked: {}\n", escape(&clean(why)))),
        }
    }
    out
}

/// The checks of several machines, in lines of a terminal's width: each below the name of its machine.
#[must_use]
pub fn machine_checks_card(machines: &[CheckOfMachine<'_>], terminal: &Terminal) -> String {
    let title = TextLine::new(Style::Heading, &machines_title(machines));
    let mut cards = vec![terminal.lines(0, &title)];
    for machine in machines {
        let name = TextLine::new(Style::Name, &clean(machine.name));
        let mut card = terminal.lines(0, &name);
        match &machine.found {
            Ok(finding) => card.push_str(&check_card(finding, terminal)),
            Err((why, hints)) => card.push_str(&not_checked(why, hints, terminal)),
        }
        cards.push(card);
    }
    cards.join("\n")
}

/// Why a machine could not be checked, and what to try.
pub(super) fn not_checked(why: &str, hints: &[String], terminal: &Terminal) -> String {
    let why = TextLine::new(Style::Flag, "not checked: ").and(Style::Plain, &clean(why));
    let mut out = terminal.lines(0, &why);
    for hint in hints {
        let hint = TextLine::new(Style::Muted, &format!("hint: {}", clean(hint)));
        out.push_str(&terminal.lines(2, &hint));
    }
    out
}
