//! What a subcommand is: its arguments with their help, and what it does.

use std::path::Path;

use clap::ArgMatches;

use crate::error::{CommandError, Exit, Result};
use crate::ui::Ui;

/// What every subcommand is given besides its own arguments.
pub struct Context<'c> {
    /// The store that the user named.
    pub store: Option<&'c Path>,
    /// The only way to print.
    pub ui: &'c Ui,
    /// Makes the command line that people see, for those that describe it.
    pub public_cli: fn() -> clap::Command,
}

/// A subcommand. The documentation of the type is its help.
pub trait Subcommand: clap::Args {
    /// Carries it out.
    ///
    /// # Errors
    /// What went wrong, with its exit code and what to try.
    fn run(&self, context: &Context<'_>) -> Result<Exit>;
}

/// A line of the registry.
pub struct RegisteredCommand {
    /// The word that users type after `plumb`.
    pub name: &'static str,
    /// Whether only plumb starts it: left out of help, completions and manual pages.
    pub internal: bool,
    /// Whether plumb first restores what a killed plumb left set on the machine.
    pub restores_first: bool,
    arguments: fn(clap::Command) -> clap::Command,
    run: fn(&ArgMatches, &Context<'_>) -> Result<Exit>,
}

impl RegisteredCommand {
    /// A subcommand of this name.
    pub const fn of<S: Subcommand>(name: &'static str) -> Self {
        Self {
            name,
            internal: false,
            restores_first: true,
            arguments: S::augment_args,
            run: run::<S>,
        }
    }

    /// One that only plumb starts.
    pub const fn internal<S: Subcommand>(name: &'static str) -> Self {
        Self { internal: true, restores_first: false, ..Self::of::<S>(name) }
    }

    /// The same for a command that shows the changes a killed plumb left, before they are restored.
    pub const fn without_restoring(self) -> Self {
        Self { restores_first: false, ..self }
    }

    /// The same for one that measures, and so first restores what a killed plumb left.
    pub const fn restoring(self) -> Self {
        Self { restores_first: true, ..self }
    }

    /// The subcommand as clap knows it.
    pub fn command(&self) -> clap::Command {
        (self.arguments)(clap::Command::new(self.name)).hide(self.internal)
    }

    /// Carries out the command with the arguments that clap parsed.
    pub fn run(&self, matches: &ArgMatches, context: &Context<'_>) -> Result<Exit> {
        (self.run)(matches, context)
    }
}

fn run<S: Subcommand>(matches: &ArgMatches, context: &Context<'_>) -> Result<Exit> {
    // The same declaration parsed them, so an error here is a bug.
    let arguments =
        S::from_arg_matches(matches).map_err(|error| CommandError::bug(error.to_string()))?;
    arguments.run(context)
}
