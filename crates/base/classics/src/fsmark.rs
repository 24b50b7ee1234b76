//! The table of fs_mark.
//!
//! `#` begins its remarks: version, threads, size. Each row is a pass (`-L`): share of the filesystem in use, files so far,
//! bytes of a file, files per second, time that fs_mark itself took in µs; with `-v` times of calls follow, which are left out.

use plumb_model::Better::Higher;

use crate::numbers::positive;
use crate::{Format, Import, ImportError, ImportedInvocation, ImportedSeries};

/// How the heading begins.
pub(crate) const HEAD: &str = "FSUse%";

/// Columns of a row without `-v`.
const COLUMNS: usize = 5;

pub(crate) fn parse(text: &str) -> Result<Vec<Import>, ImportError> {
    let mut import = Import::new(Format::FsMark);
    let mut series = ImportedSeries::new("fs_mark.create", "creates files");
    let mut in_table = false;
    for line in text.lines().map(str::trim) {
        in_table |= line.starts_with(HEAD);
        if let Some(rest) = line.strip_prefix('#') {
            remark(&mut import, &mut series, rest.trim());
        } else if let Some(row) = row(line).filter(|_| in_table) {
            let row = row.ok_or_else(|| {
                ImportError::damaged(
                    Format::FsMark,
                    format!("numbers are missing in the row `{line}`"),
                )
            })?;
            series.invocations.push(ImportedInvocation::by_rate(row, 1000.0));
            series.metrics.clear();
            series.measured(("rate", "files/s", Higher), "files created per second", [row]);
        }
    }
    if series.invocations.is_empty() {
        return Err(ImportError::damaged(Format::FsMark, "no row with numbers"));
    }
    series.notes.push(crate::import::BY_RATE.to_owned());
    import.series.push(series);
    Ok(vec![import])
}

/// Reads a line before the table.
fn remark(import: &mut Import, series: &mut ImportedSeries, line: &str) {
    if let Some(rest) = line.strip_prefix("Version ") {
        let (version, rest) = rest.split_once(',').unwrap_or((rest, ""));
        import.version = Some(version.to_owned());
        series.set("threads", rest.split_whitespace().next().unwrap_or_default());
    } else if let Some(rest) = line.strip_prefix("Files info: size ") {
        series.set("size", rest.split_whitespace().next().unwrap_or_default());
    } else if let Some(rest) = line.strip_prefix("Sync method: ") {
        series.set("sync", rest.split(':').next().unwrap_or_default());
    }
}

/// Files a second of a row; None inside if it is cut off, None outside if the line is not a row.
fn row(line: &str) -> Option<Option<f64>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_row = words.len() > 1 && words.iter().all(|word| word.parse::<f64>().is_ok());
    is_row.then(|| words.get(3).filter(|_| words.len() >= COLUMNS).and_then(|rate| positive(rate)))
}
