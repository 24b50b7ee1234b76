//! `plumb export`: runs for other programs.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use plumb_analysis::{RunFinding, summarise};
use plumb_model::RunRecord;
use plumb_report::export::{bmf, go_bench, hyperfine, junit, openmetrics, otava, xlsx};
use plumb_report::{View, csv, document, samples_csv};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::reading::output::write_file;
use crate::reading::runs;
use crate::ui::Ui;

/// Write runs in the formats of other programs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb export last --format samples-csv -o samples.csv       every sample
  plumb export A --format go-bench > a.txt                    then benchstat a.txt b.txt
  plumb export A B --format go-bench > ab.txt                 then benchstat -col run ab.txt
  plumb export A B C D --format otava -o runs.csv             then otava analyze, with these columns")]
pub struct ExportArgs {
    /// The runs [default: the last one]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// The format
    #[arg(long, value_enum, default_value = "json")]
    format: ExportFormat,
    /// Write to this file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What `export` writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ExportFormat {
    /// plumb.run/1 documents, one line per run
    Json,
    /// One row per result
    Csv,
    /// One row per sample
    SamplesCsv,
    /// Go's benchmark format, one line per process, for benchstat
    GoBench,
    /// The JSON of `hyperfine --export-json`
    Hyperfine,
    /// Bencher Metric Format, one run
    Bmf,
    /// A table for Apache Otava, with one row per run and one column per series
    Otava,
    /// JUnit XML, with one test case per series
    Junit,
    /// OpenMetrics text, for Prometheus
    Openmetrics,
    /// An Excel workbook with results and samples
    Xlsx,
}

impl Subcommand for ExportArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        export(self, context.store, context.ui)
    }
}

/// Writes the named runs as one file.
fn export(args: &ExportArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let names = runs::or_last(&args.runs);
    check(args, &names)?;
    let store = runs::open(store)?;
    let records = runs::records(&store, &runs::ids(&store, &names)?)?;
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
        ExportFormat::Bmf if names.len() > 1 => {
            Err(CommandError::usage("a bmf file holds one run: export each run to its own file"))
        }
        ExportFormat::Xlsx if args.output.is_none() => {
            Err(CommandError::usage("xlsx is binary: pass -o FILE")
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
