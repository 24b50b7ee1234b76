//! A document as text.

use serde::Serialize;

/// Indented, with a line break at its end.
///
/// # Errors
/// When it can't be written as JSON.
pub(crate) fn pretty(document: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(document).map(|text| text + "\n")
}
