//! How a finding is written: formats, JSON, files.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use crate::error::{CommandError, Result};

/// The format of what a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// The text for a terminal
    Terminal,
    /// Tables for a ticket or a pull request
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
