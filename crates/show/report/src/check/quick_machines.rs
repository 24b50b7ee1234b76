//! The quick checks of several machines: text, and the document `plumb.quick-checks/1`.

use plumb_analysis::{QuickCheckFinding, QuickState};
use plumb_text::{Style, Terminal, TextLine, clean, counted};
use serde::Serialize;

use super::machines::not_checked;
use super::quick::{
    QuickBaseline, QuickCheckDocument, answer, quick_check_card, quick_check_document,
};
use crate::json_parts::text::pretty;

/// Name of the document's form.
const QUICK_CHECKS_SCHEMA: &str = "plumb.quick-checks/1";

/// The quick check of one machine.
#[derive(Debug, Clone)]
pub struct QuickCheckOfMachine<'f> {
    /// The name by which the user asked for it.
    pub name: &'f str,
    /// What was found, compared with which runs; else why it could not be checked, with what to try.
    pub found: Result<&'f (QuickCheckFinding, QuickBaseline), (String, Vec<String>)>,
}

impl QuickCheckOfMachine<'_> {
    fn is(&self, state: QuickState) -> bool {
        self.found.as_ref().is_ok_and(|(finding, _)| finding.state() == state)
    }
}

/// The quick checks of several machines, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.quick-checks/1"))]
pub struct QuickChecksDocument {
    /// Name of the schema: `plumb.quick-checks/1`.
    #[cfg_attr(test, schemars(extend("const" = QUICK_CHECKS_SCHEMA)))]
    pub schema: &'static str,
    /// The machines, in the order in which they were named.
    pub machines: Vec<MachineQuickCheckPart>,
}

/// The quick check of one machine.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachineQuickCheckPart {
    /// The name by which the user asked for it.
    pub name: String,
    /// Why it could not be checked; null if it was.
    pub why: Option<String>,
    /// What to try.
    pub hints: Vec<String>,
    /// What was found; null if it could not be checked.
    pub check: Option<QuickCheckDocument>,
}

impl MachineQuickCheckPart {
    fn of(machine: &QuickCheckOfMachine<'_>) -> Self {
        let error = machine.found.as_ref().err();
        let found = machine.found.as_ref().ok();
        Self {
            name: machine.name.to_owned(),
            why: error.map(|(why, _)| why.clone()),
            hints: error.map(|(_, hints)| hints.clone()).unwrap_or_default(),
            check: found.map(|(finding, baseline)| quick_check_document(finding, baseline)),
        }
    }
}

/// The quick checks of several machines, as the text of a document.
///
/// # Errors
/// When it can't be written as JSON.
pub fn quick_checks_json(machines: &[QuickCheckOfMachine<'_>]) -> serde_json::Result<String> {
    pretty(&QuickChecksDocument {
        schema: QUICK_CHECKS_SCHEMA,
        machines: machines.iter().map(MachineQuickCheckPart::of).collect(),
    })
}

/// The quick checks of several machines, in lines of a terminal's width: a line for each healthy machine, then all results of the
/// others.
#[must_use]
pub fn quick_checks_card(machines: &[QuickCheckOfMachine<'_>], terminal: &Terminal) -> String {
    let mut out = terminal.lines(0, &TextLine::new(Style::Heading, &title(machines)));
    for machine in machines.iter().filter(|machine| machine.is(QuickState::Healthy)) {
        let Ok((finding, _)) = machine.found else { continue };
        let name = TextLine::new(Style::Name, &clean(machine.name)).and(Style::Plain, "  ");
        out.push_str(&terminal.hanging(2, &name, &TextLine::new(Style::Plain, &answer(finding))));
    }
    for machine in machines.iter().filter(|machine| !machine.is(QuickState::Healthy)) {
        out.push('\n');
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Name, &clean(machine.name))));
        match &machine.found {
            Ok((finding, baseline)) => {
                out.push_str(&quick_check_card(finding, baseline, terminal));
            }
            Err((why, hints)) => out.push_str(&not_checked(why, hints, terminal)),
        }
    }
    terminal.signs(out)
}

/// How many machines are healthy, and how many are in each other state.
fn title(machines: &[QuickCheckOfMachine<'_>]) -> String {
    let healthy = machines.iter().filter(|machine| machine.is(QuickState::Healthy)).count();
    let mut title =
        format!("{healthy} of {} healthy", counted(machines.len(), "machine", "machines"));
    for state in
        [QuickState::Slow, QuickState::Failed, QuickState::Unsupported, QuickState::Undecided]
    {
        let count = machines.iter().filter(|machine| machine.is(state)).count();
        if count > 0 {
            title += &format!("; {count} {}", state.word());
        }
    }
    let unchecked = machines.iter().filter(|machine| machine.found.is_err()).count();
    if unchecked > 0 {
        title += &format!("; {unchecked} not checked");
    }
    title
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use insta::assert_snapshot;
    use plumb_analysis::{CostRatio, QuickCheckFinding, QuickResult, QuickState};
    use plumb_model::Id;
    use plumb_text::Terminal;

    use super::{QuickBaseline, QuickCheckOfMachine, quick_checks_card};

    fn found(state: QuickState, estimate: f64) -> (QuickCheckFinding, QuickBaseline) {
        let result = QuickResult {
            name: "memory.copy".to_owned(),
            state,
            ratio: Some(CostRatio { estimate, low: estimate / 1.1, high: estimate * 1.1 }),
            limit: 1.21,
            processes: 4,
            disturbed: 0,
            trouble: None,
        };
        let finding = QuickCheckFinding {
            method: 1,
            run: Id::from_u128(1),
            took_s: Some(21.2),
            margin: 0.05,
            results: vec![result],
            disturbed_by: BTreeMap::new(),
        };
        let baseline =
            QuickBaseline { name: "good".to_owned(), runs: 8, hosts: 8, uncalibrated: Vec::new() };
        (finding, baseline)
    }

    #[test]
    fn healthy_machines_have_a_line_and_others_their_results() {
        let slow = found(QuickState::Slow, 1.52);
        let healthy = found(QuickState::Healthy, 1.01);
        let why = ("cannot be reached".to_owned(), vec!["ssh web3 true".to_owned()]);
        let machines = [
            QuickCheckOfMachine { name: "web1", found: Ok(&slow) },
            QuickCheckOfMachine { name: "web2", found: Ok(&healthy) },
            QuickCheckOfMachine { name: "web3", found: Err(why) },
        ];
        assert_snapshot!(quick_checks_card(&machines, &Terminal::plain(100)), @"
        1 of 3 machines healthy; 1 slow; 1 not checked
          web2  Healthy after 21 s: 1 result is below its limit

        web1
        Slow after 21 s: memory.copy costs 1.52 times as much as on healthy machines (limit 1.21)
        Compared with good (8 healthy runs of 8 hosts).
                                  × cost  limit  processes
          memory.copy  1.52 [1.38, 1.67]   1.21          4  slow

        web3
        not checked: cannot be reached
          hint: ssh web3 true
        ");
    }
}
