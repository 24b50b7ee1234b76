//! The command line of plumb: one file or folder per subcommand, one place that prints, documented exit codes.

mod cli;
mod commands;
mod error;
mod exit;
mod fleet;
mod habits;
mod help;
mod interrupt;
mod limits;
mod listener;
mod locate;
mod measuring;
mod planning;
mod reading;
#[cfg(test)]
mod schemas;
mod suggestions;
mod ui;

use std::process::ExitCode;

use crate::commands::subcommand::Context;
use crate::error::CommandError;
use crate::suggestions::SuggestedStore;

/// Runs plumb with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    exit_on_panic();
    start()
}

/// Ends the process after the message of a panic, whichever thread panics: a release does not unwind. The keeper
/// notices the end and restores the machine.
#[expect(clippy::exit, reason = "nothing else ends all threads with an exit code")]
pub fn exit_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        ui::Ui::plain().error(&CommandError::bug("plumb panicked; see the message above"));
        std::process::exit(exit::Exit::Bug.number().into());
    }));
}

/// The command line that people see, with its help.
#[must_use]
pub fn command_line() -> clap::Command {
    cli::public()
}

fn start() -> ExitCode {
    interrupt::outlive_file_limit();
    let command_line = match cli::parse() {
        Ok(command_line) => command_line,
        Err(error) => return ui::usage(&error, &habits::hints_of(&error)),
    };
    let store = command_line.global.store.as_deref();
    let suggested_store = SuggestedStore {
        option: store.map(locate::store_option).unwrap_or_default(),
        takes_store: help::takes_store,
    };
    let ui = ui::Ui::new(command_line.global.json, command_line.global.quiet, suggested_store);
    let context = Context { store, ui: &ui, public_cli: cli::public };
    if let Err(error) = limits::check() {
        ui.error(&error);
        return ui.exit_with(error.exit());
    }
    // First of all: what a killed run has set would be taken for the machine's own setting, and be restored as such.
    let restores = command_line.command.as_ref().is_none_or(|(entry, _)| entry.restores_first);
    if restores {
        restore(&ui);
    }
    let outcome = match &command_line.command {
        Some((entry, arguments)) => entry.run(arguments, &context),
        None => commands::start::bare(&context),
    };
    // If the keeper was killed during the command, its changes are still in place: no other process undoes them.
    if restores {
        restore(&ui);
    }
    let exit = match outcome {
        Ok(exit) => exit,
        Err(error) => {
            ui.error(&error);
            error.exit()
        }
    };
    ui.exit_with(exit)
}

/// Restores the settings of the machine that an earlier plumb, or the keeper of this one, could not restore.
fn restore(ui: &ui::Ui) {
    match plumb_keeper::recover(&locate::root(), &locate::journals()) {
        Ok(all) => {
            for settled in all {
                ui.warn(&format!("an earlier plumb left changes on this machine: {settled}"));
            }
        }
        Err(shared) => ui.warn(&format!(
            "plumb restores nothing from journals that others may have written: {shared}"
        )),
    }
}
