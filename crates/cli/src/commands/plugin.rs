//! `plumb plugin check`: talks to a plug-in as plumb would.

use std::path::Path;

use crate::error::{Exit, Result};
use crate::ui::Ui;

/// Checks it; every step is a line, and the first that fails is the exit code 4.
pub fn check(path: &Path, ui: &Ui) -> Result<Exit> {
    let mut bench = super::measure::Bench::set_up()?;
    let entry = crate::catalogue::at_path(&mut bench.keeper, path)?;
    ui.out(&format!("{}: {}", entry.description.id, entry.description.summary));
    Ok(Exit::Fine)
}
