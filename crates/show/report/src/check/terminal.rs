//! A check on a terminal.

use plumb_analysis::{CheckFinding, CheckedSeries};
use plumb_text::{Column, Line, Style, Table, Terminal};
use plumb_units::quantity;

use crate::check::view::{closing, name, note, remarks, standing, title};
use crate::comparison::covariates::covariates_text;
use crate::figure::figure;

/// The check in lines of a terminal's width.
#[must_use]
pub fn check_card(finding: &CheckFinding, terminal: &Terminal) -> String {
    let plain = |line: &str| {
        let line = Line::new(Style::Plain, line);
        terminal.lines(0, &line)
    };
    let mut out = terminal.lines(0, &Line::new(Style::Heading, &title(finding)));
    remarks(finding).iter().for_each(|line| out.push_str(&plain(line)));
    let mut table = Table::new(vec![
        Column::left("").wrapping(),
        Column::right("baseline"),
        Column::right("now"),
        Column::right("× cost"),
        Column::left(""),
    ])
    .indented(2);
    for series in &finding.series {
        table.row(cells(series, finding));
        for note in note(series).into_iter().chain(covariates_text(&series.covariates)) {
            table.across(4, Line::default(), Line::new(Style::Muted, &note));
        }
    }
    out.push_str(&terminal.table(&table));
    out.push_str(&plain(&closing(finding)));
    terminal.signs(out)
}

fn cells(series: &CheckedSeries, finding: &CheckFinding) -> Vec<Line> {
    let shown = figure(&series.ratio, "");
    let (word, style) = standing(series, finding);
    let ratio = format!("{} {}", shown.estimate, shown.brackets());
    vec![
        Line::new(Style::Name, &name(series)),
        Line::new(Style::Plain, &quantity(series.baseline, &series.unit)),
        Line::new(Style::Plain, &quantity(series.now, &series.unit)),
        Line::new(Style::Estimate, &ratio),
        Line::new(style, &word),
    ]
}
