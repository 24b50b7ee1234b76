//! A line a run, with its interval drawn on one scale.

use plumb_analysis::{Estimate, HistoryFinding};
use plumb_model::SeriesInRun;
use plumb_text::sparkline::line;
use plumb_text::time::date;
use plumb_text::{IntervalScale, Style, Table, TableColumn, Terminal, TextLine, clip, width};
use plumb_units::quantity;

use crate::figure::figure;
use crate::history::view::{closing, events_before, label_keys, label_of, title};

/// Columns of the drawing.
const NARROWEST: usize = 12;
const WIDEST: usize = 40;
/// Columns that a label may take.
const LABEL: usize = 16;
/// Blanks before every line and between columns.
const BLANKS: usize = 2;

/// The history in lines of a terminal's width; `label` is the key of the label that names runs.
#[must_use]
pub fn history_card(finding: &HistoryFinding, label: Option<&str>, terminal: &Terminal) -> String {
    let rows = rows(finding, label);
    let widths = TITLES.iter().enumerate().map(|(column, title)| {
        rows.iter().map(|row| width(&row[column])).fold(width(title), usize::max)
    });
    let taken: usize = widths.map(|width| if width > 0 { width + BLANKS } else { 0 }).sum();
    let room = terminal.width.saturating_sub(taken + BLANKS).clamp(NARROWEST, WIDEST);
    let scale = scale(finding, room);
    let mut table = Table::new(columns(finding, &rows, &scale)).indented(BLANKS);
    for (index, row) in rows.iter().enumerate() {
        for event in events_before(finding, index) {
            let lead = TextLine::new(Style::Muted, "── ");
            table.across(0, lead, TextLine::new(event.style, &event.text));
        }
        let mut cells: Vec<TextLine> =
            row.iter().zip(STYLES).map(|(cell, as_)| TextLine::new(as_, cell)).collect();
        let of = &finding.runs[index].estimate;
        cells.push(TextLine::new(Style::Sketch, &scale.draw(of.value, of.low(), of.high())));
        table.row(cells);
    }
    let line = |style, text: &str| terminal.lines(0, &TextLine::new(style, text));
    let mut out = line(Style::Heading, &title(finding));
    out.push_str(&line(Style::Sketch, &sparkline(finding, terminal)));
    out.push_str(&terminal.table(&table));
    closing(finding).iter().for_each(|text| out.push_str(&line(Style::Plain, text)));
    terminal.signs(out)
}

/// Over all estimates and a usual interval next to them, so that one run of few processes does not press all others
/// together.
fn scale(finding: &HistoryFinding, room: usize) -> IntervalScale {
    let estimates = || finding.runs.iter().map(|run| &run.estimate);
    let half = |estimate: &Estimate| Some((estimate.high()? - estimate.low()?) / 2.0);
    let mut halves: Vec<f64> = estimates().filter_map(half).collect();
    halves.sort_by(f64::total_cmp);
    let usual = halves.get(halves.len() / 2).copied().unwrap_or(0.0);
    let lowest = estimates().map(|estimate| estimate.value).fold(f64::INFINITY, f64::min);
    let highest = estimates().map(|estimate| estimate.value).fold(f64::NEG_INFINITY, f64::max);
    IntervalScale { low: lowest - usual, high: highest + usual, room }
}

/// All runs in one line, from the oldest to the newest, between the least and the greatest estimate; what
/// splits the history and if it steps are borders in it.
fn sparkline(finding: &HistoryFinding, terminal: &Terminal) -> String {
    let values: Vec<f64> = finding.runs.iter().map(|run| run.estimate.value).collect();
    let steps = finding.steps.iter().flatten().map(|step| step.at);
    let borders: Vec<usize> = steps.chain(finding.splits.iter().map(|split| split.at)).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = quantity(least, &finding.unit);
    let most = quantity(most, &finding.unit);
    let told = format!("lowest {least}, highest {most}");
    let taken = width(&told) + 2 * BLANKS + borders.len();
    let drawn = line(&values, &borders, terminal.width.saturating_sub(taken), terminal.unicode);
    if drawn.is_empty() { drawn } else { format!("{:BLANKS$}{drawn}  {told}", "") }
}

const TITLES: [&str; 5] = ["UTC", "", "median", "95 % interval", "unit"];
const STYLES: [Style; 5] =
    [Style::Plain, Style::Name, Style::Estimate, Style::Interval, Style::Muted];

/// Date, label, estimate, interval, unit.
fn rows(finding: &HistoryFinding, label: Option<&str>) -> Vec<[String; 5]> {
    let keys = label_keys(finding, label);
    let row = |run: &SeriesInRun| {
        let shown = figure(&run.estimate, &finding.unit);
        let started = date(run.run.started_unix_ns).replace(" UTC", "");
        let interval = match &shown.interval {
            Ok(_) => shown.brackets(),
            Err(_) => format!("no interval, n={}", run.process_medians.len()),
        };
        let label = plumb_text::clean(&label_of(run, &keys));
        [started, clip(&label, LABEL), shown.estimate, interval, shown.unit]
    };
    finding.runs.iter().map(row).collect()
}

fn columns(
    finding: &HistoryFinding,
    rows: &[[String; 5]],
    scale: &IntervalScale,
) -> Vec<TableColumn> {
    let low = quantity(scale.low, &finding.unit);
    let high = quantity(scale.high, &finding.unit);
    let blanks = scale.room.saturating_sub(width(&low) + width(&high)).max(1);
    let labelled = rows.iter().any(|row| !row[1].is_empty());
    let gap = |column: TableColumn, is: bool| if is { column } else { column.gap(0) };
    let [started, label, estimate, interval, unit] = TITLES;
    vec![
        TableColumn::left(started),
        gap(TableColumn::left(label), labelled),
        TableColumn::right(estimate),
        TableColumn::left(interval),
        TableColumn::left(unit),
        TableColumn::left(&format!("{low}{:blanks$}{high}", "")),
    ]
}
