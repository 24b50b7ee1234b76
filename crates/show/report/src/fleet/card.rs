//! What several machines measured for one command: text and document.

use std::collections::BTreeMap;

use plumb_analysis::{CONFIDENCE, KindFinding, RunFinding, TogetherFindings};
use plumb_model::{FlagKind, FleetRecord, MachineEnd, MachineOutcome, short_id};
use plumb_text::command_line::typed;
use plumb_text::time::{date, rfc3339};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, clean, counted};
use plumb_units::{Figure, largest_of, percent};
use serde::Serialize;

use super::kinds::{KindPart, kind_part, kind_table, slow_machines};
use super::together::{PointWithoutSumPart, TogetherPart, together_part, together_table};
use crate::comparison::verdict;
use crate::json_parts::text::pretty;
use crate::run::{
    NextSteps, ResultRow, RunDocument, View, by_importance, comparison_text, document, end,
    interval, shared_confidence,
};

/// Name of the document's form.
const FLEET_SCHEMA: &str = "plumb.fleet/1";
/// Name of the form of the list.
const FLEETS_SCHEMA: &str = "plumb.fleets/1";

/// So many machines with the same trouble are named; the rest is counted.
const MOST_NAMES: usize = 3;

/// How far the run of a machine has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineStage {
    /// Its turn may still come.
    Waiting,
    /// Its run goes on.
    Running,
    /// Nothing more comes of it.
    Over,
}

/// A machine of a fleet.
#[derive(Debug, Clone)]
pub struct FleetMachine<'f> {
    /// The name by which the user asked for it.
    pub name: &'f str,
    /// What became of it; None before its end, or if the near end was killed.
    pub end: Option<&'f MachineEnd>,
    /// How far its run has come.
    pub stage: MachineStage,
    /// What it measured; None if its run never began, or was not read because there are too many machines.
    pub finding: Option<&'f RunFinding>,
}

impl FleetMachine<'_> {
    /// What became of it, in a word.
    fn outcome(&self) -> &'static str {
        match (self.end, self.stage) {
            (Some(end), _) => end.outcome.word(),
            (None, MachineStage::Running) => "running",
            (None, MachineStage::Waiting) => "waiting",
            (None, MachineStage::Over) => MachineOutcome::Interrupted.word(),
        }
    }
}

/// What is shown of a fleet.
#[derive(Debug, Clone, Copy)]
pub struct FleetView<'f> {
    /// What is stored of it.
    pub fleet: &'f FleetRecord,
    /// The machines, in the order in which they were named.
    pub machines: &'f [FleetMachine<'f>],
    /// The machines that measured, by kind.
    pub kinds: &'f [KindFinding],
    /// What the machines came to together; empty if they did not measure together.
    pub together: &'f TogetherFindings,
    /// Whether every result of every machine is shown, and not a summary of each kind.
    pub is_full: bool,
}

/// What several machines measured for one command, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.fleet/1"))]
pub struct FleetDocument {
    /// Name of the schema: `plumb.fleet/1`.
    #[cfg_attr(test, schemars(extend("const" = FLEET_SCHEMA)))]
    pub schema: &'static str,
    /// The id of the fleet: its runs have the label `fleet` with the beginning of it.
    pub fleet: String,
    /// Wall-clock start (RFC 3339, UTC).
    pub started: String,
    /// The command line.
    pub command: Vec<String>,
    /// The machines, in the order in which they were named.
    pub machines: Vec<MachinePart>,
    /// The machines that measured, by kind: what is usual for it, and which machines are slow for it.
    pub kinds: Vec<KindPart>,
    /// What the machines came to together (`--together`); empty if they did not measure together.
    pub together: Vec<TogetherPart>,
    /// The points that machines measured together, and that have no sum.
    pub without_sum: Vec<PointWithoutSumPart>,
}

/// A machine of a fleet.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachinePart {
    /// The name by which the user asked for it.
    pub name: String,
    /// `complete`, `running`, `waiting`, `interrupted`, `unreachable`, `unsupported`, `refused` or `failed`.
    #[cfg_attr(test, schemars(extend("enum" =
        ["complete", "running", "waiting", "interrupted", "unreachable", "unsupported", "refused", "failed"])))]
    pub outcome: &'static str,
    /// Why it has no result, or not a whole one.
    pub why: Option<String>,
    /// What to try.
    pub hints: Vec<String>,
    /// What it measured; null if its run never began.
    pub run: Option<RunDocument>,
}

/// All commands that ran on several machines, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.fleets/1"))]
pub struct FleetsDocument {
    /// Name of the schema: `plumb.fleets/1`.
    #[cfg_attr(test, schemars(extend("const" = FLEETS_SCHEMA)))]
    pub schema: &'static str,
    /// The fleets, oldest first.
    pub fleets: Vec<FleetPart>,
}

/// One command on several machines.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FleetPart {
    /// The id of the fleet.
    pub fleet: String,
    /// Wall-clock start (RFC 3339, UTC).
    pub started: String,
    /// The command line.
    pub command: Vec<String>,
    /// Machines that were asked.
    pub machines: usize,
    /// Machines whose run is complete.
    pub complete: usize,
}

impl FleetPart {
    fn of(fleet: &FleetRecord) -> Self {
        Self {
            fleet: fleet.fleet.to_string(),
            started: rfc3339(fleet.started_unix_ns),
            command: fleet.command.clone(),
            machines: fleet.machines.len(),
            complete: complete(fleet),
        }
    }
}

/// Machines whose run is complete.
fn complete(fleet: &FleetRecord) -> usize {
    let ends = fleet.machines.iter().filter_map(|machine| machine.end.as_ref());
    ends.filter(|end| end.outcome == MachineOutcome::Complete).count()
}

/// All commands that ran on several machines, as the text of a document.
///
/// # Errors
/// When it can't be written as JSON.
pub fn fleets_json(fleets: &[FleetRecord]) -> serde_json::Result<String> {
    pretty(&FleetsDocument {
        schema: FLEETS_SCHEMA,
        fleets: fleets.iter().map(FleetPart::of).collect(),
    })
}

/// All commands that ran on several machines, a line for each.
#[must_use]
pub fn fleets_card(fleets: &[FleetRecord], terminal: &Terminal) -> String {
    let mut table = Table::new(vec![
        TableColumn::left("fleet"),
        TableColumn::left("started (UTC)"),
        TableColumn::right("measured"),
        TableColumn::left("command").wrapping(),
    ]);
    for fleet in fleets {
        let command = typed(fleet.command.iter().map(String::as_str));
        let measured = format!("{} of {}", complete(fleet), fleet.machines.len());
        table.row(vec![
            TextLine::new(Style::Name, &short_id(fleet.fleet)),
            TextLine::new(Style::Plain, &date(fleet.started_unix_ns)),
            TextLine::new(Style::Plain, &measured),
            TextLine::new(Style::Muted, &clean(&command)),
        ]);
    }
    terminal.table(&table)
}

/// What several machines measured, as the text of a document.
///
/// # Errors
/// When it can't be written as JSON.
pub fn fleet_json(view: &FleetView<'_>) -> serde_json::Result<String> {
    let fleet = view.fleet;
    let machines = view.machines.iter().map(|machine| MachinePart {
        name: machine.name.to_owned(),
        outcome: machine.outcome(),
        why: machine.end.and_then(|end| end.why.clone()),
        hints: machine.end.map(|end| end.hints.clone()).unwrap_or_default(),
        run: machine.finding.map(|finding| document(&View::new(finding))),
    });
    let names: Vec<&str> = view.machines.iter().map(|machine| machine.name).collect();
    pretty(&FleetDocument {
        schema: FLEET_SCHEMA,
        fleet: fleet.fleet.to_string(),
        started: rfc3339(fleet.started_unix_ns),
        command: fleet.command.clone(),
        machines: machines.collect(),
        kinds: view.kinds.iter().map(kind_part).collect(),
        together: view.together.sums.iter().map(|found| together_part(found, &names)).collect(),
        without_sum: view.together.without_sum.iter().map(PointWithoutSumPart::of).collect(),
    })
}

/// What several machines measured, in lines of a terminal's width: each result with a line per machine, or a summary of each kind of
/// machine; then the machines without results.
#[must_use]
pub fn fleet_card(view: &FleetView<'_>, terminal: &Terminal, closing: &NextSteps) -> String {
    let machines = view.machines;
    let complete = MachineOutcome::Complete.word();
    let complete = machines.iter().filter(|machine| machine.outcome() == complete).count();
    let title =
        format!("{complete} of {} measured", counted(machines.len(), "machine", "machines"));
    let mut out = terminal.lines(0, &TextLine::new(Style::Heading, &title));
    for line in slow_machines(view.kinds, view.is_full) {
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, &line)));
    }
    let names: Vec<&str> = machines.iter().map(|machine| machine.name).collect();
    out.push_str(&together_table(view.together, &names, terminal));
    let views: Vec<(&str, View<'_>)> = machines
        .iter()
        .filter_map(|machine| Some((machine.name, View::new(machine.finding?))))
        .collect();
    if !view.is_full {
        for kind in view.kinds {
            out.push_str(&format!("\n{}", kind_table(kind, terminal)));
        }
    } else if !views.is_empty() {
        out.push('\n');
        out.push_str(&terminal.table(&results(&views)));
    }
    out.push_str(&comparisons(&views, terminal));
    out.push_str(&troubles(machines, terminal));
    out.push('\n');
    out.push_str(&end(closing, terminal));
    terminal.signs(out)
}

/// A row per result and machine; the name of a result stands above its machines. Figures of one result have one unit.
fn results(views: &[(&str, View<'_>)]) -> Table {
    let level = format!("{} interval", percent(CONFIDENCE));
    let mut table = Table::new(vec![
        TableColumn::left(""),
        TableColumn::right("median"),
        TableColumn::left(&level).gap(1),
        TableColumn::left("unit").gap(1),
        TableColumn::right("±"),
        TableColumn::left("flags").wrapping(),
    ]);
    for name in result_names(views) {
        let rows: Vec<(&str, &ResultRow<'_>)> = views
            .iter()
            .flat_map(|(machine, view)| view.rows.iter().map(|row| (*machine, row)))
            .filter(|(_, row)| row.finding.headline && result_name(row) == name)
            .collect();
        let size = largest_of(rows.iter().map(|(_, row)| row.finding.estimate.value));
        table.heading(TextLine::new(Style::Name, &name));
        for (machine, row) in rows {
            table.row(cells(machine, row, size));
        }
    }
    table
}

/// The verdicts of all machines, by what is compared; empty if nothing is.
fn comparisons(views: &[(&str, View<'_>)], terminal: &Terminal) -> String {
    let Some(first) = views.iter().find_map(|(_, view)| view.comparisons().first()) else {
        return String::new();
    };
    let mut names: Vec<String> = Vec::new();
    for comparison in views.iter().flat_map(|(_, view)| view.comparisons()) {
        if !names.contains(&comparison.name()) {
            names.push(comparison.name());
        }
    }
    let mut table = Table::new(vec![
        TableColumn::left(""),
        TableColumn::left(""),
        TableColumn::left("").wrapping(),
    ]);
    for name in names {
        table.heading(TextLine::new(Style::Name, &clean(&name)));
        for (machine, view) in views {
            let of_name = view.comparisons().iter().filter(|found| found.name() == name);
            for comparison in of_name {
                let is_decided = comparison.found.verdict.is_ok();
                let style = if is_decided { Style::Estimate } else { Style::Flag };
                table.row(vec![
                    TextLine::new(Style::Plain, &format!("  {}", clean(machine))),
                    TextLine::new(style, verdict(&comparison.found)),
                    TextLine::new(Style::Plain, &comparison_text(comparison)),
                ]);
            }
        }
    }
    let title = format!(
        "Compared with {}, margin {}{}",
        clean(&first.first_name()),
        percent(first.margin),
        shared_confidence(first)
    );
    let title = terminal.lines(0, &TextLine::new(Style::Heading, &title));
    format!("\n{title}{}", terminal.table(&table))
}

/// The results of all machines, in the order in which they first come.
fn result_names(views: &[(&str, View<'_>)]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for row in views.iter().flat_map(|(_, view)| &view.rows) {
        let name = result_name(row);
        if row.finding.headline && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The point; with its metric if that is not the workload's first.
fn result_name(row: &ResultRow<'_>) -> String {
    let point = clean(&row.finding.point.name);
    if row.finding.primary { point } else { format!("{point} {}", row.finding.metric) }
}

fn cells(machine: &str, row: &ResultRow<'_>, size: f64) -> Vec<TextLine> {
    let machine = TextLine::new(Style::Plain, &format!("  {}", clean(machine)));
    let shown = row.finding.shown();
    let ends = shown.interval.as_ref().map(|ends| (ends.low, ends.high)).map_err(String::as_str);
    let figure = Figure::in_unit_of(size, shown.value, ends, &row.finding.unit);
    // Unlike in the scorecard, no flag stands elsewhere, so that each row has all of its own.
    let flags: Vec<&FlagKind> = row.finding.flags.iter().map(|flag| &flag.flag).collect();
    let mut remarks: Vec<&str> = by_importance(flags).into_iter().map(FlagKind::word).collect();
    let Some(levels) = &row.levels else {
        remarks.splice(0..0, figure.missing());
        let half_width = shown.relative_half_width().map(percent).unwrap_or_default();
        return vec![
            machine,
            TextLine::new(Style::Estimate, &figure.estimate),
            interval(&figure),
            TextLine::new(Style::Muted, &figure.unit),
            TextLine::new(Style::Plain, &half_width),
            TextLine::new(Style::Flag, &remarks.join(", ")),
        ];
    };
    // A median between two levels describes neither of them.
    vec![
        machine,
        TextLine::new(Style::Estimate, &levels.both(|figure| figure.estimate.clone())),
        TextLine::new(Style::Flag, "two levels"),
        TextLine::new(Style::Muted, &levels.both(|figure| figure.unit.clone())),
        TextLine::default(),
        TextLine::new(Style::Flag, &remarks.join(", ")),
    ]
}

/// The machines whose runs are not complete, and points that could not be measured.
fn troubles(machines: &[FleetMachine<'_>], terminal: &Terminal) -> String {
    let mut out = String::new();
    for machine in machines {
        let name = clean(machine.name);
        let why = machine.end.and_then(|end| end.why.as_deref());
        let why = why.or_else(|| machine.end.is_none().then(|| machine.outcome()));
        if let Some(why) = why {
            let line =
                TextLine::new(Style::Flag, &format!("{name}: ")).and(Style::Plain, &clean(why));
            out.push_str(&terminal.lines(0, &line));
        }
        for hint in machine.end.iter().flat_map(|end| &end.hints) {
            let hint = TextLine::new(Style::Muted, &format!("hint: {}", clean(hint)));
            out.push_str(&terminal.lines(2, &hint));
        }
    }
    for (text, names) in point_troubles(machines) {
        let line = TextLine::new(Style::Flag, &format!("{}: ", some_names(&names)))
            .and(Style::Plain, &text);
        out.push_str(&terminal.lines(0, &line));
    }
    if out.is_empty() { out } else { format!("\n{out}") }
}

/// Points that could not be measured or failed, each text once, with the machines that it is of.
fn point_troubles<'m>(machines: &[FleetMachine<'m>]) -> Vec<(String, Vec<&'m str>)> {
    let mut texts: Vec<(String, Vec<&str>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for machine in machines {
        for text in machine.finding.map(troubles_of).unwrap_or_default() {
            let place = *places.entry(text.clone()).or_insert(texts.len());
            if place == texts.len() {
                texts.push((text, Vec::new()));
            }
            texts[place].1.push(machine.name);
        }
    }
    texts
}

/// The points of a machine that could not be measured or failed.
fn troubles_of(finding: &RunFinding) -> Vec<String> {
    let mut texts = Vec::new();
    for missing in &finding.unsupported {
        texts.push(format!("{} unsupported: {}", clean(&missing.point.name), clean(&missing.why)));
    }
    for failed in &finding.failed {
        texts.push(format!(
            "{} failed in {} of {} invocations: {}",
            clean(&failed.point.name),
            failed.times,
            failed.of,
            clean(&failed.why)
        ));
    }
    texts
}

/// Names in a line: `web1, web2`, or `web1, web2, web3 and 97 more`.
fn some_names(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(MOST_NAMES).map(|name| clean(name)).collect();
    let hidden = names.len().saturating_sub(MOST_NAMES);
    if hidden == 0 { shown.join(", ") } else { format!("{} and {hidden} more", shown.join(", ")) }
}
