//! The command line of plumb: a file or folder a subcommand, one place that prints, documented exit codes.

mod cli;
mod commands;
mod error;
mod interrupt;
mod listener;
mod locate;
mod measuring;
mod planning;
mod reading;
mod ui;

use std::process::ExitCode;

use crate::commands::subcommand::Context;
use crate::error::CommandError;

/// Runs plumb with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let outcome = std::panic::catch_unwind(start);
    outcome.unwrap_or_else(|_| {
        ui::Ui::plain().error(&CommandError::bug("plumb panicked; see the message above"));
        error::Exit::Bug.code()
    })
}

/// The command line that people see, with its help.
#[must_use]
pub fn command_line() -> clap::Command {
    cli::public()
}

fn start() -> ExitCode {
    interrupt::outlive_file_limit();
    let typed = match cli::parse() {
        Ok(typed) => typed,
        Err(error) => return ui::usage(&error),
    };
    let ui = ui::Ui::new(typed.global.json, typed.global.quiet);
    let store = typed.global.store.as_deref();
    let context = Context { store, ui: &ui, public_cli: cli::public };
    let restores = typed.command.as_ref().is_none_or(|(entry, _)| entry.restores_first);
    if restores {
        restore(&ui);
    }
    let outcome = match &typed.command {
        Some((entry, arguments)) => entry.run(arguments, &context),
        None => commands::start::bare(&context),
    };
    // Should the keeper have been killed, nobody else does what it can no longer do.
    if restores {
        restore(&ui);
    }
    match outcome {
        Ok(exit) => exit.code(),
        Err(error) => {
            ui.error(&error);
            error.exit().code()
        }
    }
}

/// Restores what a plumb before, or this one's keeper, changed on the machine and could not change back.
fn restore(ui: &ui::Ui) {
    for settled in plumb_keeper::recover(&locate::root(), &locate::journals()) {
        ui.warn(&format!("an earlier plumb left changes on this machine: {settled}"));
    }
}
