//! A workbook in Office Open XML: sheets of texts and numbers, without formats and formulas.
//!
//! Source: ECMA-376, part 1 (SpreadsheetML). Texts are inline (18.3.1.53), so no table of strings must be kept in memory.
//! A library for this took a twelfth of the time that plumb takes to build.

use plumb_text::time::rfc3339;

use crate::zip::{Growing, TooLarge, Zip};

/// Rows that a sheet may have.
pub const MOST_ROWS: u32 = 1 << 20;
/// Characters, counted in UTF-16, that a cell may have.
pub const MOST_CHARACTERS: usize = 32_767;

const HEAD: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const TYPES: &str = "http://schemas.openxmlformats.org/package/2006/content-types";
const RELATIONS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const RELATION: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const CORE: &str = "http://schemas.openxmlformats.org/package/2006/metadata/core-properties";
const CORE_RELATION: &str =
    "http://schemas.openxmlformats.org/package/2006/relationships/metadata/core-properties";
const SPREADSHEET: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/// A sheet that grows row by row.
pub struct Sheet {
    name: &'static str,
    number: usize,
    rows: u32,
    file: Growing,
}

impl Sheet {
    /// An empty sheet: the workbook's first has number 1.
    pub fn new(name: &'static str, number: usize) -> Self {
        let mut file = Growing::new(&format!("xl/worksheets/sheet{number}.xml"));
        file.push(&format!("{HEAD}<worksheet xmlns=\"{MAIN}\"><sheetData>"));
        Self { name, number, rows: 0, file }
    }

    /// Rows so far.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Begins the next row.
    pub fn begin_row(&mut self) {
        self.rows += 1;
        self.file.push(&format!("<row r=\"{}\">", self.rows));
    }

    /// Ends the row.
    pub fn end_row(&mut self) {
        self.file.push("</row>");
    }

    /// A number in a column of the row, counted from 0.
    pub fn number(&mut self, column: usize, value: f64) {
        let cell = self.cell_name(column);
        self.file.push(&format!("<c r=\"{cell}\"><v>{value}</v></c>"));
    }

    /// A text in a column of the row, counted from 0. It has no character that XML has no form for.
    pub fn text(&mut self, column: usize, text: &str) {
        let cell = self.cell_name(column);
        // Inline strings, not a shared table: a table could only be written once all sheets are known.
        let text = escape(text);
        self.file.push(&format!(
            "<c r=\"{cell}\" t=\"inlineStr\"><is><t xml:space=\"preserve\">{text}</t></is></c>"
        ));
    }

    fn cell_name(&self, column: usize) -> String {
        format!("{}{}", column_name(column), self.rows)
    }
}

/// The letters of a column: A to Z, then AA.
fn column_name(column: usize) -> String {
    let mut letters = Vec::new();
    let mut left = column + 1;
    while left > 0 {
        left -= 1;
        letters.push(char::from(b'A' + (left % 26) as u8));
        left /= 26;
    }
    letters.iter().rev().collect()
}

/// Text as XML has it.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (place, character) in text.char_indices() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            // Excel reads `_x0041_` as `A` (ST_Xstring, 22.9.2.19), unless its underscore is written like that itself.
            '_' if is_escape(&text[place..]) => escaped.push_str("_x005F_"),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// Whether a text begins with what Excel reads as an escaped character: `_xHHHH_`.
fn is_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 7
        && bytes.starts_with(b"_x")
        && bytes[2..6].iter().all(u8::is_ascii_hexdigit)
        && bytes[6] == b'_'
}

/// A workbook with these sheets, created at this time in nanoseconds since 1970 (UTC).
///
/// # Errors
/// When the file exceeds 4 GiB.
pub fn workbook(sheets: Vec<Sheet>, created_unix_ns: i64) -> Result<Vec<u8>, TooLarge> {
    let mut zip = Zip::default();
    let mut types = String::new();
    let mut list = String::new();
    let mut relations = String::new();
    for Sheet { name, number, .. } in &sheets {
        types += &format!(
            "<Override PartName=\"/xl/worksheets/sheet{number}.xml\" ContentType=\"{SPREADSHEET}.worksheet+xml\"/>"
        );
        list += &format!("<sheet name=\"{name}\" sheetId=\"{number}\" r:id=\"rId{number}\"/>");
        relations += &format!(
            "<Relationship Id=\"rId{number}\" Type=\"{RELATION}/worksheet\" Target=\"worksheets/sheet{number}.xml\"/>"
        );
    }
    let created = rfc3339(created_unix_ns);
    let parts = [
        (
            "[Content_Types].xml",
            format!(
                "<Types xmlns=\"{TYPES}\">\
                 <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
                 <Default Extension=\"xml\" ContentType=\"application/xml\"/>\
                 <Override PartName=\"/xl/workbook.xml\" ContentType=\"{SPREADSHEET}.sheet.main+xml\"/>\
                 <Override PartName=\"/docProps/core.xml\" \
                 ContentType=\"application/vnd.openxmlformats-package.core-properties+xml\"/>{types}</Types>"
            ),
        ),
        (
            "_rels/.rels",
            format!(
                "<Relationships xmlns=\"{RELATIONS}\">\
                 <Relationship Id=\"rId1\" Type=\"{RELATION}/officeDocument\" Target=\"xl/workbook.xml\"/>\
                 <Relationship Id=\"rId2\" Type=\"{CORE_RELATION}\" Target=\"docProps/core.xml\"/></Relationships>"
            ),
        ),
        (
            "docProps/core.xml",
            format!(
                "<cp:coreProperties xmlns:cp=\"{CORE}\" xmlns:dcterms=\"http://purl.org/dc/terms/\" \
                 xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\
                 <dcterms:created xsi:type=\"dcterms:W3CDTF\">{created}</dcterms:created></cp:coreProperties>"
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATION}\"><sheets>{list}</sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!("<Relationships xmlns=\"{RELATIONS}\">{relations}</Relationships>"),
        ),
    ];
    for (name, content) in parts {
        let mut file = Growing::new(name);
        file.push(HEAD);
        file.push(&content);
        zip.add(file)?;
    }
    for mut sheet in sheets {
        sheet.file.push("</sheetData></worksheet>");
        zip.add(sheet.file)?;
    }
    zip.finish()
}

#[cfg(test)]
mod tests {
    use super::{column_name, escape};

    #[test]
    fn columns_have_letters() {
        let names = [0, 25, 26, 701, 702].map(column_name);
        assert_eq!(names, ["A", "Z", "AA", "ZZ", "AAA"]);
    }

    #[test]
    fn a_text_that_looks_like_an_escaped_character_stays_a_text() {
        assert_eq!(escape("a<b & _x0041_ _x_"), "a&lt;b &amp; _x005F_x0041_ _x_");
    }
}
