//! The command line of plumb: one file a subcommand, one place that prints, documented exit codes.

mod cli;
mod commands;
mod error;
mod interrupt;
mod locate;
mod measuring;
mod planning;
mod quantity;
mod ui;

use std::process::ExitCode;

use clap::Parser;

use crate::error::CommandError;
pub use crate::planning::suite;

/// Runs plumb with the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let outcome = std::panic::catch_unwind(start);
    outcome.unwrap_or_else(|_| {
        ui::Ui::plain().error(&CommandError::bug("plumb panicked; what it said stands above"));
        error::Exit::Bug.code()
    })
}

fn start() -> ExitCode {
    interrupt::outlive_file_limit();
    let arguments = match cli::Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return ui::usage(&error),
    };
    let ui = ui::Ui::new(&arguments.global);
    let restores = arguments.command.as_ref().is_none_or(cli::Command::restores_first);
    if restores {
        restore(&ui);
    }
    let outcome = commands::dispatch(arguments, &ui);
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
        ui.warn(&format!("left by a plumb that was killed: {settled}"));
    }
}
