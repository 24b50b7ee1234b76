//! `plumb path`: where the store is.

use clap::Args;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{Exit, Result};
use crate::locate;

/// Print the path of the store
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb path
  plumb path --store other.db")]
pub struct PathArgs {}

impl Subcommand for PathArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let (store, ui) = (locate::store(context.store)?, context.ui);
        let text = store.display().to_string();
        ui.out(&if ui.wants_json() { serde_json::json!(text).to_string() } else { text });
        Ok(Exit::Fine)
    }
}
