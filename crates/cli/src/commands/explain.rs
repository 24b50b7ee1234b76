//! `plumb explain`: the manual of a workload.

use crate::cli::ExplainArgs;
use crate::error::{CommandError, Exit, Result};
use crate::planning::catalogue;
use crate::planning::suite;
use crate::ui::Ui;

/// What names of monitors begin with here.
const MONITOR: &str = "monitor.";

/// Prints the manual of a built-in workload or a monitor, or the text of a suite.
pub fn explain(args: &ExplainArgs, ui: &Ui) -> Result<Exit> {
    let id = args.name.split(':').next().unwrap_or(&args.name);
    if let Some(workload) = plumb_workloads::find(id) {
        if ui.wants_json() {
            ui.out(&crate::commands::list::json_text(&workload.describe())?);
        } else {
            ui.out(workload.manual());
        }
        return Ok(Exit::Fine);
    }
    if let Some(found) = id.strip_prefix(MONITOR).and_then(plumb_monitors::find) {
        ui.out(found.manual);
        return Ok(Exit::Fine);
    }
    if let Some(text) = suite::builtin(id) {
        ui.out(text);
        return Ok(Exit::Fine);
    }
    let error =
        CommandError::usage(format!("no built-in workload, suite or monitor is called `{id}`"));
    let mut known = catalogue::builtin_names();
    known.extend(plumb_monitors::ALL.iter().map(|it| format!("{MONITOR}{}", it.name)));
    Err(match catalogue::nearest(id, &known) {
        Some(near) => error.hint(format!("plumb explain {near}")),
        None => {
            error.hint("`plumb list` shows them all; a plug-in explains itself in its own pages")
        }
    })
}
