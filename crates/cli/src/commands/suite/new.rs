//! `plumb suite new`: a suite from options, resolved once before it is written.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;

use clap::Args;
use plumb_suite::{Draft, DraftEntry, TypedRules};

use crate::error::{CommandError, Exit, Result};
use crate::measuring::setup::Setup;
use crate::planning::arguments::PrepareArgs;
use crate::planning::{dry_run, plan, points, prepare};
use crate::ui::Ui;

/// What a suite is called that has neither a name nor a file.
const UNNAMED: &str = "suite";

/// Write a suite: a TOML file that names workloads, their parameters, and when each point is done
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb suite new caches.toml --workload memory.latency -p size=16KiB..64MiB/2 --precision 2%
  plumb suite new my.toml --workload cpu.sieve --workload memory.copy:method=nt --budget 10m
  plumb suite new - --workload cpu.sieve > my.toml

plumb resolves the suite before it writes it: a workload, parameter or monitor that does not exist is an error. \
docs/suites.md explains the keys that no option sets.")]
pub struct NewArgs {
    /// The file, which ends in .toml; `-` prints the suite
    #[arg(value_name = "FILE")]
    file: String,
    /// What runs of the suite are called [default: the file's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Describe the suite in one line
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    summary: String,
    /// Measure this workload or plug-in (`memory.copy`, `memory.copy:size=1MiB`); repeat it for several
    #[arg(long = "workload", value_name = "ID[:NAME=VALUE,…]")]
    workloads: Vec<String>,
    /// Set a parameter of all workloads; comma-separated values and ranges give one point each: `1..64` doubles,
    /// `4KiB..1MiB/4` takes four steps a doubling, `1..9+2` adds
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE,…")]
    params: Vec<String>,
    #[command(flatten)]
    rules: TypedRules,
    /// Limit the time of the whole run
    #[arg(long, value_name = "TIME")]
    budget: Option<String>,
    /// Run this load, monitor or preparation in the background
    #[arg(long, value_name = "WORKLOAD")]
    with: Vec<String>,
    /// Also read this monitor, or change its rate (0.1 to 100 Hz); `none` turns off the default monitors
    #[arg(long = "monitor", value_name = "NAME[=HZ]")]
    monitors: Vec<String>,
    #[command(flatten)]
    prepare: PrepareArgs,
    /// Label runs of the suite
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Compare every point with the first, in interleaved rounds
    #[arg(long)]
    against_first: bool,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

/// Writes the suite that the options describe, and says how long it takes and what runs it.
pub fn new(args: &NewArgs, ui: &Ui) -> Result<Exit> {
    let file = (args.file != "-").then_some(args.file.as_str());
    if let Some(file) = file {
        refuse_file(file, args.force)?;
    }
    if args.workloads.is_empty() {
        return Err(CommandError::usage("the suite would name no workload")
            .hint("--workload ID or --workload ID:NAME=VALUE, once for each")
            .hint("-p NAME=VALUE,… sets a parameter of all of them; `plumb list` shows both"));
    }
    let draft = draft(args)?;
    let text = draft.toml();
    let duration = resolved(&draft.name, &text)?;
    let Some(file) = file else {
        ui.out(&text);
        ui.say(&duration);
        return Ok(Exit::Fine);
    };
    write(file, &text, args.force)?;
    let word = shlex::try_quote(file).map_err(|error| CommandError::usage(error.to_string()))?;
    ui.say(&format!("{duration}\nwrote {file}; to run it: plumb run {word}"));
    Ok(Exit::Fine)
}

fn draft(args: &NewArgs) -> Result<Draft> {
    let stem = Path::new(&args.file).file_stem().filter(|_| args.file != "-");
    let default = || stem.map_or(UNNAMED.into(), |stem| stem.to_string_lossy().into_owned());
    let shared = points::parameter_sets(&args.params)?;
    let entry = |name: &String| {
        let (id, own) = points::split_point(name)?;
        // As with `run`, what -p says wins.
        let own = own.into_iter().map(|(name, value)| (name, vec![value]));
        let set = own.chain(shared.clone()).collect();
        Ok(DraftEntry { workload: id.to_owned(), set })
    };
    Ok(Draft {
        name: args.name.clone().unwrap_or_else(default),
        summary: args.summary.clone(),
        rules: args.rules.clone(),
        budget: args.budget.clone(),
        with: args.with.clone(),
        monitors: args.monitors.clone(),
        prepare: args.prepare.prepare.clone().unwrap_or_default(),
        knobs: args.prepare.set.clone(),
        labels: plan::pairs(&args.labels)?,
        against_first: args.against_first,
        entries: args.workloads.iter().map(entry).collect::<Result<_>>()?,
    })
}

/// Resolves the suite as `run` would, and says how long it takes.
fn resolved(name: &str, text: &str) -> Result<String> {
    let mut setup = Setup::start()?;
    let all = setup.all_threads();
    let mut named = points::resolve_suite(&mut setup.keeper, name, text, all)?;
    points::companions(&mut setup.keeper, &named.with(&[]), all)?;
    prepare::for_named(&mut setup.keeper, &named, &PrepareArgs::default(), all)?;
    for suite in &named.suites {
        plan::monitors("--monitor", suite.monitors.clone())?;
    }
    dry_run::suite_duration(&mut named)
}

/// Only what `run` takes for a suite, and nothing that somebody wrote already.
fn refuse_file(file: &str, force: bool) -> Result<()> {
    if !points::is_suite_file(Path::new(file)) {
        return Err(CommandError::usage(format!("`plumb run {file}` would not read a suite"))
            .hint("name a file that ends in .toml, or `-` for stdout"));
    }
    if !force && Path::new(file).exists() {
        return Err(taken(file));
    }
    Ok(())
}

fn taken(file: &str) -> CommandError {
    CommandError::usage(format!("{file} exists")).hint("name another file, or add --force")
}

fn write(file: &str, text: &str, force: bool) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(!force).create(force).truncate(force);
    let written = options.open(file).and_then(|mut open| open.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => taken(file),
        _ => CommandError::file(format!("can't write {file}: {error}")),
    })
}
