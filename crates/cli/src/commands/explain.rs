//! `plumb explain`: the manual of a workload, suite, monitor, knob or layer of a medium.

use clap::Args;
use plumb_keeper::preparation::{KNOBS, named};
use plumb_media::LAYERS;
use plumb_suite::{self as suite, nearest};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::planning::catalogue;
use crate::reading::output::pretty;
use crate::ui::Ui;

/// Print the manual of a workload, suite, monitor, knob or layer
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb explain memory.copy
  plumb explain first-look
  plumb explain monitor.stat
  plumb explain knob.thp
  plumb explain medium.ext4")]
pub struct ExplainArgs {
    /// A workload, suite, monitor (`monitor.stat`), knob (`knob.thp`) or layer of a medium (`medium.ext4`)
    name: String,
}

impl Subcommand for ExplainArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        explain(self, context.ui)
    }
}

/// The prefixes by which `explain` names monitors, knobs and layers of media.
const MONITOR: &str = "monitor.";
const KNOB: &str = "knob.";
const LAYER: &str = "medium.";

/// Prints the manual of a built-in workload, a monitor or a knob, or the text of a suite.
fn explain(args: &ExplainArgs, ui: &Ui) -> Result<Exit> {
    let id = args.name.split(':').next().unwrap_or(&args.name);
    if let Some(workload) = plumb_workloads::find(id) {
        if ui.wants_json() {
            ui.out(&pretty(&workload.describe())?);
        } else {
            ui.out(&plumb_workloads::manual_page(workload));
        }
        return Ok(Exit::Fine);
    }
    if let Some(found) = id.strip_prefix(MONITOR).and_then(plumb_monitors::find) {
        ui.out(found.manual);
        return Ok(Exit::Fine);
    }
    if let Some((found, _)) = id.strip_prefix(KNOB).and_then(named) {
        ui.out(found.manual);
        return Ok(Exit::Fine);
    }
    if let Some(found) = id.strip_prefix(LAYER).and_then(plumb_media::named) {
        ui.out(found.manual);
        return Ok(Exit::Fine);
    }
    if let Some(text) = suite::builtin(id) {
        ui.out(text);
        return Ok(Exit::Fine);
    }
    let error = CommandError::usage(format!(
        "no built-in workload, suite, monitor, knob or layer is called `{id}`"
    ));
    let mut known = catalogue::builtin_names();
    known.extend(plumb_monitors::ALL.iter().map(|monitor| format!("{MONITOR}{}", monitor.name)));
    known.extend(KNOBS.iter().map(|knob| format!("{KNOB}{}", knob.name)));
    known.extend(LAYERS.iter().map(|layer| format!("{LAYER}{}", layer.name)));
    Err(match nearest(id, &known) {
        Some(near) => error.hint(format!("plumb explain {near}")),
        None => {
            error.hint("`plumb list` shows all of them; for a plug-in, see its own documentation")
        }
    })
}
