//! `plumb man`: manual pages, made from the help.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use plumb_suite::nearest;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::reading::output::write_file;
use crate::ui::Ui;

/// Print a manual page, or write all of them to a folder
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb man | man -l -                       read the manual page of plumb
  plumb man baseline set | man -l -          read the page of a command
  plumb man -o ~/.local/share/man/man1       install all of them; then: man plumb-run")]
pub struct ManArgs {
    /// The subcommand [default: plumb itself]
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the man pages of plumb and all its commands to this folder
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    output: Option<PathBuf>,
}

impl Subcommand for ManArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let mut cli = (context.public_cli)();
        // Only a built command line knows names such as `plumb-baseline-set`.
        cli.build();
        match &self.output {
            Some(folder) => all(&cli, folder, context.ui)?,
            None => {
                let page = page(found(&cli, &self.command)?)?;
                context.ui.out(&String::from_utf8_lossy(&page));
            }
        }
        Ok(Exit::Fine)
    }
}

/// The subcommand of these words.
fn found<'c>(cli: &'c Command, words: &[String]) -> Result<&'c Command> {
    words.iter().try_fold(cli, |command, word| {
        command.find_subcommand(word).ok_or_else(|| unknown(command, word))
    })
}

fn unknown(command: &Command, word: &str) -> CommandError {
    let known: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let error = CommandError::usage(format!("no subcommand is called `{word}`"));
    match nearest(word, &known) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("plumb --help lists all of them"),
    }
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    let source = concat!("plumb ", env!("CARGO_PKG_VERSION"));
    let written = Man::new(command.clone()).source(source).manual("plumb").render(&mut page);
    written.map_err(|error| CommandError::bug(format!("the manual page: {error}")))?;
    let text = String::from_utf8_lossy(&page);
    // clap_mangen calls everything after the options EXTRA; readers of manuals look for EXAMPLES.
    Ok(text.replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n").into_bytes())
}

/// Writes the pages of a command and of what is below it.
fn all(cli: &Command, folder: &Path, ui: &Ui) -> Result<()> {
    fs::create_dir_all(folder).map_err(|error| {
        CommandError::file(format!("can't make the folder {}: {error}", folder.display()))
    })?;
    let mut commands = vec![cli];
    let mut next = 0;
    while let Some(command) = commands.get(next).copied() {
        commands.extend(command.get_subcommands());
        let name = command.get_display_name().unwrap_or(command.get_name());
        write_file(&folder.join(format!("{name}.1")), &page(command)?)?;
        next += 1;
    }
    ui.say(&format!("{}: {} manual pages", folder.display(), commands.len()));
    Ok(())
}
