//! `plumb plugin check`: whether a plug-in does as plumb expects. Its outcomes are shown as they come.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand as Commands};
use plumb_launch::{KeeperLauncher, LauncherSettings};
use plumb_model::{KnownSecrets, Program};
use plumb_plugins::check::{Check, CheckOutcome, Checklist, Numbers, TryOut, describe, judge};
use plumb_plugins::{cache, manifest};
use plumb_units::quantity;
use serde::Serialize;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::measuring::setup::Setup;
use crate::measuring::target::{FilesPlace, Folders, folders};
use crate::planning::catalogue;
use crate::reading::output::pretty;
use crate::ui::Ui;
use crate::{interrupt, locate};

/// Check your own plug-ins
#[derive(Debug, Args)]
pub struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Commands)]
enum PluginCommand {
    /// Run a plug-in through the whole protocol and report every fault
    Check {
        /// The plug-in folder, plumb-plugin.toml or executable
        path: PathBuf,
    },
}

impl Subcommand for PluginArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        match &self.command {
            PluginCommand::Check { path } => check(path, context.ui),
        }
    }
}

/// The document of `--json`.
#[derive(Serialize)]
struct PluginCheckDocument<'c> {
    schema: &'static str,
    id: Option<&'c str>,
    checks: &'c [Check],
}

/// Checks it; every step is a line, and a failed one makes the exit code 4.
fn check(path: &Path, ui: &Ui) -> Result<Exit> {
    if !path.exists() {
        let error = CommandError::usage(format!("no plug-in at {}", path.display()));
        return Err(error.hint("a plug-in is an executable, or a folder with a plumb-plugin.toml"));
    }
    let mut show = |check: &Check| {
        if !ui.wants_json() {
            ui.out(&line(check));
        }
    };
    let mut list = Checklist::new(&mut show, Numbers::new(quantity));
    let id = checked(path, &mut list)?;
    finish(list.checks(), id.as_deref(), &format!("plumb run {}", with_slash(path)), ui)
}

/// All checks, as far as they go; the id that the plug-in gives itself.
fn checked(path: &Path, list: &mut Checklist<'_>) -> Result<Option<String>> {
    let Some(program) = program(path, list) else { return Ok(None) };
    let mut setup = Setup::start()?;
    let Some(description) = describe(&mut setup.keeper, &program, list)? else { return Ok(None) };
    judge(&description, plumb_workloads::find(&description.id).is_some(), list);
    // What was kept may be older than what the plug-in reads besides itself.
    if let Some(file) = catalogue::kept(&program) {
        cache::write(&file, &description);
    }
    if let Some(trial) = TryOut::of(&description, &program, setup.all_threads(), list) {
        trial.run(&mut launcher(setup)?, list)?;
    }
    Ok(Some(description.id))
}

fn launcher(mut setup: Setup) -> Result<KeeperLauncher> {
    let Folders { scratch, dir, .. } = folders(&mut setup.keeper, &FilesPlace::Scratch)?;
    let settings = LauncherSettings {
        dir,
        scratch,
        facts: setup.facts,
        companions: Vec::new(),
        preparation: Vec::new(),
        root: locate::root(),
        interrupted: interrupt::is_interrupted,
        seed: TryOut::SEED,
        secrets: KnownSecrets::default(),
    };
    Ok(KeeperLauncher::new(setup.keeper, settings))
}

/// How the path is typed so that `run` takes it for a path.
fn with_slash(path: &Path) -> String {
    let shown = path.display().to_string();
    if shown.contains('/') { shown } else { format!("./{shown}") }
}

fn program(path: &Path, list: &mut Checklist<'_>) -> Option<Program> {
    match manifest::program(path) {
        Ok(program) => {
            list.add("program", CheckOutcome::Ok, program.argv.join(" "));
            Some(program)
        }
        Err(error) => {
            let hint = error.hint.map_or(String::new(), |hint| format!("; hint: {hint}"));
            list.add("program", CheckOutcome::Failed, format!("{}{hint}", error.message));
            None
        }
    }
}

fn line(check: &Check) -> String {
    let word = match check.state {
        CheckOutcome::Ok => "ok",
        CheckOutcome::Warning => "warning",
        CheckOutcome::Failed => "FAILED",
        CheckOutcome::Skipped => "skipped",
    };
    format!("{word:<8} {:<15} {}", check.name, plumb_text::clean(&check.why))
}

/// The last words: a line and the next command, or the document.
fn finish(checks: &[Check], id: Option<&str>, next: &str, ui: &Ui) -> Result<Exit> {
    if ui.wants_json() {
        ui.out(&pretty(&PluginCheckDocument { schema: "plumb.plugin-check/1", id, checks })?);
    } else {
        ui.out(&last_line(checks, id, next));
    }
    Ok(if checks.iter().all(|check| check.ok) { Exit::Fine } else { Exit::Failed })
}

fn last_line(checks: &[Check], id: Option<&str>, next: &str) -> String {
    let failed = checks.iter().filter(|check| check.state == CheckOutcome::Failed).count();
    let warnings = checks.iter().filter(|check| check.state == CheckOutcome::Warning).count();
    let name = plumb_text::clean(id.unwrap_or("the plug-in"));
    match (failed, warnings) {
        (0, 0) => format!("\n{name} is fine; measure it: {next}"),
        (0, 1) => format!("\n{name} works, with a warning; measure it: {next}"),
        (0, n) => format!("\n{name} works, with {n} warnings; measure it: {next}"),
        (n, _) => format!("\n{name} failed {n} of {} checks", checks.len()),
    }
}
