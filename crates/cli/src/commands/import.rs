//! `plumb import`: takes over the runs of other stores, and the results of other tools.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use plumb_classics::{Format, Import, ImportDetails, NotRead, decode, events, read};
use plumb_model::{Description, Event, Host, Id, Stamped};
use plumb_store::{MergeReport, Store, short};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::planning::catalogue;
use crate::planning::plan::pairs;
use crate::planning::secrets;
use crate::ui::Ui;

/// The first bytes of every SQLite file.
const STORE: &[u8] = b"SQLite format 3\0";

/// The largest result of a tool that is read. Stores are not limited: SQLite reads them.
const LARGEST_BYTES: u64 = 256 << 20;

/// The content of a file that is imported.
enum ImportedFile {
    Store,
    Results(ImportedResults),
}

/// What a file of another tool holds.
struct ImportedResults {
    /// The results, each with its events.
    runs: Vec<(Import, Vec<Stamped>)>,
    /// What plumb does not take over.
    not_read: Vec<NotRead>,
}

/// Import runs from other stores, and results of other tools
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb import other.db                         the runs of another store
  plumb import fio.json bonnie.csv              results of other tools, as runs
  plumb import --label kernel=6.12 fio.json     labelled, for `plumb compare --by kernel`
  plumb import --tool-version 1.2.2 mbw.txt     mbw up to 1.3 swaps two labels

docs/imports.md lists the tools and formats. If you import a file twice, plumb stores it once.")]
pub struct ImportArgs {
    /// plumb stores, or results from other tools
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The tool that wrote the results [default: detected from the content]
    #[arg(long, value_name = "TOOL", value_parser = PossibleValuesParser::new(Format::ALL.map(Format::word)))]
    format: Option<String>,
    /// The version of the tool, for results that do not contain it
    #[arg(long, value_name = "VERSION")]
    tool_version: Option<String>,
    /// Import nothing if part of a result can't be read
    #[arg(long)]
    all: bool,
    /// Label the runs imported from other tools
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Do not redact passwords and tokens in command lines
    ///
    /// By default, plumb replaces values such as `--password=VALUE`, `TOKEN=VALUE` and `scheme://user:VALUE@host` with
    /// `***` and a digest.
    #[arg(long)]
    keep_secrets: bool,
    /// The host on which other tools' results were measured [default: unknown]
    #[arg(long, value_name = "NAME")]
    host: Option<Host>,
}

impl Subcommand for ImportArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        import(self, context.store, context.ui)
    }
}

/// Takes over every named file. All are read before any is stored.
fn import(args: &ImportArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let host = args.host.clone().unwrap_or_default();
    let details = ImportDetails { labels: pairs(&args.labels)?, host };
    let mut files = Vec::new();
    for file in &args.files {
        files.push((file, content_of(file, args, &details)?));
    }
    let store = Store::open(locate::store(store)?)?;
    for (file, content) in files {
        match content {
            ImportedFile::Store => report(ui, file, None, store.merge(file)?),
            ImportedFile::Results(results) => {
                let source = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                for (import, mut events) in results.runs {
                    if !args.keep_secrets {
                        secrets::take_out_of_import(&mut events, store.secret_salt()?)?;
                    }
                    let merged = store.import(&source.to_string_lossy(), &events)?;
                    let run = identity(&events).map(|run| ReportedRun {
                        import: &import,
                        run,
                        not_read: &results.not_read,
                    });
                    report(ui, file, run.as_ref(), merged);
                }
                if !results.not_read.is_empty() {
                    ui.warn(&format!("{}: {}", file.display(), sentence(&results.not_read)));
                }
            }
        }
    }
    Ok(Exit::Fine)
}

fn content_of(file: &Path, args: &ImportArgs, details: &ImportDetails) -> Result<ImportedFile> {
    if !file.exists() {
        return Err(CommandError::file(format!("{} does not exist", file.display())));
    }
    // The store reports what is wrong with a folder in its place.
    if file.is_dir() {
        return Ok(ImportedFile::Store);
    }
    let bytes = read_unless_store(file)
        .map_err(|error| CommandError::file(format!("can't read {}: {error}", file.display())))?;
    let Some(bytes) = bytes else { return Ok(ImportedFile::Store) };
    if bytes.len() as u64 == LARGEST_BYTES {
        return Err(CommandError::file(format!(
            "can't read {}: it is not a store, and results must be smaller than {LARGEST_BYTES} bytes",
            file.display()
        )));
    }
    results(file, args, details, &bytes)
}

/// The first `LARGEST_BYTES` of a file, or nothing if it is a store.
fn read_unless_store(file: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let mut limited = File::open(file)?.take(LARGEST_BYTES);
    let mut bytes = Vec::new();
    // A store may be far larger than memory: look at its first bytes only.
    (&mut limited).take(STORE.len() as u64).read_to_end(&mut bytes)?;
    if bytes == STORE {
        return Ok(None);
    }
    limited.read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn results(
    file: &Path,
    args: &ImportArgs,
    details: &ImportDetails,
    content: &[u8],
) -> Result<ImportedFile> {
    let wanted = args.format.as_deref();
    let format = Format::ALL.into_iter().find(|format| Some(format.word()) == wanted);
    if content.trim_ascii().is_empty() {
        return Err(CommandError::file(format!("can't import {}: it is empty", file.display())));
    }
    let text = decode(content);
    let found = read(&text, format, args.tool_version.as_deref()).map_err(|error| {
        let known = Format::ALL.map(Format::described).join(", ");
        CommandError::file(format!("can't import {}: {error}", file.display()))
            .hint(format!("plumb imports its own stores, {known}"))
    })?;
    if args.all && !found.not_read.is_empty() {
        let why = format!("can't import all of {}: {}", file.display(), sentence(&found.not_read));
        return Err(CommandError::file(why).hint("without --all, plumb imports the rest"));
    }
    let mut runs = Vec::new();
    for import in found.imports {
        let events = events(&import, content, details, &description);
        runs.push((import, events));
    }
    Ok(ImportedFile::Results(ImportedResults { runs, not_read: found.not_read }))
}

/// `3 rows not read: …`.
fn sentence(not_read: &[NotRead]) -> String {
    let count: usize = not_read.iter().map(|part| part.count).sum();
    let rows = if count == 1 { "row" } else { "rows" };
    let parts: Vec<String> = not_read.iter().map(NotRead::sentence).collect();
    format!("{count} {rows} not read: {}", parts.join("; "))
}

/// The description of a built-in workload.
fn description(id: &str) -> Option<Description> {
    Some(catalogue::builtin(id).ok()??.description)
}

/// The run that these events store.
fn identity(events: &[Stamped]) -> Option<Id> {
    events.iter().find_map(|stamped| match &stamped.event {
        Event::RunStarted { run, .. } => Some(*run),
        _ => None,
    })
}

/// One result of a file, as it is reported.
struct ReportedRun<'a> {
    import: &'a Import,
    run: Id,
    /// What the whole file has besides.
    not_read: &'a [NotRead],
}

/// Prints what an import added to the store; `result` is missing for a merged store.
fn report(ui: &Ui, file: &Path, result: Option<&ReportedRun<'_>>, merged: MergeReport) {
    let MergeReport { runs, invocations, samples } = merged;
    if ui.wants_json() {
        let not_read = result.map(|result| {
            let parts = result.not_read.iter().map(|part| {
                serde_json::json!({"what": part.what, "count": part.count, "line": part.line})
            });
            parts.collect::<Vec<_>>()
        });
        let document = serde_json::json!({
            "schema": "plumb.import/1", "file": file, "runs": runs,
            "invocations": invocations, "samples": samples,
            "tool": result.map(|result| result.import.format.word()),
            "version": result.and_then(|result| result.import.version.as_deref()),
            "run": result.map(|result| result.run.to_string()),
            "not_read": not_read,
        });
        return ui.out(&document.to_string());
    }
    let file = file.display();
    let Some(ReportedRun { import, run, .. }) = result else {
        let counts = format!("{runs} new runs, {invocations} invocations, {samples} samples");
        return ui.out(&format!("{file}: {counts}"));
    };
    let tool = import.format.word();
    let run = short(*run);
    let version = import.version.as_deref().unwrap_or("of unknown version");
    let outcome = if runs == 0 { "is already stored as run" } else { "is now run" };
    ui.out(&format!("{file}: {tool} {version} {outcome} {run}; plumb show {run}"));
}
