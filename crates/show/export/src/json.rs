//! The document that `plumb show --format json` prints, for scripts.

use crate::entry::{Export, ExportError, ExportedContent, ExportedRuns, Holds};
use plumb_report::document;

pub(super) const JSON: Export = Export {
    name: "json",
    extension: "json",
    summary: "plumb.run/1 documents, one line per run",
    content: ExportedContent::Text,
    holds: Holds::Runs,
    write: documents,
};

fn documents(runs: &ExportedRuns) -> Result<Vec<u8>, ExportError> {
    let mut out = Vec::new();
    for view in runs.views {
        let written = serde_json::to_writer(&mut out, &document(view));
        written.map_err(|error| ExportError::Broken(error.to_string()))?;
        out.push(b'\n');
    }
    Ok(out)
}
