//! How far Slurm is with a fleet: text and document.

use std::collections::BTreeMap;

use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, clean, counted};
use plumb_units::length;
use serde::Serialize;

use crate::json_parts::text::pretty;
use crate::run::{NextSteps, end};

/// Name of the document's form.
pub const FLEET_STATUS_SCHEMA: &str = "plumb.fleet-status/1";

/// Machines with trouble that the text names; the document has all.
const MOST_NAMED: usize = 20;

/// How far Slurm is with a fleet, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.fleet-status/1"))]
pub struct FleetStatusDocument {
    /// Name of the schema: `plumb.fleet-status/1`.
    #[cfg_attr(test, schemars(extend("const" = FLEET_STATUS_SCHEMA)))]
    pub schema: &'static str,
    /// The id of the fleet: its runs have the label `fleet` with the beginning of it.
    pub fleet: String,
    /// Wall-clock start (RFC 3339, UTC).
    pub started: String,
    /// Time since the start.
    pub elapsed_s: f64,
    /// The folder with the script, the logs, and the stores that nodes have finished.
    pub folder: String,
    /// Number of machines in each state that occurs; the states are those of `machines`.
    pub counts: BTreeMap<&'static str, usize>,
    /// The machines, in the order of the fleet.
    pub machines: Vec<FleetStatusMachine>,
}

/// A machine of a fleet, as far as Slurm is with it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetStatusMachine {
    /// The node, or the task of the job array as long as no node has measured it.
    pub name: String,
    /// `waiting` for its turn to be submitted, `pending` in Slurm's queue, `running`; `ended` if its job is over and `collect` has not
    /// looked for its store yet; otherwise its outcome as in `plumb.fleet/1`.
    #[cfg_attr(test, schemars(extend("enum" =
        ["waiting", "pending", "running", "ended", "complete", "interrupted", "unreachable", "unsupported", "refused", "failed"])))]
    pub state: &'static str,
    /// Its last job, as Slurm's commands take it; null before it was submitted.
    pub job: Option<String>,
    /// The number of the try, from 1; null before it was submitted.
    pub attempt: Option<u32>,
    /// The node of the last job.
    pub node: Option<String>,
    /// What is wrong, or why the job waits.
    pub why: Option<String>,
}

/// How far Slurm is with a fleet, as the text of a document.
///
/// # Errors
/// When it can't be written as JSON.
pub fn fleet_status_json(status: &FleetStatusDocument) -> serde_json::Result<String> {
    pretty(status)
}

/// How far Slurm is with a fleet, in lines of a terminal's width.
#[must_use]
pub fn fleet_status_card(
    status: &FleetStatusDocument,
    terminal: &Terminal,
    closing: &NextSteps,
) -> String {
    let complete = status.counts.get("complete").copied().unwrap_or(0);
    let machines = counted(status.machines.len(), "machine", "machines");
    let title = format!("{complete} of {machines} measured");
    let since = format!(", submitted {} ago", length(status.elapsed_s.floor()));
    let title = TextLine::new(Style::Heading, &title).and(Style::Muted, &since);
    let mut out = terminal.lines(0, &title);
    out.push('\n');
    out.push_str(&terminal.table(&counts(status)));
    out.push_str(&troubles(status, terminal));
    out.push('\n');
    out.push_str(&end(closing, terminal));
    terminal.signs(out)
}

/// A row per state.
fn counts(status: &FleetStatusDocument) -> Table {
    let mut table = Table::new(vec![TableColumn::left("state"), TableColumn::right("machines")]);
    for (state, count) in &status.counts {
        table.row(vec![
            TextLine::new(Style::Name, state),
            TextLine::new(Style::Plain, &count.to_string()),
        ]);
    }
    table
}

/// The machines with trouble, each with the reason.
fn troubles(status: &FleetStatusDocument, terminal: &Terminal) -> String {
    let troubled: Vec<&FleetStatusMachine> =
        status.machines.iter().filter(|machine| machine.why.is_some()).collect();
    let mut out = String::new();
    for machine in troubled.iter().take(MOST_NAMED) {
        let lead = format!("{}: ", clean(&machine.name));
        let state = format!("{}: ", machine.state);
        let why = clean(machine.why.as_deref().unwrap_or_default());
        let line = TextLine::new(Style::Flag, &lead).and(Style::Plain, &(state + &why));
        out.push_str(&terminal.lines(0, &line));
    }
    let hidden = troubled.len().saturating_sub(MOST_NAMED);
    if hidden > 0 {
        let line = format!("{hidden} more; --json has all of them");
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Muted, &line)));
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}
