//! The column of a fixture that holds texts: notes alone, as in stores of earlier versions, or notes and a start-up.

use plumb_model::StartUp;
use serde::{Deserialize, Serialize};

/// What the column says.
#[derive(Debug, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct FixtureNotes {
    /// Remarks for the reader.
    pub(super) notes: Vec<String>,
    /// What the start of a command loads.
    pub(super) start_up: Option<StartUp>,
}

impl FixtureNotes {
    /// The text of the column: an array if there are only notes.
    ///
    /// # Errors
    /// If something can't be written as JSON.
    pub(super) fn text(
        notes: &[String],
        start_up: Option<&StartUp>,
    ) -> Result<String, serde_json::Error> {
        match start_up {
            None => serde_json::to_string(notes),
            Some(start_up) => serde_json::to_string(&Self {
                notes: notes.to_vec(),
                start_up: Some(start_up.clone()),
            }),
        }
    }

    /// What a text of the column says.
    ///
    /// # Errors
    /// If it is neither form.
    pub(super) fn of_text(text: &str) -> Result<Self, serde_json::Error> {
        if text.starts_with('[') {
            return Ok(Self { notes: serde_json::from_str(text)?, start_up: None });
        }
        serde_json::from_str(text)
    }
}
