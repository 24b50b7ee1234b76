//! A crosscheck on a terminal.

use plumb_text::{Column, Line, Style, Table, Terminal};

use crate::finding::{Crosschecked, Outcome};
use crate::view::{band, closing, ratio, remarks, side};

/// The rows in lines of a terminal's width.
#[must_use]
pub fn crosscheck_card(all: &[Crosschecked], terminal: &Terminal) -> String {
    let title = "Compared with the classic tools (ratio: cost measured by plumb over cost measured by the \
         classic)";
    let mut out = terminal.lines(0, &Line::new(Style::Heading, title));
    let mut table = Table::new(vec![
        Column::left("").wrapping(),
        Column::right("classic"),
        Column::right("plumb"),
        Column::right("ratio"),
        Column::right("band"),
        Column::left(""),
    ])
    .indented(2);
    for checked in all {
        // The classic's point has its own line: two names in one row are wider than 100 columns.
        table.row(cells(checked));
        let beside = Line::new(Style::Muted, &format!("compared with {}", checked.row.classic));
        table.across(4, Line::default(), beside);
        for remark in remarks(checked) {
            table.across(4, Line::default(), Line::new(Style::Muted, &remark));
        }
    }
    out.push_str(&terminal.table(&table));
    out.push_str(&terminal.lines(0, &Line::new(Style::Plain, &closing(all))));
    terminal.signs(out)
}

fn cells(checked: &Crosschecked) -> Vec<Line> {
    let style = match checked.outcome {
        Outcome::Agrees => Style::Good,
        Outcome::Disagrees | Outcome::Failed(_) => Style::Bad,
        Outcome::Shown => Style::Plain,
        Outcome::Inconclusive(_) | Outcome::Unsupported { .. } => Style::Flag,
    };
    vec![
        Line::new(Style::Name, checked.row.ours),
        Line::new(Style::Plain, &side(checked, 0)),
        Line::new(Style::Plain, &side(checked, 1)),
        Line::new(Style::Estimate, &ratio(checked)),
        Line::new(Style::Plain, &band(checked)),
        Line::new(style, checked.outcome.word()),
    ]
}
