//! `plumb suite`: suites of one's own.

mod file;
mod new;
mod resolver;

use clap::{Args, Subcommand as Commands};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{Exit, Result};

/// Write your own suite
#[derive(Debug, Args)]
pub struct SuiteArgs {
    #[command(subcommand)]
    command: SuiteCommand,
}

#[derive(Debug, Commands)]
enum SuiteCommand {
    New(new::NewArgs),
}

impl Subcommand for SuiteArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        match &self.command {
            SuiteCommand::New(args) => new::new(args, context.ui),
        }
    }
}
