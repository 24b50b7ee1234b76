//! `plumb explain`: the manual of a workload, suite, monitor, knob, cause or layer of a medium.

use clap::Args;
use plumb_causes::CAUSES;
use plumb_keeper::preparation::{KNOBS, named};
use plumb_media::LAYERS;
use plumb_suite::{self as suite, nearest};
use serde::Serialize;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::planning::catalogue;
use crate::reading::output::pretty;
use crate::ui::Ui;

/// Print the manual of a workload, suite, monitor, knob, cause or layer
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb explain memory.copy
  plumb explain first-look
  plumb explain monitor.stat
  plumb explain knob.thp
  plumb explain medium.ext4
  plumb explain cause.cpu-quota
  plumb explain knob.thp --json

--json prints plumb.explain/1 or, for a workload, its description.")]
pub struct ExplainArgs {
    /// A workload, suite, monitor (`monitor.stat`), knob (`knob.thp`), cause (`cause.nice`) or layer of a medium (`medium.ext4`)
    name: String,
}

impl Subcommand for ExplainArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        explain(self, context.ui)
    }
}

/// The prefixes by which `explain` names monitors, knobs, causes and layers of media.
const MONITOR: &str = "monitor.";
const KNOB: &str = "knob.";
const LAYER: &str = "medium.";
const CAUSE: &str = "cause.";

/// The document `plumb.explain/1` of `--json`; a workload's document is its description. Fields may be added, never
/// changed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "plumb.explain/1"))]
pub struct ExplainDocument<'e> {
    /// The name of this form, always `plumb.explain/1`.
    #[cfg_attr(test, schemars(extend("const" = "plumb.explain/1")))]
    schema: &'static str,
    /// What is explained.
    kind: ExplainedKind,
    /// The name by which `explain` finds it: `monitor.stat`.
    name: &'e str,
    /// One line on what it is for.
    summary: String,
    /// Its manual in Markdown; of a suite its file, in TOML.
    manual: &'e str,
}

/// What `explain` has a manual for, besides workloads.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum ExplainedKind {
    /// A monitor, which reads counters during invocations.
    Monitor,
    /// A knob, which changes a setting of the machine for a run.
    Knob,
    /// A cause that `plumb why` looks for.
    Cause,
    /// A layer of a medium.
    Layer,
    /// A suite that ships with plumb.
    Suite,
}

impl<'e> ExplainDocument<'e> {
    fn new(kind: ExplainedKind, name: &'e str, summary: &str, manual: &'e str) -> Self {
        Self { schema: "plumb.explain/1", kind, name, summary: summary.to_owned(), manual }
    }
}

/// What is known of the monitor, knob, cause, layer or suite of this name; None if there is none.
fn document(id: &str) -> Option<ExplainDocument<'_>> {
    if let Some(found) = id.strip_prefix(MONITOR).and_then(plumb_monitors::find) {
        let kind = ExplainedKind::Monitor;
        return Some(ExplainDocument::new(kind, id, found.summary, found.manual));
    }
    if let Some((found, _)) = id.strip_prefix(KNOB).and_then(named) {
        let kind = ExplainedKind::Knob;
        return Some(ExplainDocument::new(kind, id, found.summary, found.manual));
    }
    if let Some(found) = id.strip_prefix(LAYER).and_then(plumb_media::named) {
        let kind = ExplainedKind::Layer;
        return Some(ExplainDocument::new(kind, id, found.summary, found.manual));
    }
    if let Some(found) = id.strip_prefix(CAUSE).and_then(plumb_causes::find) {
        let kind = ExplainedKind::Cause;
        return Some(ExplainDocument::new(kind, id, found.summary, found.manual));
    }
    let text = suite::builtin(id)?;
    let summary = suite::parse(text).map(|suite| suite.summary).unwrap_or_default();
    Some(ExplainDocument::new(ExplainedKind::Suite, id, &summary, text))
}

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
    if let Some(document) = document(id) {
        ui.out(&if ui.wants_json() { pretty(&document)? } else { document.manual.to_owned() });
        return Ok(Exit::Fine);
    }
    let error = CommandError::usage(format!(
        "no built-in workload, suite, monitor, knob, cause or layer is called `{id}`"
    ));
    let mut known = catalogue::builtin_names();
    known.extend(plumb_monitors::ALL.iter().map(|monitor| format!("{MONITOR}{}", monitor.name)));
    known.extend(KNOBS.iter().map(|knob| format!("{KNOB}{}", knob.name)));
    known.extend(CAUSES.iter().map(|cause| format!("{CAUSE}{}", cause.name)));
    known.extend(LAYERS.iter().map(|layer| format!("{LAYER}{}", layer.name)));
    Err(match nearest(id, &known) {
        Some(near) => error.hint(format!("plumb explain {near}")),
        None => {
            error.hint("`plumb list` shows all of them; for a plug-in, see its own documentation")
        }
    })
}
