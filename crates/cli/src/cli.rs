//! The top of the command line: global options, help, and the subcommands of the registry.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::commands;
use crate::commands::subcommand::Entry;

/// What every command understands.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Read and write this store [default: $XDG_DATA_HOME/plumb/plumb.db]
    #[arg(long, global = true, value_name = "FILE", env = "PLUMB_STORE")]
    pub store: Option<PathBuf>,
    /// Print one JSON document on stdout; messages go to stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// Suppress progress and messages
    #[arg(long, short, global = true)]
    pub quiet: bool,
}

const ABOUT: &str =
    "Measure how fast this machine is, how fast it should be, and whether a change made it slower";

const HELP: &str = "Examples:
  plumb run                                   measure this machine in about two minutes
  plumb run memory.copy -p method=libc,nt     measure one workload at two points
  plumb exec 'gzip -k f' 'zstd -k f'          time commands and compare them with the first
  plumb show last --in-words                  describe the last run in sentences

Exit codes: 0 success · 1 confirmed regression · 2 usage error, unknown name, command not found ·
  3 nothing could be measured · 4 a workload or command failed · 5 inconclusive (--strict) ·
  6 the store or a file failed · 70 a bug in plumb · 130 interrupted";

/// The whole command line.
pub fn command() -> Command {
    top().subcommands(commands::ALL.iter().map(Entry::command))
}

/// The command line without what only plumb starts.
pub fn public() -> Command {
    let public = commands::ALL.iter().filter(|entry| !entry.internal);
    top().subcommands(public.map(Entry::command))
}

fn top() -> Command {
    let top = Command::new("plumb").version(env!("CARGO_PKG_VERSION"));
    // The help comes last: the documentation of the options would take its place.
    Global::augment_args(top).disable_help_subcommand(true).about(ABOUT).after_help(HELP)
}

/// What was typed.
pub struct Typed {
    /// Global options.
    pub global: Global,
    /// The subcommand, with its arguments; none of bare `plumb`.
    pub command: Option<(&'static Entry, ArgMatches)>,
}

/// Reads what was typed.
///
/// # Errors
/// What clap has to say: an error, or help that was asked for.
pub fn parse() -> Result<Typed, clap::Error> {
    let matches = command().try_get_matches()?;
    let global = Global::from_arg_matches(&matches)?;
    let command = matches.subcommand().and_then(|(name, typed)| {
        let entry = commands::ALL.iter().find(|entry| entry.name == name)?;
        Some((entry, typed.clone()))
    });
    Ok(Typed { global, command })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
