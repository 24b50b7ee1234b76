//! `plumb export`: runs for other programs.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use plumb_analysis::{RunFinding, summarise};
use plumb_export::{EXPORTS, Export, ExportError, ExportedContent, Holds};
use plumb_model::RunRecord;
use plumb_report::View;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::reading::output::write_file;
use crate::reading::runs;
use crate::ui::Ui;

/// Write runs in the formats of other programs
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb export last --format samples-csv -o samples.csv       every sample
  plumb export A --format go-bench > a.txt                    then benchstat a.txt b.txt
  plumb export A B --format go-bench > ab.txt                 then benchstat -col run ab.txt
  plumb export last --format xlsx > run.xlsx                  an Excel workbook
  plumb export A B C D --format otava -o runs.csv             then otava analyze")]
pub struct ExportArgs {
    /// The runs [default: the last one]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// The output format; the default is one JSON document per run
    #[arg(long, value_parser = formats(), default_value = "json")]
    format: &'static Export,
    /// Write to this file [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The formats, as the registry lists them.
fn formats() -> impl TypedValueParser<Value = &'static Export> {
    let names = EXPORTS.iter().map(|export| PossibleValue::new(export.name).help(export.summary));
    PossibleValuesParser::new(names)
        .try_map(|name| EXPORTS.iter().find(|export| export.name == name).ok_or("unknown format"))
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
        None if args.format.content == ExportedContent::Binary => ui.out_bytes(&content),
        None => ui.out(&String::from_utf8_lossy(&content)),
    }
    Ok(Exit::Fine)
}

/// Refuses what a format can't hold, before anything is read.
fn check(args: &ExportArgs, names: &[String]) -> Result<()> {
    let Export { name, extension, .. } = args.format;
    if args.format.holds == Holds::OneRun && names.len() > 1 {
        let why = format!("a {name} file holds one run: export each run to its own file");
        return Err(CommandError::usage(why)
            .hint(format!("plumb export {} --format {name} -o run.{extension}", names[0])));
    }
    let to_terminal = args.output.is_none() && std::io::stdout().is_terminal();
    if args.format.content == ExportedContent::Binary && to_terminal {
        return Err(CommandError::usage(format!("{name} is binary: pass -o FILE, or redirect it"))
            .hint(format!("plumb export --format {name} -o runs.{extension}")));
    }
    Ok(())
}

fn render(format: &Export, records: &[RunRecord]) -> Result<Vec<u8>> {
    let findings: Vec<RunFinding> = records.iter().map(summarise).collect();
    let views: Vec<View> = findings.iter().map(View::new).collect();
    format.write(&views, records).map_err(|error| match error {
        ExportError::TooLarge(why) => {
            CommandError::usage(why).hint("--format samples-csv has no limit")
        }
        ExportError::Nothing(why) => CommandError::usage(why),
        ExportError::Broken(why) => CommandError::bug(format!("export: {why}")),
    })
}
