//! `plumb export`: runs for other programs.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use plumb_analysis::{RunFinding, summarise};
use plumb_model::RunRecord;
use plumb_report::export::{bmf, go_bench, hyperfine, junit, openmetrics, otava, xlsx};
use plumb_report::{View, csv, document, samples_csv};

use crate::cli::{ExportArgs, ExportFormat};
use crate::error::{CommandError, Exit, Result};
use crate::ui::Ui;

/// Writes the named runs as one file.
pub fn export(args: &ExportArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let last = ["last".to_owned()];
    let names = if args.runs.is_empty() { &last[..] } else { &args.runs };
    check(args, names)?;
    let store = crate::commands::show::command::open(store)?;
    let runs =
        names.iter().map(|name| store.resolve(name)).collect::<std::result::Result<Vec<_>, _>>()?;
    let records = runs
        .into_iter()
        .map(|run| store.record(run))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let content = render(args.format, &records)?;
    match &args.output {
        Some(path) => write_file(path, &content)?,
        None => ui.out(&String::from_utf8_lossy(&content)),
    }
    Ok(Exit::Fine)
}

/// Refuses what a format can't hold, before anything is read.
fn check(args: &ExportArgs, names: &[String]) -> Result<()> {
    match args.format {
        ExportFormat::Bmf if names.len() > 1 => Err(CommandError::usage(
            "a file in Bencher Metric Format holds one run; export each run to its own file",
        )),
        ExportFormat::Xlsx if args.output.is_none() => {
            Err(CommandError::usage("a workbook is no text; name its file")
                .hint("plumb export --format xlsx -o runs.xlsx"))
        }
        _ => Ok(()),
    }
}

fn render(format: ExportFormat, records: &[RunRecord]) -> Result<Vec<u8>> {
    let findings: Vec<RunFinding> = records.iter().map(summarise).collect();
    let views: Vec<View> = findings.iter().map(View::new).collect();
    let text = match format {
        ExportFormat::Json => documents(&views)?,
        ExportFormat::Csv => joined(views.iter().map(|view| csv(view).into_bytes())),
        ExportFormat::SamplesCsv => {
            joined(records.iter().map(samples).collect::<Result<Vec<_>>>()?)
        }
        ExportFormat::GoBench => go_bench(&views).into_bytes(),
        ExportFormat::Hyperfine => hyperfine(records).map_err(|error| broken(&error))?.into_bytes(),
        ExportFormat::Bmf => match views.as_slice() {
            [view, ..] => bmf(view).map_err(|error| broken(&error))?.into_bytes(),
            [] => Vec::new(),
        },
        ExportFormat::Otava => otava(&views).into_bytes(),
        ExportFormat::Junit => junit(&views).into_bytes(),
        ExportFormat::Openmetrics => openmetrics(&views).into_bytes(),
        ExportFormat::Xlsx => xlsx(&views, records).map_err(|error| {
            CommandError::usage(error.to_string()).hint("--format samples-csv has no limit")
        })?,
    };
    Ok(text)
}

fn broken(error: &dyn Display) -> CommandError {
    CommandError::bug(format!("export: {error}"))
}

/// A document a run, a line each.
fn documents(views: &[View]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for view in views {
        serde_json::to_writer(&mut out, &document(view)).map_err(|error| broken(&error))?;
        out.push(b'\n');
    }
    Ok(out)
}

fn samples(record: &RunRecord) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    samples_csv(record, &mut out).map_err(|error| broken(&error))?;
    Ok(out)
}

/// Tables as one, with one header.
fn joined(tables: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    for table in tables {
        let skip = if out.is_empty() { 0 } else { first_line(&table) };
        out.extend_from_slice(&table[skip..]);
    }
    out
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
