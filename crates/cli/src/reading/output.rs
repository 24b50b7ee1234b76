//! How a finding is written: formats, JSON, files, and the commands to type next.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use plumb_analysis::{ComparisonFinding, RunFinding};
use plumb_model::{FLEET_LABEL, RunRecord, RunStatus};
use plumb_report::{NextSteps, again, comparison_card, comparison_json, comparison_markdown};
use plumb_store::{Store, short};

use crate::error::{CommandError, Result};
use crate::locate;
use crate::ui::Ui;

/// The format of what a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// Text for a terminal
    Terminal,
    /// Tables for a ticket or pull request
    Markdown,
    /// The JSON document, which users ask for with `--json`
    #[value(skip)]
    Json,
}

/// A document for programs, indented so that people can read it, too.
///
/// # Errors
/// When it can't be written as JSON.
pub fn pretty(document: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string_pretty(document).map_err(|error| CommandError::bug(error.to_string()))
}

/// Writes a file.
///
/// # Errors
/// When it can't be written.
pub fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    let trouble = |error: std::io::Error| {
        CommandError::file(format!("can't write {}: {error}", path.display()))
    };
    let mut file = BufWriter::new(File::create(path).map_err(trouble)?);
    // Flushed here, because a dropped BufWriter ignores errors such as a full disk.
    file.write_all(content).and_then(|()| file.flush()).map_err(trouble)
}

/// Why there is nothing to compare by a label or fact.
pub fn one_group(finding: &ComparisonFinding, by: &str) -> CommandError {
    CommandError::usage(match finding.arms.first() {
        Some(arm) if *arm == plumb_analysis::without(by) => {
            format!("none of these runs has a label or fact `{by}`")
        }
        _ => format!("all these runs have the same {by}"),
    })
}

/// A comparison in this format.
///
/// # Errors
/// When it can't be written as JSON.
pub fn comparison(finding: &ComparisonFinding, format: OutputFormat, ui: &Ui) -> Result<String> {
    match format {
        OutputFormat::Terminal => Ok(comparison_card(finding, &ui.terminal())),
        OutputFormat::Markdown => Ok(comparison_markdown(finding)),
        OutputFormat::Json => {
            comparison_json(finding).map_err(|error| CommandError::bug(error.to_string()))
        }
    }
}

/// What stands below the scorecard of a run.
pub fn closing(record: &RunRecord, finding: &RunFinding, store: &Store) -> NextSteps {
    let id = short(record.run);
    let store_option = locate::store_option(store.path());
    let step = |command: &str, purpose: &str| {
        (format!("plumb {command}{store_option}"), purpose.to_owned())
    };
    let mut next = Vec::new();
    // A run on another machine cannot be completed from here.
    let is_of_fleet = record.plan.labels.contains_key(FLEET_LABEL);
    if record.status == RunStatus::Interrupted && !is_of_fleet {
        next.push(step(&format!("run --resume {id}"), "complete this run"));
    }
    // It repeats what was typed, with the store.
    next.extend(again(finding));
    next.push(step(&format!("show {id} --in-words"), "the same in sentences"));
    next.push(step(&format!("export {id} --format samples-csv"), "every sample"));
    NextSteps {
        stored: Some(format!("run {id} in {}", store.path().display())),
        next,
        store_option,
    }
}
