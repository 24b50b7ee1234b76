//! `plumb fleet run`: what the nodes of a cluster are to run.

use std::collections::BTreeMap;

use clap::{Args, Command, FromArgMatches};

use crate::commands::run::RunArgs;
use crate::error::{CommandError, Result};
use crate::fleet::slurm::submit::NodeWork;
use crate::planning::points;

/// Checks what nodes are to measure, as far as this machine can know, so that no job waits in a queue only to refuse it.
///
/// # Errors
/// When `plumb run` would refuse the command, or an option means nothing on a node.
pub fn work_for_nodes(names: &[String], options: &[String]) -> Result<NodeWork> {
    let mut words = names.to_vec();
    words.extend(options.iter().cloned());
    let args = parsed(&words)?;
    args.refuse_on_nodes()?;
    let mut suites = BTreeMap::new();
    let texts = points::suites_in_files(names)?;
    for (index, name) in names.iter().enumerate() {
        if let Some(text) = texts.get(name) {
            let file = format!("suite-{index}.toml");
            suites.insert(file.clone(), text.clone());
            words[index] = file;
        }
    }
    Ok(NodeWork { run: words, suites, keeps_secrets: args.keeps_secrets() })
}

fn parsed(words: &[String]) -> Result<RunArgs> {
    let command = RunArgs::augment_args(Command::new("plumb run").no_binary_name(true));
    let matches = command.try_get_matches_from(words).map_err(|error| refused(&error))?;
    RunArgs::from_arg_matches(&matches).map_err(|error| refused(&error))
}

/// What clap says about a word, without the usage of `plumb run`.
fn refused(error: &clap::Error) -> CommandError {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    CommandError::usage(first.to_owned())
        .hint("`plumb run --help` shows the options that may follow `--`")
}
