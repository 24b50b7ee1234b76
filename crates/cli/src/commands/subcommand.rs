//! What a subcommand is: its arguments with their help, and what it does.

use std::path::Path;

use clap::ArgMatches;

use crate::error::{CommandError, Exit, Result};
use crate::ui::Ui;

/// What every subcommand is given besides its own arguments.
pub struct Context<'c> {
    /// The store that the user named.
    pub store: Option<&'c Path>,
    /// Where it prints.
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
pub struct Entry {
    /// What people type.
    pub name: &'static str,
    /// Whether only plumb starts it: left out of help, completions and manual pages.
    pub internal: bool,
    /// Whether plumb first restores what a killed plumb left set on the machine.
    pub restores_first: bool,
    arguments: fn(clap::Command) -> clap::Command,
    run: fn(&ArgMatches, &Context<'_>) -> Result<Exit>,
}

impl Entry {
    /// A subcommand of this name.
    pub const fn of<S: Subcommand>(name: &'static str) -> Self {
        let (arguments, run) = (S::augment_args, run::<S>);
        Self { name, internal: false, restores_first: true, arguments, run }
    }

    /// One that only plumb starts.
    pub const fn internal<S: Subcommand>(name: &'static str) -> Self {
        Self { internal: true, restores_first: false, ..Self::of::<S>(name) }
    }

    /// The same, which looks at what a killed plumb left before it is restored.
    pub const fn without_restoring(self) -> Self {
        Self { restores_first: false, ..self }
    }

    /// Its part of the command line.
    pub fn command(&self) -> clap::Command {
        (self.arguments)(clap::Command::new(self.name)).hide(self.internal)
    }

    /// Carries out what was typed.
    pub fn run(&self, typed: &ArgMatches, context: &Context<'_>) -> Result<Exit> {
        (self.run)(typed, context)
    }
}

fn run<S: Subcommand>(typed: &ArgMatches, context: &Context<'_>) -> Result<Exit> {
    // It was parsed by the same declaration.
    let arguments = S::from_arg_matches(typed).map_err(|it| CommandError::bug(it.to_string()))?;
    arguments.run(context)
}
