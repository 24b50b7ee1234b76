//! The sums of machines that measured together: text and document.

use plumb_analysis::{
    CONFIDENCE, LEAST_OVERLAP, PointWithoutSum, TogetherFinding, TogetherFindings,
};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine, clean, counted};
use plumb_units::{Figure, percent, quantity};
use serde::Serialize;

use crate::run::interval;

/// So many machines are named in a row; of more, the fastest and the slowest are.
const MOST_NAMED: usize = 4;

/// What a point came to on all machines together.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TogetherPart {
    /// The point, on the first machine.
    pub point: String,
    /// The metric that is summed.
    pub metric: String,
    /// Unit of all values.
    pub unit: String,
    /// The median over rounds of the sum in the time that all machines measured.
    pub sum: f64,
    /// Lower end of its 95 % interval; null without one.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval; null without one.
    pub high: Option<f64>,
    /// Rounds that all machines measured.
    pub rounds: usize,
    /// Rounds without a sum: a machine failed, or did not measure at the same time.
    pub left_out: usize,
    /// The part of each machine.
    pub machines: Vec<MachineSharePart>,
    /// The common time as a share of the longest time of a machine, median over rounds.
    pub overlap: f64,
    /// Time from the first to the last start of a machine, median over rounds, in seconds.
    pub start_skew_s: f64,
    /// The largest error of a machine's clock, in seconds.
    pub clock_error_s: f64,
    /// Whether the overlap is below 0.9.
    pub unaligned: bool,
}

/// A machine's part of a sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachineSharePart {
    /// The name of the machine.
    pub name: String,
    /// The median of its rate over rounds.
    pub rate: f64,
    /// Rounds in which it began last.
    pub last_to_start: usize,
}

/// A point that machines measured together, and that has no sum.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PointWithoutSumPart {
    /// The point, on the first machine.
    pub point: String,
    /// Why it has no sum.
    pub why: String,
}

impl PointWithoutSumPart {
    pub(super) fn of(found: &PointWithoutSum) -> Self {
        Self { point: found.point.clone(), why: found.why.clone() }
    }
}

/// A sum as a part of a document.
pub(super) fn together_part(found: &TogetherFinding, names: &[&str]) -> TogetherPart {
    TogetherPart {
        point: found.point.name.clone(),
        metric: found.metric.clone(),
        unit: found.unit.clone(),
        sum: found.sum.value,
        low: found.sum.low(),
        high: found.sum.high(),
        rounds: found.rounds,
        left_out: found.left_out,
        machines: found
            .parts
            .iter()
            .map(|part| MachineSharePart {
                name: names[part.machine].to_owned(),
                rate: part.rate,
                last_to_start: part.last_to_start,
            })
            .collect(),
        overlap: found.overlap,
        start_skew_s: seconds(found.start_skew_ns),
        clock_error_s: seconds(found.clock_error_ns),
        unaligned: found.is_unaligned(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "times of a run are far below 2^53 ns")]
fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}

/// The sums as a table with a sentence on how well the machines kept together, and the points without a sum; empty if nothing was
/// measured together.
pub(super) fn together_table(
    found: &TogetherFindings,
    names: &[&str],
    terminal: &Terminal,
) -> String {
    let mut out = String::new();
    if !found.sums.is_empty() {
        let title = TextLine::new(Style::Heading, "All machines together");
        out.push_str(&terminal.lines(0, &title));
        out.push_str(&terminal.table(&sums(&found.sums, names)));
    }
    for sum in &found.sums {
        out.push_str(&terminal.lines(0, &alignment(sum, names)));
    }
    for without in &found.without_sum {
        let text = format!("{}: no sum: {}", clean(&without.point), clean(&without.why));
        out.push_str(&terminal.lines(0, &TextLine::new(Style::Muted, &text)));
    }
    out
}

fn sums(all: &[TogetherFinding], names: &[&str]) -> Table {
    let level = format!("{} interval", percent(CONFIDENCE));
    let mut table = Table::new(vec![
        TableColumn::left(""),
        TableColumn::right("sum"),
        TableColumn::left(&level).gap(1),
        TableColumn::left("unit").gap(1),
        TableColumn::right("±"),
        TableColumn::left("per machine").wrapping(),
    ]);
    for found in all {
        let ends = found.sum.interval.as_ref().map(|ends| (ends.low, ends.high));
        let ends = ends.map_err(String::as_str);
        let figure = Figure::in_unit_of(found.sum.value, found.sum.value, ends, &found.unit);
        let half_width = found.sum.relative_half_width().map(percent).unwrap_or_default();
        table.row(vec![
            TextLine::new(Style::Name, &clean(&found.point.name)),
            TextLine::new(Style::Estimate, &figure.estimate),
            interval(&figure),
            TextLine::new(Style::Muted, &figure.unit),
            TextLine::new(Style::Plain, &half_width),
            TextLine::new(Style::Plain, &shares(found, names)),
        ]);
    }
    table
}

/// The rates of the machines, in the unit of the sum.
fn shares(found: &TogetherFinding, names: &[&str]) -> String {
    let mut parts: Vec<(&str, f64)> =
        found.parts.iter().map(|part| (names[part.machine], part.rate)).collect();
    let total = parts.len();
    if total > MOST_NAMED {
        parts.sort_by(|one, other| other.1.total_cmp(&one.1));
        parts = [parts.first(), parts.last()].into_iter().flatten().copied().collect();
    }
    let mut words = Vec::new();
    for (name, rate) in parts {
        let none = Err("");
        let figure = Figure::in_unit_of(found.sum.value, rate, none, &found.unit);
        words.push(format!("{} {}", clean(name), figure.estimate));
    }
    if total > MOST_NAMED { format!("{} of {total}", words.join(" to ")) } else { words.join(", ") }
}

/// How well the machines kept together.
fn alignment(found: &TogetherFinding, names: &[&str]) -> TextLine {
    let rounds = counted(found.rounds, "round", "rounds");
    let mut text = format!(
        "{}: {rounds} of {}, starts within {} (clocks known to ±{})",
        clean(&found.point.name),
        counted(found.parts.len(), "machine", "machines"),
        quantity(seconds(found.start_skew_ns), "s"),
        quantity(seconds(found.clock_error_ns), "s"),
    );
    let last = found.parts.iter().max_by_key(|part| part.last_to_start);
    if let Some(last) = last.filter(|part| part.last_to_start * 2 > found.rounds) {
        text.push_str(&format!(", {} last", clean(names[last.machine])));
    }
    if found.left_out > 0 {
        text.push_str(&format!(
            "; {} left out, because a machine failed or was not there",
            counted(found.left_out, "round", "rounds")
        ));
    }
    if !found.is_unaligned() {
        return TextLine::new(Style::Muted, &text);
    }
    let flag = format!(
        "; unaligned: only {} of the time was measured on all machines at once (below {})",
        percent(found.overlap),
        percent(LEAST_OVERLAP)
    );
    TextLine::new(Style::Muted, &text).and(Style::Flag, &flag)
}
