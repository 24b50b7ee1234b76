//! `plumb export`: runs for other programs.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use plumb_analysis::summarise;
use plumb_model::RecordSource;
use plumb_report::{View, csv, document, samples_csv};
use plumb_store::Backend;

use crate::cli::{ExportArgs, ExportFormat};
use crate::error::{CommandError, Exit, Result};
use crate::ui::Ui;

/// Writes the named runs, one after the other.
pub fn export(args: &ExportArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let store = super::show::open(store)?;
    let last = ["last".to_owned()];
    let names = if args.runs.is_empty() { &last[..] } else { &args.runs };
    let runs =
        names.iter().map(|name| store.resolve(name)).collect::<std::result::Result<Vec<_>, _>>()?;
    let mut text = Vec::new();
    for (i, run) in runs.into_iter().enumerate() {
        let record = store.record(run)?;
        let mut part = Vec::new();
        write_run(&record, args.format, &mut part)?;
        // One header for all runs.
        let skip = if i > 0 && args.format != ExportFormat::Json { first_line(&part) } else { 0 };
        text.extend_from_slice(&part[skip..]);
    }
    match &args.output {
        Some(path) => write_file(path, &text)?,
        None => ui.out(&String::from_utf8_lossy(&text)),
    }
    Ok(Exit::Fine)
}

fn write_run(
    record: &plumb_model::RunRecord,
    format: ExportFormat,
    out: &mut Vec<u8>,
) -> Result<()> {
    let broken = |error: &dyn std::fmt::Display| CommandError::bug(format!("export: {error}"));
    match format {
        ExportFormat::SamplesCsv => samples_csv(record, out).map_err(|error| broken(&error)),
        ExportFormat::Csv => {
            let finding = summarise(record);
            out.extend_from_slice(csv(&View::new(&finding)).as_bytes());
            Ok(())
        }
        ExportFormat::Json => {
            let finding = summarise(record);
            let document = document(&View::new(&finding));
            serde_json::to_writer(&mut *out, &document).map_err(|error| broken(&error))?;
            out.push(b'\n');
            Ok(())
        }
    }
}

fn first_line(text: &[u8]) -> usize {
    text.iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| end + 1)
}

/// Writes a file.
///
/// # Errors
/// When it can't be written.
pub fn write_file(path: &Path, text: &[u8]) -> Result<()> {
    let trouble = |error: std::io::Error| {
        CommandError::file(format!("{} can't be written: {error}", path.display()))
    };
    let mut file = BufWriter::new(File::create(path).map_err(trouble)?);
    file.write_all(text).and_then(|()| file.flush()).map_err(trouble)
}
