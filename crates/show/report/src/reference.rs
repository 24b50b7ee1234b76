//! References, and results next to them: text and documents.

use plumb_reference::{Reference, ReferenceComparison, ReferenceFigure};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, counted};
use plumb_units::quantity;
use serde::Serialize;

use crate::figure::in_brackets;
use crate::json_parts::estimate::{EstimatePart, estimate};
use crate::json_parts::text::pretty;

/// Name of the form of a list of references.
const LIST_SCHEMA: &str = "plumb.references/1";

/// Name of the form of a comparison with a reference.
const COMPARISON_SCHEMA: &str = "plumb.reference-comparison/1";

/// Why a comparison with published figures has no verdict.
const PUBLISHED: &str = "The verdict is uncalibrated: the figures are of another machine and another time, and most of another program.";

/// Why a comparison with figures that plumb measured has no verdict.
const MEASURED: &str =
    "The verdict is uncalibrated: the figures are of other times, and maybe of another host.";

/// A reference that plumb knows, and where it comes from.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownReference {
    /// Its content, as in the file.
    pub reference: Reference,
    /// The file that a user added; None if plumb ships it.
    pub file: Option<String>,
    /// Whether it is of the kind of this machine: `plumb run` then compares with it.
    pub is_of_this_kind: bool,
}

/// All references, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.references/1"))]
pub struct ReferencesDocument {
    /// Name of the schema: `plumb.references/1`.
    #[cfg_attr(test, schemars(extend("const" = LIST_SCHEMA)))]
    pub schema: &'static str,
    /// The references by name.
    pub references: Vec<ListedReference>,
}

/// A reference in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ListedReference {
    /// The name of the reference.
    pub name: String,
    /// Whose figures these are.
    pub summary: String,
    /// When they were published or measured last; empty if that is not known.
    pub date: String,
    /// The number of figures.
    pub figures: usize,
    /// The most hosts that one of its figures is of; 0 for a published one.
    pub hosts: usize,
    /// The file that a user added; null if plumb ships it.
    pub file: Option<String>,
    /// Whether it is of the kind of this machine.
    pub of_this_kind: bool,
}

/// All references, as the text of a document.
///
/// # Errors
/// When it can't be written as JSON.
pub fn references_json(known: &[KnownReference]) -> serde_json::Result<String> {
    let references = known.iter().map(|one| ListedReference {
        name: one.reference.name.clone(),
        summary: one.reference.summary.clone(),
        date: one.reference.date.clone(),
        figures: one.reference.figures.len(),
        hosts: one.reference.hosts(),
        file: one.file.clone(),
        of_this_kind: one.is_of_this_kind,
    });
    pretty(&ReferencesDocument { schema: LIST_SCHEMA, references: references.collect() })
}

/// All references, a row each.
#[must_use]
pub fn references_card(known: &[KnownReference], terminal: &Terminal) -> String {
    let mut table = Table::new(vec![
        TableColumn::left("reference"),
        TableColumn::left("date"),
        TableColumn::right("figures"),
        TableColumn::left("summary").wrapping(),
    ]);
    for one in known {
        let reference = &one.reference;
        let of = match (&one.file, one.is_of_this_kind) {
            (None, _) => String::new(),
            (Some(_), false) => format!(" ({})", counted(reference.hosts(), "host", "hosts")),
            (Some(_), true) => format!(
                " ({}, of this kind of machine)",
                counted(reference.hosts(), "host", "hosts")
            ),
        };
        table.row(vec![
            TextLine::new(Style::Name, &reference.name),
            TextLine::new(Style::Muted, &reference.date),
            TextLine::new(Style::Plain, &reference.figures.len().to_string()),
            TextLine::new(Style::Plain, &format!("{}{of}", reference.summary)),
        ]);
    }
    terminal.table(&table)
}

/// A reference with all of its figures.
#[must_use]
pub fn reference_card(reference: &Reference, terminal: &Terminal) -> String {
    let mut out = heading(reference, terminal);
    let mut table = Table::new(vec![
        TableColumn::left("figure"),
        TableColumn::right("value"),
        TableColumn::left("compared with").wrapping(),
    ]);
    for figure in &reference.figures {
        let compared = if figure.not_comparable.is_empty() {
            format!("{}{} {}", figure.workload, settings(figure), figure.metric)
        } else {
            format!("nothing: {}", figure.not_comparable)
        };
        table.row(vec![
            TextLine::new(Style::Name, &figure.name),
            TextLine::new(Style::Estimate, &quantity(figure.value, &figure.unit)),
            TextLine::new(Style::Plain, &compared),
        ]);
        for (label, text) in [
            ("printed: ", figure.printed.clone()),
            ("recomputed: ", figure.recomputed.clone()),
            ("differs: ", figure.differs.clone()),
            ("runs: ", range_text(figure).unwrap_or_default()),
        ] {
            if !text.is_empty() {
                table.across(
                    4,
                    TextLine::new(Style::Muted, label),
                    TextLine::new(Style::Plain, &text),
                );
            }
        }
    }
    out.push('\n');
    out + &terminal.table(&table)
}

/// Its name and summary, and what a reader must know of all figures.
fn heading(reference: &Reference, terminal: &Terminal) -> String {
    let mut out = terminal.lines(
        0,
        &TextLine::new(Style::Heading, &reference.name)
            .and(Style::Plain, &format!("  {}", reference.summary)),
    );
    let hosts = match reference.hosts() {
        0 => String::new(),
        hosts if reference.is_population() => counted(hosts, "host", "hosts"),
        hosts => format!("{}: fewer than a population of 8", counted(hosts, "host", "hosts")),
    };
    let mut table = Table::new(vec![TableColumn::left(""), TableColumn::left("").wrapping()]);
    for (label, text) in [
        ("machine", &reference.machine),
        ("date", &reference.date),
        ("hosts", &hosts),
        ("source", &reference.source),
        ("method", &reference.method),
    ] {
        if !text.is_empty() {
            table.row(vec![TextLine::new(Style::Muted, label), TextLine::new(Style::Plain, text)]);
        }
    }
    out.push_str(&terminal.table(&table));
    for remark in &reference.remarks {
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, remark)));
    }
    out
}

/// ` size=4MiB method=libc`, or nothing.
fn settings(figure: &ReferenceFigure) -> String {
    figure.settings.iter().map(|(name, value)| format!(" {name}={value}")).collect()
}

/// `6 of 2 hosts, 438 to 451 ops/s`.
fn range_text(figure: &ReferenceFigure) -> Option<String> {
    let (low, high) = figure.range()?;
    let runs: usize = figure.hosts.iter().map(Vec::len).sum();
    Some(format!(
        "{runs} of {}, {} to {}",
        counted(figure.hosts.len(), "host", "hosts"),
        quantity(low, &figure.unit),
        quantity(high, &figure.unit)
    ))
}

/// Results next to a reference, as a document.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.reference-comparison/1"))]
pub struct ReferenceComparisonDocument {
    /// Name of the schema: `plumb.reference-comparison/1`.
    #[cfg_attr(test, schemars(extend("const" = COMPARISON_SCHEMA)))]
    pub schema: &'static str,
    /// The name of the reference.
    pub reference: String,
    /// The ids of the runs.
    pub runs: Vec<String>,
    /// Always `uncalibrated`: a reference has no interval.
    pub verdict: &'static str,
    /// Results next to figures.
    pub compared: Vec<ComparedFigurePart>,
    /// Figures without a result.
    pub not_compared: Vec<NotComparedFigurePart>,
}

/// A result next to a figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedFigurePart {
    /// What the figure is of.
    pub figure: String,
    /// As the source prints it.
    pub printed: String,
    /// The figure, in `unit`.
    pub reference: f64,
    /// The unit of both.
    pub unit: String,
    /// The id of the run.
    pub run: String,
    /// The name of the series.
    pub series: String,
    /// The result of the run.
    pub result: EstimatePart,
    /// Performance over that of the reference.
    pub performance: EstimatePart,
    /// How the conditions differ.
    pub differs: String,
}

/// A figure without a result.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotComparedFigurePart {
    /// What the figure is of.
    pub figure: String,
    /// The figure, in `unit`.
    pub reference: f64,
    /// The unit of the figure.
    pub unit: String,
    /// The id of the run.
    pub run: String,
    /// Why it was not compared.
    pub why: String,
}

/// Runs next to a reference, as the text of a document. Each comparison has the id of its run.
///
/// # Errors
/// When it can't be written as JSON.
pub fn reference_comparison_json(
    reference: &Reference,
    runs: &[(String, ReferenceComparison)],
) -> serde_json::Result<String> {
    let mut compared = Vec::new();
    let mut not_compared = Vec::new();
    for (run, comparison) in runs {
        for row in &comparison.compared {
            let Some(figure) = reference.figures.get(row.figure) else { continue };
            compared.push(ComparedFigurePart {
                figure: figure.name.clone(),
                printed: figure.printed.clone(),
                reference: figure.value,
                unit: figure.unit.clone(),
                run: run.clone(),
                series: row.series.clone(),
                result: estimate(&row.estimate),
                performance: estimate(&row.performance),
                differs: figure.differs.clone(),
            });
        }
        for missing in &comparison.not_compared {
            let Some(figure) = reference.figures.get(missing.figure) else { continue };
            not_compared.push(NotComparedFigurePart {
                figure: figure.name.clone(),
                reference: figure.value,
                unit: figure.unit.clone(),
                run: run.clone(),
                why: missing.why.clone(),
            });
        }
    }
    pretty(&ReferenceComparisonDocument {
        schema: COMPARISON_SCHEMA,
        reference: reference.name.clone(),
        runs: runs.iter().map(|(run, _)| run.clone()).collect(),
        verdict: "uncalibrated",
        compared,
        not_compared,
    })
}

/// Runs next to a reference, in lines of a terminal's width.
#[must_use]
pub fn reference_comparison_card(
    reference: &Reference,
    runs: &[(String, ReferenceComparison)],
    terminal: &Terminal,
) -> String {
    let mut out = heading(reference, terminal);
    for (run, comparison) in runs {
        out.push('\n');
        out.push_str(&terminal.lines(
            0,
            &TextLine::new(Style::Heading, run).and(
                Style::Plain,
                &format!(
                    ": {} of {} can be compared",
                    figures_compared(comparison),
                    counted(reference.figures.len(), "figure", "figures")
                ),
            ),
        ));
        if !comparison.compared.is_empty() {
            out.push_str(&terminal.table(&compared_table(reference, comparison)));
            let why = if reference.kind.is_some() { MEASURED } else { PUBLISHED };
            out.push_str(&terminal.lines(0, &TextLine::new(Style::Flag, why)));
        }
        out.push_str(&not_compared_lines(reference, comparison, terminal));
    }
    out
}

fn figures_compared(comparison: &ReferenceComparison) -> usize {
    let mut figures: Vec<usize> = comparison.compared.iter().map(|row| row.figure).collect();
    figures.dedup();
    figures.len()
}

fn compared_table(reference: &Reference, comparison: &ReferenceComparison) -> Table {
    let mut table = Table::new(vec![
        TableColumn::left(""),
        TableColumn::right("reference"),
        TableColumn::right("result"),
        TableColumn::left("times as good"),
        TableColumn::left("differs").wrapping(),
    ]);
    for row in &comparison.compared {
        let Some(of) = reference.figures.get(row.figure) else { continue };
        table.row(vec![
            TextLine::new(Style::Name, &of.name),
            TextLine::new(Style::Plain, &quantity(of.value, &of.unit)),
            TextLine::new(Style::Estimate, &in_brackets(&row.estimate, &of.unit)),
            TextLine::new(Style::Plain, &in_brackets(&row.performance, "")),
            TextLine::new(Style::Muted, &of.differs),
        ]);
        // A figure that plumb measured has the name of the series.
        let series = if row.series == of.name { "" } else { row.series.as_str() };
        let missing = match &row.estimate.interval {
            Ok(_) => String::new(),
            Err(why) => format!("no interval: {why}"),
        };
        let parts = [series, missing.as_str()];
        let below: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        table.across(4, TextLine::default(), TextLine::new(Style::Muted, &below.join("; ")));
    }
    table
}

fn not_compared_lines(
    reference: &Reference,
    comparison: &ReferenceComparison,
    terminal: &Terminal,
) -> String {
    if comparison.not_compared.is_empty() {
        return String::new();
    }
    let mut table = Table::new(vec![
        TableColumn::left("not compared").wrapping(),
        TableColumn::left("").wrapping(),
    ]);
    // One row per reason: often one command measures several figures.
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for missing in &comparison.not_compared {
        let Some(of) = reference.figures.get(missing.figure) else { continue };
        match reasons.iter_mut().find(|(why, _)| *why == missing.why) {
            Some((_, names)) => names.push(&of.name),
            None => reasons.push((&missing.why, vec![&of.name])),
        }
    }
    for (why, names) in reasons {
        table.row(vec![
            TextLine::new(Style::Name, &names.join(", ")),
            TextLine::new(Style::Plain, why),
        ]);
    }
    format!("\n{}", terminal.table(&table))
}

/// The reference as the text of a document: its file as JSON, `plumb.reference/1`.
///
/// # Errors
/// When it can't be written as JSON.
pub fn reference_json(reference: &Reference) -> serde_json::Result<String> {
    pretty(reference)
}
