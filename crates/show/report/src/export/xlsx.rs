//! A workbook (ECMA-376) with the sheets `results` and `samples`: the columns of the two CSV tables.
//!
//! A cell has a type, so a text that begins with `=` is no formula. Texts stand once in a table of
//! their own, which keeps the sheets small.

use std::collections::HashMap;
use std::fmt::Write as _;

use plumb_model::RunRecord;
use plumb_text::csv::number;
use plumb_text::xml;

use super::entry::{Content, Export, ExportError, Holds};
use super::tables::{Cell, RESULT_COLUMNS, SAMPLE_COLUMNS, result_rows, sample_rows};
use super::zip::zip;
use crate::run::view::View;

pub(super) const XLSX: Export = Export {
    name: "xlsx",
    extension: "xlsx",
    summary: "An Excel workbook with results and samples",
    content: Content::Binary,
    holds: Holds::Runs,
    write: |runs| xlsx(runs.views, runs.records),
};

/// Rows that a sheet may have.
const MOST_ROWS: usize = 1 << 20;

const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
const DOCUMENT: &str = "http://schemas.openxmlformats.org/officeDocument/2006";
const SHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";

/// The runs as a workbook; `views` are those of `records`.
///
/// # Errors
/// When there are more samples than a sheet has rows.
pub fn xlsx(views: &[View], records: &[RunRecord]) -> Result<Vec<u8>, ExportError> {
    let mut texts = Texts::default();
    let mut results = Sheet::new(RESULT_COLUMNS, &mut texts);
    for row in views.iter().flat_map(|view| result_rows(view)) {
        results.row(&row, &mut texts)?;
    }
    let mut samples = Sheet::new(SAMPLE_COLUMNS, &mut texts);
    for record in records {
        sample_rows(record, &mut |row| samples.row(row, &mut texts))?;
    }
    let files = [
        ("[Content_Types].xml", content_types()),
        ("_rels/.rels", relations(&[("officeDocument", "xl/workbook.xml")])),
        ("xl/workbook.xml", workbook()),
        ("xl/_rels/workbook.xml.rels", workbook_relations()),
        ("xl/worksheets/sheet1.xml", results.end()),
        ("xl/worksheets/sheet2.xml", samples.end()),
        ("xl/sharedStrings.xml", texts.end()),
    ];
    let files = files.map(|(name, text)| (name, text.into_bytes()));
    zip(&files)
        .map_err(|_| ExportError::TooLarge("the workbook would be larger than 4 GiB".to_owned()))
}

/// Every text, once.
#[derive(Default)]
struct Texts {
    known: HashMap<String, usize>,
    items: String,
}

impl Texts {
    fn index(&mut self, text: &str) -> usize {
        if let Some(&index) = self.known.get(text) {
            return index;
        }
        let index = self.known.len();
        self.known.insert(text.to_owned(), index);
        let _ = write!(self.items, "<si><t xml:space=\"preserve\">{}</t></si>", xml(text));
        index
    }

    fn end(self) -> String {
        format!("{HEAD}<sst xmlns=\"{SHEET}\">{}</sst>", self.items)
    }
}

/// A sheet under way.
struct Sheet {
    rows: usize,
    data: String,
}

impl Sheet {
    fn new(columns: &[&str], texts: &mut Texts) -> Self {
        let mut sheet = Self { rows: 0, data: String::new() };
        let header: Vec<Cell> = columns.iter().map(|&column| column.into()).collect();
        sheet.write(&header, texts);
        sheet
    }

    fn row(&mut self, cells: &[Cell], texts: &mut Texts) -> Result<(), ExportError> {
        if self.rows == MOST_ROWS {
            let why = format!("a sheet holds {MOST_ROWS} rows, there are more samples");
            return Err(ExportError::TooLarge(why));
        }
        self.write(cells, texts);
        Ok(())
    }

    fn write(&mut self, cells: &[Cell], texts: &mut Texts) {
        self.rows += 1;
        self.data.push_str("<row>");
        for cell in cells {
            let _ = match cell {
                Cell::Text(text) if text.is_empty() => write!(self.data, "<c/>"),
                Cell::Text(text) => {
                    write!(self.data, "<c t=\"s\"><v>{}</v></c>", texts.index(text))
                }
                Cell::Whole(value) => write!(self.data, "<c><v>{value}</v></c>"),
                Cell::Number(value) if value.is_finite() => {
                    write!(self.data, "<c><v>{}</v></c>", number(*value))
                }
                Cell::Number(_) | Cell::Empty => write!(self.data, "<c/>"),
            };
        }
        self.data.push_str("</row>");
    }

    fn end(self) -> String {
        let data = self.data;
        format!("{HEAD}<worksheet xmlns=\"{SHEET}\"><sheetData>{data}</sheetData></worksheet>")
    }
}

fn content_types() -> String {
    let part = |name: &str, kind: &str| {
        format!("<Override PartName=\"/xl/{name}.xml\" ContentType=\"{TYPE}.{kind}+xml\"/>")
    };
    let parts = [
        part("workbook", "sheet.main"),
        part("worksheets/sheet1", "worksheet"),
        part("worksheets/sheet2", "worksheet"),
        part("sharedStrings", "sharedStrings"),
    ];
    format!(
        "{HEAD}<Types xmlns=\"{PACKAGE}/content-types\">\
         <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
         <Default Extension=\"xml\" ContentType=\"application/xml\"/>{}</Types>",
        parts.concat()
    )
}

fn workbook() -> String {
    format!(
        "{HEAD}<workbook xmlns=\"{SHEET}\" xmlns:r=\"{DOCUMENT}/relationships\"><sheets>\
         <sheet name=\"results\" sheetId=\"1\" r:id=\"rId1\"/>\
         <sheet name=\"samples\" sheetId=\"2\" r:id=\"rId2\"/></sheets></workbook>"
    )
}

fn workbook_relations() -> String {
    relations(&[
        ("worksheet", "worksheets/sheet1.xml"),
        ("worksheet", "worksheets/sheet2.xml"),
        ("sharedStrings", "sharedStrings.xml"),
    ])
}

fn relations(targets: &[(&str, &str)]) -> String {
    let relation = |(i, (kind, target)): (usize, &(&str, &str))| {
        let id = i + 1;
        format!(
            "<Relationship Id=\"rId{id}\" Type=\"{DOCUMENT}/relationships/{kind}\" Target=\"{target}\"/>"
        )
    };
    let relations: String = targets.iter().enumerate().map(relation).collect();
    format!("{HEAD}<Relationships xmlns=\"{PACKAGE}/relationships\">{relations}</Relationships>")
}
