//! Results and samples as CSV (RFC 4180), for spreadsheets and scripts. No precision is lost:
//! numbers are written with as many digits as it takes to read the same number back.

use std::io;

use plumb_model::RunRecord;
use plumb_text::csv::{line, number, text};

use crate::entry::{Export, ExportError, ExportedContent, ExportedRuns, Holds};
use crate::rankings::{RANKING_COLUMNS, ranking_rows};
use crate::tables::{RESULT_COLUMNS, SAMPLE_COLUMNS, TableCell, result_rows, sample_rows};
use plumb_report::run::View;

pub(super) const CSV: Export = Export {
    name: "csv",
    extension: "csv",
    summary: "One row per result",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: |runs| Ok(joined(runs.views.iter().map(|view| csv(view).into_bytes()))),
};

pub(super) const SAMPLES_CSV: Export = Export {
    name: "samples-csv",
    extension: "csv",
    summary: "One row per sample",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: samples,
};

pub(super) const RANKING_CSV: Export = Export {
    name: "ranking-csv",
    extension: "csv",
    summary: "One row per ranked variant, such as a language",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: |runs| Ok(joined(runs.views.iter().map(|view| ranking_csv(view).into_bytes()))),
};

fn samples(runs: &ExportedRuns) -> Result<Vec<u8>, ExportError> {
    Ok(joined(
        runs.records
            .iter()
            .map(|record| {
                let mut out = Vec::new();
                samples_csv(record, &mut out)
                    .map_err(|error| ExportError::Broken(error.to_string()))?;
                Ok(out)
            })
            .collect::<Result<Vec<_>, _>>()?,
    ))
}

/// A row a result, with a header.
#[must_use]
pub fn csv(view: &View) -> String {
    let mut out = line(RESULT_COLUMNS.iter().map(|column| text(column)));
    for row in result_rows(view) {
        out.push_str(&line(row.iter().map(field)));
    }
    out
}

/// A row a ranked variant, with a header.
fn ranking_csv(view: &View) -> String {
    let mut out = line(RANKING_COLUMNS.iter().map(|column| text(column)));
    for row in ranking_rows(view) {
        out.push_str(&line(row.iter().map(field)));
    }
    out
}

/// Writes a row a sample and metric, with a header, one invocation after the other.
///
/// Samples of every measured invocation are written; `phase` is `warm-up` or `steady`, or `failed`
/// or `unfinished` for an invocation whose samples do not count.
///
/// # Errors
/// Those of `out`.
pub fn samples_csv(record: &RunRecord, out: &mut dyn io::Write) -> io::Result<()> {
    out.write_all(line(SAMPLE_COLUMNS.iter().map(|column| text(column))).as_bytes())?;
    sample_rows(record, &mut |row| out.write_all(line(row.iter().map(field)).as_bytes()))
}

/// A field as CSV has it.
fn field(cell: &TableCell) -> String {
    match cell {
        TableCell::Text(value) => text(value),
        TableCell::Whole(value) => value.to_string(),
        TableCell::Number(value) => number(*value),
        TableCell::Empty => String::new(),
    }
}

/// Tables as one, with one header.
fn joined(tables: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    for table in tables {
        // Every table has the same header: only the first keeps it.
        let skip = if out.is_empty() { 0 } else { first_line(&table) };
        out.extend_from_slice(&table[skip..]);
    }
    out
}

fn first_line(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| end + 1)
}
