//! A stored fleet, as people and programs read it.

use std::collections::BTreeMap;

use plumb_analysis::RunFinding;
use plumb_model::{FleetMachineRecord, FleetRecord, Id};
use plumb_query::SinceLastRun;
use plumb_report::{FleetMachine, FleetView, MachineStage, NextSteps, fleet_card, fleet_json};
use plumb_store::{RunEnd, Store, short};

use crate::error::{CommandError, Result};
use crate::locate;
use crate::ui::Ui;

/// With more machines, their results are summarised by kind of machine.
const MOST_IN_FULL: usize = 8;
/// The records of more machines are only read for `--full`: it takes milliseconds for each. Without them, verdicts and the reasons of
/// points without a result are missing.
const MOST_READ: usize = 500;

/// Shows what the machines of a fleet measured: with few machines, or if `full`, every result of each of them.
///
/// # Errors
/// When what is stored cannot be read.
pub fn show_fleet(store: &Store, fleet: &FleetRecord, full: bool, ui: &Ui) -> Result<()> {
    let runs: Vec<Id> = fleet.machines.iter().map(|machine| machine.run).collect();
    let mut begun: BTreeMap<Id, RunEnd> = BTreeMap::new();
    for end in store.ends_of(&runs)? {
        begun.insert(end.run, end);
    }
    let is_full = full || begun.len() <= MOST_IN_FULL;
    let is_read = is_full || ui.wants_json() || begun.len() <= MOST_READ;
    let findings = if is_read { findings(store, fleet)? } else { Vec::new() };
    let kinds = plumb_query::kinds_of_fleet(store, fleet)?;
    let machines: Vec<FleetMachine<'_>> = fleet
        .machines
        .iter()
        .enumerate()
        .map(|(index, machine)| FleetMachine {
            name: &machine.name,
            end: machine.end.as_ref(),
            stage: stage(fleet, machine, &begun),
            finding: findings.get(index).and_then(Option::as_ref),
        })
        .collect();
    let is_on_slurm = store.slurm_fleets()?.iter().any(|slurm| slurm.fleet == fleet.fleet);
    let together = plumb_query::together_of_fleet(store, fleet)?;
    let view =
        FleetView { fleet, machines: &machines, kinds: &kinds, together: &together, is_full };
    if ui.wants_json() {
        ui.out(&fleet_json(&view).map_err(|error| CommandError::bug(error.to_string()))?);
    } else {
        ui.out(&fleet_card(
            &view,
            &ui.terminal(),
            &closing(fleet, store, &begun, is_full, is_on_slurm),
        ));
    }
    Ok(())
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

fn stage(
    fleet: &FleetRecord,
    machine: &FleetMachineRecord,
    begun: &BTreeMap<Id, RunEnd>,
) -> MachineStage {
    match begun.get(&machine.run) {
        Some(RunEnd { state: None, .. }) => MachineStage::Running,
        Some(_) => MachineStage::Over,
        None if fleet.is_running && machine.end.is_none() => MachineStage::Waiting,
        None => MachineStage::Over,
    }
}

/// What stands below the results.
fn closing(
    fleet: &FleetRecord,
    store: &Store,
    begun: &BTreeMap<Id, RunEnd>,
    is_full: bool,
    is_on_slurm: bool,
) -> NextSteps {
    let store_option = locate::store_option(store.path());
    let step = |command: &str, purpose: &str| {
        (format!("plumb {command}{store_option}"), purpose.to_owned())
    };
    let id = short(fleet.fleet);
    let mut next = Vec::new();
    if is_on_slurm && fleet.machines.iter().any(|machine| machine.end.is_none()) {
        let collect = format!("fleet collect {id}");
        next.push(step(&collect, "store new results"));
    }
    if !is_full {
        next.push(step(&format!("fleet show {id} --full"), "every result of every machine"));
    }
    if begun.len() > 1 {
        let by = format!("compare --by host fleet={id}");
        next.push(step(&by, "compare the machines with the first"));
    }
    let first = fleet.machines.iter().find(|machine| begun.contains_key(&machine.run));
    if let Some(first) = first.filter(|_| is_full) {
        let show = format!("show {}", short(first.run));
        next.push(step(&show, "all results of the first machine"));
    }
    let stored = format!("fleet {id} in {}", store.path().display());
    NextSteps { stored: Some(stored), next, store_option }
}
