//! A comparison as the user wants it written.

use plumb_analysis::ComparisonFinding;
use plumb_report::{comparison_card, comparison_json, comparison_markdown};

use crate::error::{CommandError, Result};
use crate::reading::output::OutputFormat;
use crate::ui::Ui;

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
pub fn write(finding: &ComparisonFinding, format: OutputFormat, ui: &Ui) -> Result<String> {
    match format {
        OutputFormat::Terminal => Ok(comparison_card(finding, &ui.terminal())),
        OutputFormat::Markdown => Ok(comparison_markdown(finding)),
        OutputFormat::Json => {
            comparison_json(finding).map_err(|error| CommandError::bug(error.to_string()))
        }
    }
}
