//! `plumb plugin`: its arguments.

use std::path::PathBuf;

use clap::{Args, Subcommand as Commands};

use crate::commands::plugin::check::check;
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{Exit, Result};

/// Check plug-ins that you write
#[derive(Debug, Args)]
pub struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Commands)]
enum PluginCommand {
    /// Run a plug-in through the whole protocol and report every fault
    Check {
        /// Its folder, its plumb-plugin.toml, or its executable
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
