//! `plumb explain`: the manual of a workload.

use crate::catalogue;
use crate::cli::ExplainArgs;
use crate::error::{CommandError, Exit, Result};
use crate::suite;
use crate::ui::Ui;

/// Prints the manual of a built-in workload, or the text of a suite.
pub fn explain(args: &ExplainArgs, ui: &Ui) -> Result<Exit> {
    let id = args.name.split(':').next().unwrap_or(&args.name);
    if let Some(workload) = plumb_workloads::find(id) {
        if ui.wants_json() {
            ui.out(&super::list::json_text(&workload.describe())?);
        } else {
            ui.out(workload.manual());
        }
        return Ok(Exit::Fine);
    }
    if let Some(text) = suite::builtin(id) {
        ui.out(text);
        return Ok(Exit::Fine);
    }
    let error = CommandError::usage(format!("no built-in workload or suite is called `{id}`"));
    Err(match catalogue::nearest(id, &catalogue::builtin_names()) {
        Some(near) => error.hint(format!("plumb explain {near}")),
        None => {
            error.hint("`plumb list` shows them all; a plug-in explains itself in its own pages")
        }
    })
}
