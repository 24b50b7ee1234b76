//! A check on a terminal.

use plumb_analysis::{CheckFinding, CheckedSeries};
use plumb_text::{Style, Table, TableColumn, Terminal, TextLine};

use crate::check::view::{both, cause, closing, name, note, remarks, standing, title};
use crate::comparison::covariates::covariates_text;
use crate::figure::figure;

/// The check in lines of a terminal's width.
#[must_use]
pub fn check_card(finding: &CheckFinding, terminal: &Terminal) -> String {
    let plain = |line: &str| {
        let line = TextLine::new(Style::Plain, line);
        terminal.lines(0, &line)
    };
    let mut out = terminal.lines(0, &TextLine::new(Style::Heading, &title(finding)));
    remarks(finding).iter().for_each(|line| out.push_str(&plain(line)));
    let mut table = Table::new(vec![
        TableColumn::left("").wrapping(),
        TableColumn::right("baseline"),
        TableColumn::right("now"),
        TableColumn::right("× cost"),
        TableColumn::left(""),
    ])
    .indented(2);
    for series in &finding.series {
        table.row(cells(series, finding));
        let notes = note(series, finding).into_iter().chain(cause(series));
        for note in notes.chain(covariates_text(&series.covariates)) {
            table.across(4, TextLine::default(), TextLine::new(Style::Muted, &note));
        }
    }
    out.push_str(&terminal.table(&table));
    out.push_str(&plain(&closing(finding)));
    terminal.signs(out)
}

fn cells(series: &CheckedSeries, finding: &CheckFinding) -> Vec<TextLine> {
    let shown = figure(&series.ratio, "");
    let (word, style) = standing(series, finding);
    let ratio = format!("{} {}", shown.estimate, shown.brackets());
    let [baseline, now] = both(series);
    vec![
        TextLine::new(Style::Name, &name(series)),
        TextLine::new(Style::Plain, &baseline),
        TextLine::new(Style::Plain, &now),
        TextLine::new(Style::Estimate, &ratio),
        TextLine::new(style, &word),
    ]
}
