//! A workbook with the sheets `results` and `samples`: the columns of the two CSV tables.
//!
//! A cell has a type, so a text that begins with `=` is no formula.

use plumb_model::RunRecord;
use plumb_report::run::View;
use plumb_text::clean;

use crate::entry::{Export, ExportError, ExportedContent, Holds};
use crate::tables::{RESULT_COLUMNS, SAMPLE_COLUMNS, TableCell, result_rows, sample_rows};
use crate::workbook::{MOST_CHARACTERS, MOST_ROWS, Sheet, workbook};

pub(super) const XLSX: Export = Export {
    name: "xlsx",
    extension: "xlsx",
    summary: "An Excel workbook with results and samples",
    content: ExportedContent::Binary,
    holds: Holds::Runs,
    write: |runs| xlsx(runs.views, runs.records),
};

/// The runs as a workbook; `views` are those of `records`.
///
/// # Errors
/// When there are more samples than a sheet has rows, or a text is longer than a cell.
pub fn xlsx(views: &[View], records: &[RunRecord]) -> Result<Vec<u8>, ExportError> {
    let mut results = new_sheet("results", 1, RESULT_COLUMNS)?;
    for cells in views.iter().flat_map(|view| result_rows(view)) {
        row(&mut results, &cells)?;
    }
    // One sheet of samples for all runs, as the CSV file has: a pivot table needs one range.
    let mut samples = new_sheet("samples", 2, SAMPLE_COLUMNS)?;
    for record in records {
        sample_rows(record, &mut |cells| row(&mut samples, cells))?;
    }
    // Dated like the first run, so that the same runs give the same file.
    let created = records.first().map_or(0, |record| record.started_unix_ns.max(0));
    workbook(vec![results, samples], created).map_err(|_| {
        ExportError::TooLarge("the samples do not fit into the 4 GiB of a workbook".into())
    })
}

fn new_sheet(name: &'static str, number: usize, columns: &[&str]) -> Result<Sheet, ExportError> {
    let mut sheet = Sheet::new(name, number);
    let titles: Vec<TableCell> = columns.iter().map(|&column| column.into()).collect();
    row(&mut sheet, &titles)?;
    Ok(sheet)
}

fn row(sheet: &mut Sheet, cells: &[TableCell]) -> Result<(), ExportError> {
    if sheet.rows() == MOST_ROWS {
        let why = format!("the samples exceed the {MOST_ROWS} rows of a sheet");
        return Err(ExportError::TooLarge(why));
    }
    sheet.begin_row();
    for (column, cell) in cells.iter().enumerate() {
        match cell {
            TableCell::Text(text) if text.is_empty() => {}
            TableCell::Text(text) => {
                let text = shown(text);
                if text.encode_utf16().count() > MOST_CHARACTERS {
                    let why = format!("a text exceeds the {MOST_CHARACTERS} characters of a cell");
                    return Err(ExportError::TooLarge(why));
                }
                sheet.text(column, &text);
            }
            #[expect(clippy::cast_precision_loss, reason = "a workbook's numbers are doubles")]
            TableCell::Whole(value) => sheet.number(column, *value as f64),
            // Excel has neither NaN nor infinity and would call the file damaged: such a cell stays empty.
            TableCell::Number(value) if value.is_finite() => sheet.number(column, *value),
            TableCell::Number(_) | TableCell::Empty => {}
        }
    }
    sheet.end_row();
    Ok(())
}

/// Text with nothing in it that XML has no form for.
fn shown(text: &str) -> String {
    let text = clean(text);
    // XML 1.0 has no form for these two, not even as a reference: Excel would call the file damaged.
    if !text.contains(['\u{fffe}', '\u{ffff}']) {
        return text;
    }
    text.replace('\u{fffe}', "\\u{fffe}").replace('\u{ffff}', "\\u{ffff}")
}
