//! `plumb import`: takes over the runs of other stores, and the results of other tools.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use plumb_classics::{Format, Import, Said, events, read};
use plumb_model::{Event, Host, Id, Stamped};
use plumb_store::{MergeReport, Store, short};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::planning::catalogue;
use crate::planning::plan::pairs;
use crate::ui::Ui;

/// How every SQLite file begins.
const STORE: &[u8] = b"SQLite format 3\0";

/// No tool's result is larger; a store may be.
const LARGEST_BYTES: u64 = 256 << 20;

/// What a file holds.
enum Holds {
    Store,
    Results(Vec<(Import, Vec<Stamped>)>),
}

/// Import runs of other stores, and results of other tools
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb import other.db                         the runs of another store
  plumb import fio.json bonnie.csv              results of other tools, as runs
  plumb import --label kernel=6.12 fio.json     labelled, for `plumb compare --by kernel`
  plumb import --tool-version 1.2.2 mbw.txt     a version with swapped labels (all up to 1.3)

plumb recognises results by their content: CSV of bonnie++ (27, 48 or 50 fields); JSON of fio, iperf3, \
hyperfine and CloudWatch; text of mbw, dd, ioping, fs_mark, sysbench, stress-ng, STREAM, hackbench, cyclictest, ping, sockperf, `perf bench` and `openssl speed -mr`. A file that is imported twice is stored once.")]
pub struct ImportArgs {
    /// Stores of plumb, or results of other tools
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The tool that wrote the results [default: recognised by their content]
    #[arg(long, value_name = "TOOL", value_parser = PossibleValuesParser::new(Format::ALL.map(Format::word)))]
    format: Option<String>,
    /// The version of the tool, for results that do not contain it
    #[arg(long, value_name = "VERSION")]
    tool_version: Option<String>,
    /// Label the runs that results of other tools become
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Name the host where results of other tools were measured [default: unknown]
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
    let said = Said { labels: pairs(&args.labels)?, host };
    let files = args.files.iter().map(|file| Ok((file, holds(file, args, &said)?)));
    let files: Vec<(&PathBuf, Holds)> = files.collect::<Result<_>>()?;
    let store = Store::open(locate::store(store)?)?;
    for (file, holds) in files {
        match holds {
            Holds::Store => say(ui, file, None, store.merge(file)?),
            Holds::Results(results) => {
                let source = std::path::absolute(file).unwrap_or_else(|_| file.clone());
                for (import, told) in results {
                    let report = store.import(&source.to_string_lossy(), &told)?;
                    say(ui, file, identity(&told).map(|run| (&import, run)), report);
                }
            }
        }
    }
    Ok(Exit::Fine)
}

fn holds(file: &Path, args: &ImportArgs, said: &Said) -> Result<Holds> {
    if !file.exists() {
        return Err(CommandError::file(format!("{} does not exist", file.display())));
    }
    // The store says what is wrong with a folder in its place.
    if file.is_dir() {
        return Ok(Holds::Store);
    }
    let unread = |why: String| CommandError::file(format!("can't read {}: {why}", file.display()));
    let mut content = Vec::new();
    let opened = File::open(file).map_err(|error| unread(error.to_string()))?;
    let mut limited = opened.take(LARGEST_BYTES);
    let mut more = |bytes| (&mut limited).take(bytes).read_to_end(&mut content);
    more(STORE.len() as u64).map_err(|error| unread(error.to_string()))?;
    if content == STORE {
        return Ok(Holds::Store);
    }
    let mut more = |bytes| (&mut limited).take(bytes).read_to_end(&mut content);
    more(LARGEST_BYTES).map_err(|error| unread(error.to_string()))?;
    if content.len() as u64 == LARGEST_BYTES {
        return Err(unread(format!("it is not a store, and has {LARGEST_BYTES} bytes or more")));
    }
    results(file, args, said, &content)
}

fn results(file: &Path, args: &ImportArgs, said: &Said, content: &[u8]) -> Result<Holds> {
    let wanted = args.format.as_deref();
    let format = Format::ALL.into_iter().find(|format| Some(format.word()) == wanted);
    let text = String::from_utf8_lossy(content);
    let imports = read(&text, format, args.tool_version.as_deref()).map_err(|error| {
        let known = Format::ALL.map(Format::described).join(", ");
        CommandError::file(format!("can't import {}: {error}", file.display()))
            .hint(format!("plumb imports its own stores, {known}"))
    })?;
    let describe = |id: &str| Some(catalogue::builtin(id).ok()??.description);
    let told = imports.into_iter().map(|import| {
        let told = events(&import, content, said, &describe);
        (import, told)
    });
    Ok(Holds::Results(told.collect()))
}

fn identity(told: &[Stamped]) -> Option<Id> {
    told.iter().find_map(|stamped| match &stamped.event {
        Event::RunStarted { run, .. } => Some(*run),
        _ => None,
    })
}

fn say(ui: &Ui, file: &Path, result: Option<(&Import, Id)>, report: MergeReport) {
    let MergeReport { runs, invocations, samples } = report;
    if ui.wants_json() {
        let document = serde_json::json!({
            "schema": "plumb.import/1", "file": file, "runs": runs,
            "invocations": invocations, "samples": samples,
            "tool": result.map(|(import, _)| import.format.word()),
            "version": result.and_then(|(import, _)| import.version.as_deref()),
            "run": result.map(|(_, run)| run.to_string()),
        });
        return ui.out(&document.to_string());
    }
    let file = file.display();
    let Some((import, run)) = result else {
        let counts = format!("{runs} new runs, {invocations} invocations, {samples} samples");
        return ui.out(&format!("{file}: {counts}"));
    };
    let (tool, run) = (import.format.word(), short(run));
    let version = import.version.as_deref().unwrap_or("of unknown version");
    let outcome = if runs == 0 { "is already stored as run" } else { "became run" };
    ui.out(&format!("{file}: {tool} {version} {outcome} {run}; plumb show {run}"));
}
