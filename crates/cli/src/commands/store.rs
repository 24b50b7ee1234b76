//! `plumb store info`: where the store is, what it holds, whether it is sound.

use std::path::Path;

use plumb_store::{StoreInfo, short};
use plumb_text::time;
use plumb_text::units::quantity;

use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::ui::Ui;

/// Prints it; a store with problems is exit code 6.
pub fn info(store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let path = locate::store(store)?;
    if !path.exists() {
        return Err(CommandError::usage(format!("there is no store at {} yet", path.display()))
            .hint("plumb run        measures this machine and makes one"));
    }
    let info = plumb_store::info(&path)?;
    ui.out(&if ui.wants_json() { document(&info) } else { lines(&info) });
    Ok(if info.problems.is_empty() { Exit::Fine } else { Exit::Store })
}

fn lines(info: &StoreInfo) -> String {
    let runs = info.complete + info.running + info.interrupted;
    let moment = |run: &Option<(plumb_model::Id, i64)>| {
        run.as_ref()
            .map_or("none".to_owned(), |(id, at)| format!("{} on {}", short(*id), time::date(*at)))
    };
    let sound = if info.problems.is_empty() {
        "sound".to_owned()
    } else {
        format!("DAMAGED: {}", info.problems.join("; "))
    };
    #[expect(clippy::cast_precision_loss, reason = "sizes for people")]
    let size = |bytes: u64| quantity(bytes as f64, "B");
    format!(
        "store     {}\nsize      {} (schema {}, journal {}, {} free)\nruns      {runs}: {} complete, {} running, {} interrupted\nsamples   {}\noldest    {}\nnewest    {}\nstate     {sound}\n",
        info.path.display(),
        size(info.bytes),
        info.schema,
        info.journal,
        size(info.free_bytes),
        info.complete,
        info.running,
        info.interrupted,
        info.samples,
        moment(&info.oldest),
        moment(&info.newest),
    )
}

fn document(info: &StoreInfo) -> String {
    serde_json::json!({
        "schema": "plumb.store/1",
        "path": info.path,
        "bytes": info.bytes,
        "version": info.schema,
        "journal": info.journal,
        "runs": { "complete": info.complete, "running": info.running, "interrupted": info.interrupted },
        "samples": info.samples,
        "oldest": info.oldest.map(|(id, _)| id),
        "newest": info.newest.map(|(id, _)| id),
        "problems": info.problems,
        "free_bytes": info.free_bytes,
    })
    .to_string()
}
