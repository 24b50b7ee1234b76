//! From a plan to a stored run, its scorecard and its exit code.

use plumb_engine::Ended;
use plumb_model::{Goal, Missing, MissingKind, RunRecord};
use plumb_report::{View, brief_scorecard, json, scorecard};

use crate::error::{CommandError, Exit, Result};
use crate::measuring::execute::{StoredRun, execute};
use crate::measuring::job::{FailPolicy, MeasuringJob};
use crate::measuring::setup::Setup;
use crate::reading::output::{OutputFormat, closing, comparison};
use crate::ui::Ui;

/// Carries a plan out, stores the run and shows its scorecard.
pub fn measure(setup: Setup, job: MeasuringJob<'_>, ui: &Ui) -> Result<Exit> {
    let explicit = job.explicit;
    let fail_on = job.fail_on;
    let full = job.full;
    let measured = execute(setup, job, ui)?;
    report(&measured, explicit, fail_on, full, ui)
}

fn report(
    measured: &StoredRun,
    explicit: bool,
    fail_on: FailPolicy,
    full: bool,
    ui: &Ui,
) -> Result<Exit> {
    let StoredRun { store, record, finding, ended } = measured;
    let view = View::new(finding);
    if ui.wants_json() && matches!(record.plan.goal, Goal::Verdict(_)) {
        let finding = plumb_analysis::compare_sides(record, finding);
        ui.out(&comparison(&finding, OutputFormat::Json, ui)?);
    } else if ui.wants_json() {
        ui.out(&json(&view).map_err(|error| CommandError::bug(error.to_string()))?);
    } else {
        let show = if full { scorecard } else { brief_scorecard };
        ui.out(&show(&view, &ui.terminal(), &closing(record, finding, store)));
    }
    let verdicts = fail_on.exits(&finding.against_first);
    Ok(verdicts.into_iter().chain([exit(record, explicit, ended)]).min().unwrap_or(Exit::Fine))
}

/// Whether the user asked for the point. One that only shows a ceiling may be missing.
fn is_asked(record: &RunRecord, missing: &Missing) -> bool {
    record.plan.points.get(missing.point).is_none_or(|planned| !planned.is_ceiling)
}

fn exit(record: &RunRecord, explicit: bool, ended: &Ended) -> Exit {
    let not_found = record
        .unsupported
        .iter()
        .any(|missing| missing.kind() == MissingKind::Command && is_asked(record, missing));
    let mut exits = vec![Exit::Fine];
    if ended.interrupted {
        exits.push(Exit::Interrupted);
    }
    if not_found && explicit {
        exits.push(Exit::Usage);
    }
    if ended.failed > 0 || ended.unclean.is_some() {
        exits.push(Exit::Failed);
    }
    let named_but_unsupported = explicit && ended.unsupported > 0;
    if named_but_unsupported || (ended.measured == 0 && ended.failed == 0 && !ended.interrupted) {
        exits.push(Exit::Nothing);
    }
    exits.into_iter().min().unwrap_or(Exit::Fine)
}
