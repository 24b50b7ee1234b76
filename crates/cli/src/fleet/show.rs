//! A stored fleet, as people and programs read it.

use plumb_analysis::RunFinding;
use plumb_model::FleetRecord;
use plumb_query::SinceLastRun;
use plumb_report::{FleetMachine, NextSteps, fleet_card, fleet_json};
use plumb_store::{Store, short};

use crate::error::{CommandError, Result};
use crate::locate;
use crate::ui::Ui;

/// Shows what the machines of a fleet measured.
///
/// # Errors
/// When what is stored cannot be read.
pub fn show_fleet(store: &Store, fleet: &FleetRecord, ui: &Ui) -> Result<()> {
    show_findings(store, fleet, &findings(store, fleet)?, ui)
}

/// What the runs of the machines show, in their order; None for a run that never began.
///
/// # Errors
/// When what is stored cannot be read.
pub fn findings(store: &Store, fleet: &FleetRecord) -> Result<Vec<Option<RunFinding>>> {
    let mut findings = Vec::with_capacity(fleet.machines.len());
    for machine in &fleet.machines {
        let has_begun = !store.ends_of(&[machine.run])?.is_empty();
        findings.push(if has_begun {
            let record = store.record(machine.run)?;
            Some(plumb_query::of_run(store, &record, SinceLastRun::IfItTells)?)
        } else {
            None
        });
    }
    Ok(findings)
}

/// Shows these findings of the machines of a fleet.
///
/// # Errors
/// When they cannot be written as JSON.
pub fn show_findings(
    store: &Store,
    fleet: &FleetRecord,
    findings: &[Option<RunFinding>],
    ui: &Ui,
) -> Result<()> {
    let machines: Vec<FleetMachine<'_>> = fleet
        .machines
        .iter()
        .zip(findings)
        .map(|(machine, finding)| FleetMachine {
            name: &machine.name,
            end: machine.end.as_ref(),
            is_expected: fleet.is_running && machine.end.is_none() && finding.is_none(),
            finding: finding.as_ref(),
        })
        .collect();
    if ui.wants_json() {
        let document = fleet_json(fleet, &machines);
        ui.out(&document.map_err(|error| CommandError::bug(error.to_string()))?);
    } else {
        ui.out(&fleet_card(&machines, &ui.terminal(), &closing(fleet, store, findings)));
    }
    Ok(())
}

/// What stands below the results.
fn closing(fleet: &FleetRecord, store: &Store, findings: &[Option<RunFinding>]) -> NextSteps {
    let store_option = locate::store_option(store.path());
    let step = |command: &str, purpose: &str| {
        (format!("plumb {command}{store_option}"), purpose.to_owned())
    };
    let id = short(fleet.fleet);
    let stored: Vec<&RunFinding> = findings.iter().flatten().collect();
    let mut next = Vec::new();
    if stored.len() > 1 {
        let by = format!("compare --by host fleet={id}");
        next.push(step(&by, "compare the machines with the first"));
    }
    if let Some(first) = stored.first() {
        let show = format!("show {}", short(first.run.id));
        next.push(step(&show, "everything that the first machine measured"));
    }
    let stored = format!("fleet {id} in {}", store.path().display());
    NextSteps { stored: Some(stored), next, store_option }
}
