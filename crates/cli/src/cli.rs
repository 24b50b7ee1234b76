//! The top of the command line: global options, help, and the subcommands of the registry.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::commands;
use crate::commands::subcommand::RegisteredCommand;
use crate::help;
use crate::locate;

/// Options that every command takes, unless `help` lists that they mean nothing to it.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Use this store [default: $XDG_DATA_HOME/plumb/plumb.db]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = locate::STORE_VARIABLE,
        hide_short_help = true,
        display_order = 900
    )]
    pub store: Option<PathBuf>,
    /// Print one JSON document on stdout; messages go to stderr
    #[arg(long, global = true, display_order = 901)]
    pub json: bool,
    /// Suppress progress and messages
    #[arg(long, short, global = true, hide_short_help = true, display_order = 902)]
    pub quiet: bool,
}

const ABOUT: &str =
    "Measure how fast this machine is, how fast it should be, and whether a change made it slower";

const HELP: &str = "Examples:
  plumb run                                   measure this machine in two and a half minutes
  plumb run memory.copy -p method=libc,nt     measure one workload at two points
  plumb exec 'gzip -k f' 'zstd -k f'          time commands and compare them with the first
  plumb show last --in-words                  describe the last run in sentences

Exit codes: 0 success · 1 confirmed regression · 2 usage error, unknown name, command not found ·
  3 nothing could be measured · 4 a workload or command failed · 5 inconclusive (--strict) ·
  6 the store or a file failed · 70 a bug in plumb · 130 interrupted";

/// The whole command line.
pub fn command() -> Command {
    help::complete(top().subcommands(commands::ALL.iter().map(RegisteredCommand::command)))
}

/// The command line without the commands that only plumb starts.
pub fn public() -> Command {
    let public = commands::ALL.iter().filter(|entry| !entry.internal);
    help::complete(top().subcommands(public.map(RegisteredCommand::command)))
}

fn top() -> Command {
    let top = Command::new("plumb").version(env!("CARGO_PKG_VERSION"));
    // The texts come last: augment_args replaces them with the docstring of `Global`.
    Global::augment_args(top).disable_help_subcommand(true).about(ABOUT).after_long_help(HELP)
}

/// The command line of this process, parsed.
pub struct CommandLine {
    /// The options that stand before or after the subcommand.
    pub global: Global,
    /// The subcommand with its arguments, or nothing for bare `plumb`.
    pub command: Option<(&'static RegisteredCommand, ArgMatches)>,
}

/// Parses the command line of this process.
///
/// # Errors
/// An error in the arguments, or the help or version that the user asked for.
pub fn parse() -> Result<CommandLine, clap::Error> {
    let mut known = command();
    let matches = known.try_get_matches_from_mut(std::env::args_os())?;
    help::refuse_not_applicable(&mut known, &matches)?;
    let global = Global::from_arg_matches(&matches)?;
    let command = matches.subcommand().and_then(|(name, arguments)| {
        let entry = commands::ALL.iter().find(|entry| entry.name == name)?;
        Some((entry, arguments.clone()))
    });
    Ok(CommandLine { global, command })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
