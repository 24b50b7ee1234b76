//! A crosscheck on a terminal.

use plumb_text::{Style, Table, TableColumn, Terminal, TextLine};

use crate::finding::{Agreement, Crosschecked};
use crate::view::{band, closing, ratio, remarks, side};

/// The rows in lines of a terminal's width.
#[must_use]
pub fn crosscheck_card(all: &[Crosschecked], terminal: &Terminal) -> String {
    let title = "Compared with the classic tools (ratio: cost measured by plumb over cost measured by the \
         classic)";
    let mut out = terminal.lines(0, &TextLine::new(Style::Heading, title));
    let mut table = Table::new(vec![
        TableColumn::left("").wrapping(),
        TableColumn::right("classic"),
        TableColumn::right("plumb"),
        TableColumn::right("ratio"),
        TableColumn::right("band"),
        TableColumn::left(""),
    ])
    .indented(2);
    for checked in all {
        // The classic's point has its own line: two names in one row are wider than 100 columns.
        table.row(cells(checked));
        let beside = TextLine::new(Style::Muted, &format!("compared with {}", checked.row.classic));
        table.across(4, TextLine::default(), beside);
        for remark in remarks(checked) {
            table.across(4, TextLine::default(), TextLine::new(Style::Muted, &remark));
        }
    }
    out.push_str(&terminal.table(&table));
    out.push_str(&terminal.lines(0, &TextLine::new(Style::Plain, &closing(all))));
    terminal.signs(out)
}

fn cells(checked: &Crosschecked) -> Vec<TextLine> {
    let style = match checked.outcome {
        Agreement::Agrees => Style::Good,
        Agreement::Disagrees | Agreement::Failed(_) => Style::Bad,
        Agreement::Shown => Style::Plain,
        Agreement::Inconclusive(_) | Agreement::Unsupported { .. } => Style::Flag,
    };
    vec![
        TextLine::new(Style::Name, checked.row.ours),
        TextLine::new(Style::Plain, &side(checked, 0)),
        TextLine::new(Style::Plain, &side(checked, 1)),
        TextLine::new(Style::Estimate, &ratio(checked)),
        TextLine::new(Style::Plain, &band(checked)),
        TextLine::new(style, checked.outcome.word()),
    ]
}
