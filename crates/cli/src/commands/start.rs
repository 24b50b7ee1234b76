//! Bare `plumb`: the short help, and the next command to type.

use plumb_store::Store;
use plumb_text::counted;

use crate::commands::subcommand::Context;
use crate::error::{Exit, Result};
use crate::locate;

/// Prints the short help and the next command, which depends on whether there is a store with runs.
pub fn bare(context: &Context<'_>) -> Result<Exit> {
    context.ui.out(&(context.public_cli)().render_help().to_string());
    let path = locate::store(context.store)?;
    let runs = if path.exists() { Store::open_read_only(&path)?.summaries()?.len() } else { 0 };
    context.ui.out(&match runs {
        0 => {
            "\nNext: plumb run        measures this machine in two and a half minutes\n".to_owned()
        }
        runs => format!(
            "\nNext: plumb show       shows the last of {} in {}\n",
            counted(runs, "run", "runs"),
            path.display()
        ),
    });
    Ok(Exit::Fine)
}
