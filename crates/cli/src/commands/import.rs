//! `plumb import`: takes over the runs of other stores.

use std::path::Path;

use plumb_store::Store;

use crate::cli::ImportArgs;
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::ui::Ui;

/// Merges every named store into the user's.
pub fn import(args: &ImportArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    for file in &args.files {
        if !file.exists() {
            return Err(CommandError::file(format!("{} does not exist", file.display())));
        }
    }
    let store = Store::open(locate::store(store)?)?;
    for file in &args.files {
        let report = store.merge(file)?;
        let (runs, invocations, samples) = (report.runs, report.invocations, report.samples);
        if ui.wants_json() {
            let document = serde_json::json!({
                "schema": "plumb.import/1", "file": file, "runs": runs,
                "invocations": invocations, "samples": samples,
            });
            ui.out(&document.to_string());
        } else {
            ui.out(&format!(
                "{}: {runs} new runs, {invocations} invocations, {samples} samples",
                file.display()
            ));
        }
    }
    Ok(Exit::Fine)
}
