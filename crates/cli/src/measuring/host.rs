//! Which host measures.

use std::sync::Once;

use plumb_model::Host;
use plumb_store::short;

use crate::error::{CommandError, Result};
use crate::locate;
use crate::measuring::job::Job;
use crate::ui::Ui;

/// The host that carries a job out. A run that is completed stays on its host.
///
/// # Errors
/// When it was begun on another one, or its name is none.
pub fn host(job: &Job<'_>, ui: &Ui) -> Result<Host> {
    let here = locate::host(job.host.as_ref())?;
    let before = job.before.as_ref().and_then(|run| Some((run, &run.targets.first()?.host)));
    let host = match before {
        Some((_, before)) if before.is_named() && !here.is_named() => before.clone(),
        Some((run, before)) if !before.may_be(&here) => {
            let run = short(run.run);
            return Err(CommandError::usage(format!(
                "run {run} was begun on host {before}, and this is {here}"
            ))
            .hint(format!("plumb run --resume {run} --host {before}    if it is the same host")));
        }
        _ => here,
    };
    if host.known().is_none() {
        say_unknown(ui);
    }
    Ok(host)
}

fn say_unknown(ui: &Ui) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        ui.say(
            "this host has no machine id, so its runs count as of any host of its kind; --host NAME or \
             PLUMB_HOST names it",
        );
    });
}
