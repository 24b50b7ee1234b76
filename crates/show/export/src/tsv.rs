//! Results as lines of fields that tabs separate, for cut, awk and sort.

use plumb_report::run::View;
use plumb_text::csv::number;

use crate::entry::{Content, Export, Holds};
use crate::tables::{Cell, RESULT_COLUMNS, result_rows};

pub(super) const TSV: Export = Export {
    name: "tsv",
    extension: "tsv",
    summary: "One row per result, separated by tabs",
    content: Content::Text,
    holds: Holds::Runs,
    write: |runs| Ok(tsv(runs.views).into_bytes()),
};

/// A row a result of all runs, with one header.
fn tsv(views: &[View]) -> String {
    let mut out = line(RESULT_COLUMNS.iter().map(|column| (*column).to_owned()));
    for row in views.iter().flat_map(|view| result_rows(view).collect::<Vec<_>>()) {
        out.push_str(&line(row.iter().map(field)));
    }
    out
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let fields: Vec<String> = fields.collect();
    format!("{}\n", fields.join("\t"))
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Text(value) => escaped(value),
        Cell::Whole(value) => value.to_string(),
        Cell::Number(value) => number(*value),
        Cell::Empty => String::new(),
    }
}

/// Nothing in a field may look like its end; control characters are written out, too.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '\t' | '\n' | '\r' => out.extend(c.escape_default()),
            c if c.is_control() => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn fields_hold_neither_tabs_nor_line_ends() {
        assert_eq!(escaped("a\tb\\n\r\n\u{1b}ü"), r"a\tb\\n\r\n\u{1b}ü");
    }
}
