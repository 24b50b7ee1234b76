//! `plumb completions`: completions of commands and options for shells.

use clap::Args;
use clap_complete::Shell;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{Exit, Result};

/// Print shell completions
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb completions bash > ~/.local/share/bash-completion/completions/plumb
  plumb completions zsh > ~/.zfunc/_plumb         with `fpath+=~/.zfunc` before compinit in ~/.zshrc
  plumb completions fish > ~/.config/fish/completions/plumb.fish")]
pub struct CompletionsArgs {
    /// The target shell
    #[arg(value_parser = clap::builder::EnumValueParser::<Shell>::new())]
    shell: Shell,
}

impl Subcommand for CompletionsArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let mut script = Vec::new();
        let mut cli = (context.public_cli)();
        clap_complete::generate(self.shell, &mut cli, "plumb", &mut script);
        context.ui.out(&String::from_utf8_lossy(&script));
        Ok(Exit::Fine)
    }
}
