//! A workbook with the sheets `results` and `samples`: the columns of the two CSV tables.
//!
//! A cell has a type, so a text that begins with `=` is no formula.

use plumb_model::RunRecord;
use plumb_text::clean;
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Workbook, Worksheet, XlsxError};

use crate::entry::{Content, Export, ExportError, Holds};
use crate::tables::{Cell, RESULT_COLUMNS, SAMPLE_COLUMNS, result_rows, sample_rows};
use plumb_report::run::View;

/// Rows that a sheet may have.
const MOST_ROWS: u32 = 1 << 20;

pub(super) const XLSX: Export = Export {
    name: "xlsx",
    extension: "xlsx",
    summary: "An Excel workbook with results and samples",
    content: Content::Binary,
    holds: Holds::Runs,
    write: |runs| xlsx(runs.views, runs.records),
};

/// The runs as a workbook; `views` are those of `records`.
///
/// # Errors
/// When there are more samples than a sheet has rows.
pub fn xlsx(views: &[View], records: &[RunRecord]) -> Result<Vec<u8>, ExportError> {
    let mut results = Sheet::new("results", RESULT_COLUMNS)?;
    for row in views.iter().flat_map(|view| result_rows(view)) {
        results.row(&row)?;
    }
    // One sheet of samples for all runs, as the CSV file has: a pivot table needs one range.
    let mut samples = Sheet::new("samples", SAMPLE_COLUMNS)?;
    for record in records {
        sample_rows(record, &mut |row| samples.row(row))?;
    }
    let mut workbook = Workbook::new();
    workbook.set_properties(&properties(records)?);
    workbook.push_worksheet(results.sheet);
    workbook.push_worksheet(samples.sheet);
    workbook.save_to_buffer().map_err(refused)
}

/// Dated like the first run, so that the same runs give the same file.
fn properties(records: &[RunRecord]) -> Result<DocProperties, ExportError> {
    let started = records.first().map_or(0, |record| record.started_unix_ns.max(0));
    let date = ExcelDateTime::from_timestamp(started / 1_000_000_000).map_err(refused)?;
    Ok(DocProperties::new().set_creation_datetime(&date))
}

fn refused(error: XlsxError) -> ExportError {
    ExportError::Broken(error.to_string())
}

/// A sheet under way.
struct Sheet {
    sheet: Worksheet,
    rows: u32,
}

impl Sheet {
    fn new(name: &str, columns: &[&str]) -> Result<Self, ExportError> {
        let mut worksheet = Worksheet::new();
        worksheet.set_name(name).map_err(refused)?;
        let mut sheet = Self { sheet: worksheet, rows: 0 };
        sheet.row(&columns.iter().map(|&column| column.into()).collect::<Vec<Cell>>())?;
        Ok(sheet)
    }

    fn row(&mut self, cells: &[Cell]) -> Result<(), ExportError> {
        if self.rows == MOST_ROWS {
            let why = format!("a sheet holds {MOST_ROWS} rows, there are more samples");
            return Err(ExportError::TooLarge(why));
        }
        for (column, cell) in (0..).zip(cells) {
            self.cell(column, cell).map_err(refused)?;
        }
        self.rows += 1;
        Ok(())
    }

    fn cell(&mut self, column: u16, cell: &Cell) -> Result<(), XlsxError> {
        let sheet = &mut self.sheet;
        let row = self.rows;
        match cell {
            Cell::Text(text) if text.is_empty() => Ok(()),
            Cell::Text(text) => sheet.write_string(row, column, shown(text)).map(drop),
            #[expect(clippy::cast_precision_loss, reason = "a workbook's numbers are doubles")]
            Cell::Whole(value) => sheet.write_number(row, column, *value as f64).map(drop),
            Cell::Number(value) if value.is_finite() => {
                sheet.write_number(row, column, *value).map(drop)
            }
            Cell::Number(_) | Cell::Empty => Ok(()),
        }
    }
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
