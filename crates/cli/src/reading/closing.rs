//! What stands below a scorecard: where the run is stored, and the next commands to type.

use plumb_analysis::RunFinding;
use plumb_model::{RunRecord, RunStatus};
use plumb_report::{NextSteps, again};
use plumb_store::{Store, short};

/// What stands below the scorecard of a run.
pub fn closing(record: &RunRecord, finding: &RunFinding, store: &Store) -> NextSteps {
    let id = short(record.run);
    let command = |command: &str, does: &str| (command.to_owned(), does.to_owned());
    let mut next = Vec::new();
    if record.status == RunStatus::Interrupted {
        next.push(command(&format!("plumb run --resume {id}"), "complete this run"));
    }
    next.extend(again(finding));
    next.push(command(&format!("plumb show {id} --in-words"), "the same in sentences"));
    next.push(command(&format!("plumb export {id} --format samples-csv"), "every sample"));
    NextSteps { stored: Some(format!("run {id} in {}", store.path().display())), next }
}
