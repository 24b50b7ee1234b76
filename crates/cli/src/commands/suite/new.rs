//! `plumb suite new`: a suite from options or menus, resolved before it is written.

use std::path::Path;

use clap::Args;
use plumb_menus::Planner;
use plumb_suite::{Suite, SuiteEntry, TypedRules};

use crate::commands::suite::file::{FILES, STDOUT, refuse_file, write};
use crate::commands::suite::resolver::{Resolver, has_terminal};
use crate::error::{CommandError, Exit, Result};
use crate::planning::arguments::PrepareArgs;
use crate::planning::{plan, points};
use crate::ui::Ui;

/// What a suite is called that has neither a name nor a file.
const UNNAMED: &str = "suite";

/// Write a suite: a TOML file with workloads, their parameters and stopping rules
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb suite new
  plumb suite new caches.toml --workload memory.latency -p size=16KiB..64MiB/2 --precision 2%
  plumb suite new my.toml --workload cpu.sieve --workload memory.copy:method=nt --budget 10m
  plumb suite new - --workload cpu.sieve > my.toml

Without --workload, plumb opens menus on a terminal. docs/suites.md explains the keys that have no option.")]
pub struct NewArgs {
    /// The output file, ending in .toml; `-` prints the suite
    #[arg(value_name = "FILE")]
    file: Option<String>,
    /// Name the suite [default: the file's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Describe the suite in one line
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    summary: String,
    /// Measure this workload (`memory.copy:size=1MiB`) or plug-in; repeat for several
    #[arg(long = "workload", value_name = "ID[:NAME=VALUE,…]")]
    workloads: Vec<String>,
    /// Set a parameter; `1,2,8` and `1..64` make one point per value
    ///
    /// The range `1..64` doubles at each step, `4KiB..1MiB/4` takes four steps per doubling, `1..9+2` adds 2.
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
    /// Add a monitor, or set its rate (0.1 to 100 Hz); `none` turns off the default ones
    #[arg(long = "monitor", value_name = "NAME[=HZ]", hide_short_help = true)]
    monitors: Vec<String>,
    #[command(flatten)]
    prepare: PrepareArgs,
    /// Label each run
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    /// Compare every point with the first, in interleaved rounds
    #[arg(long)]
    against_first: bool,
    /// Overwrite the file
    #[arg(long)]
    force: bool,
}

/// Writes the suite that the options describe, or that the user makes of them in menus.
pub fn new(args: &NewArgs, ui: &Ui) -> Result<Exit> {
    if let Some(file) = &args.file {
        refuse_file(file, args.force)?;
    }
    let draft = draft(args)?;
    if draft.entries.is_empty() && args.params.is_empty() && has_terminal(ui) {
        let name = args.name.clone().or_else(|| args.file.as_deref().and_then(name_of));
        let draft = Suite { name: name.unwrap_or_default(), ..draft };
        let mut resolver = Resolver::start(ui, args.force)?;
        let made = plumb_menus::ask(draft, args.file.as_deref(), &mut resolver)?;
        let Some((mut draft, file)) = made else {
            ui.say("the suite was not saved");
            return Ok(Exit::Fine);
        };
        if draft.name.is_empty() {
            draft.name = name_of(&file).unwrap_or_else(|| UNNAMED.into());
        }
        let duration = resolver.duration(&draft)?;
        return finish(&draft, &file, args.force, &duration, ui);
    }
    if draft.entries.is_empty() {
        return Err(CommandError::usage("the suite has no workload")
            .hint("give --workload ID or --workload ID:NAME=VALUE for each")
            .hint("-p NAME=VALUE,… sets a parameter of all of them; `plumb list` shows both")
            .hint("on a terminal, `plumb suite new` alone opens menus"));
    }
    let Some(file) = &args.file else {
        return Err(CommandError::usage("no file is given for the suite").hint(FILES));
    };
    let duration = Resolver::start(ui, args.force)?.duration(&draft)?;
    finish(&draft, file, args.force, &duration, ui)
}

/// Writes the suite, and says how long it takes and what runs it.
fn finish(draft: &Suite, file: &str, force: bool, duration: &str, ui: &Ui) -> Result<Exit> {
    if file == STDOUT {
        ui.out(&draft.toml());
        ui.say(duration);
        return Ok(Exit::Fine);
    }
    write(file, &draft.toml(), force)?;
    let word = shlex::try_quote(file).map_err(|error| CommandError::usage(error.to_string()))?;
    ui.say(&format!("{duration}\nwrote {file}; to run it: plumb run {word}"));
    Ok(Exit::Fine)
}

/// The suite that the options describe.
fn draft(args: &NewArgs) -> Result<Suite> {
    let shared = points::parameter_sets(&args.params)?;
    let mut entries = Vec::new();
    for name in &args.workloads {
        let (id, mut set) = points::split_points(name)?;
        // As with `run`, what -p says wins.
        set.extend(shared.clone());
        entries.push(SuiteEntry { workload: id.to_owned(), set, ..SuiteEntry::default() });
    }
    let mut suite = Suite {
        name: args
            .name
            .clone()
            .or_else(|| args.file.as_deref().and_then(name_of))
            .unwrap_or_else(|| UNNAMED.into()),
        summary: args.summary.clone(),
        budget: args.budget.clone(),
        with: args.with.clone(),
        monitors: args.monitors.clone(),
        prepare: args.prepare.prepare.clone().unwrap_or_default(),
        knobs: args.prepare.set.clone(),
        labels: plan::pairs(&args.labels)?,
        against_first: args.against_first,
        entries,
        ..Suite::default()
    };
    suite.set_rules(args.rules.clone());
    Ok(suite)
}

/// What a suite in this file is called if the user gives no name.
fn name_of(file: &str) -> Option<String> {
    let stem = Path::new(file).file_stem().filter(|_| file != STDOUT)?;
    Some(stem.to_string_lossy().into_owned())
}
