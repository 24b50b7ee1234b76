//! The trait of an export.

use std::fmt;

use plumb_model::RunRecord;

use plumb_report::run::View;

/// A format in which runs are written for other programs.
#[derive(Debug)]
pub struct Export {
    /// The name that people type: `samples-csv`.
    pub name: &'static str,
    /// How names of its files end: `csv`.
    pub extension: &'static str,
    /// Its contents, in a line of `--help`.
    pub summary: &'static str,
    /// Whether a terminal can show it.
    pub content: ExportedContent,
    /// How many runs a file holds.
    pub holds: Holds,
    pub(super) write: fn(&ExportedRuns) -> Result<Vec<u8>, ExportError>,
}

/// The contents of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportedContent {
    /// Text in UTF-8, which a terminal can show.
    Text,
    /// Bytes that are no text.
    Binary,
}

/// How many runs a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holds {
    /// Exactly one: the format has no field that tells runs apart.
    OneRun,
    /// One or more, each with its id.
    Runs,
}

/// Runs as exports take them.
pub(super) struct ExportedRuns<'a> {
    pub(super) records: &'a [RunRecord],
    /// Those of the records, in the same order.
    pub(super) views: &'a [View<'a>],
}

/// Why a file can't be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportError {
    /// The format can't hold so much.
    TooLarge(String),
    /// Nothing of the runs belongs into it.
    Nothing(String),
    /// A document could not be written, which is a bug of plumb.
    Broken(String),
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(why) | Self::Nothing(why) | Self::Broken(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ExportError {}

impl Export {
    /// A file's content with these runs; `views` are those of `records`, in the same order.
    ///
    /// # Errors
    /// [`ExportError`]
    pub fn write(&self, views: &[View], records: &[RunRecord]) -> Result<Vec<u8>, ExportError> {
        (self.write)(&ExportedRuns { records, views })
    }
}
