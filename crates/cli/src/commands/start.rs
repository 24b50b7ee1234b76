//! Bare `plumb`: what it is, and the next command to type.

use std::path::Path;

use clap::CommandFactory;
use plumb_store::Store;

use crate::cli::Arguments;
use crate::error::{Exit, Result};
use crate::locate;
use crate::ui::Ui;

/// Help, and what to do next, which depends on whether there is a store with runs.
pub fn bare(store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    ui.out(&Arguments::command().render_help().to_string());
    let path = locate::store(store)?;
    let runs = if path.exists() { Store::open_read_only(&path)?.summaries()?.len() } else { 0 };
    ui.out(&match runs {
        0 => "\nNext: plumb run        measures this machine in about two minutes\n".to_owned(),
        n => format!("\nNext: plumb show       the last of {n} runs in {}\n", path.display()),
    });
    Ok(Exit::Fine)
}
