//! The machines of a fleet by kind.

use std::collections::BTreeSet;

use plumb_analysis::{
    CONFIRMS_LABEL, KindFinding, MachineOfFleet, TogetherFindings, by_kind, together,
};
use plumb_model::{FleetRecord, Id};
use plumb_store::{RunSummary, Store, StoreError};

use crate::series::{Selection, read};

/// What the machines of a fleet measured, by kind of machine.
///
/// # Errors
/// When the store cannot be read.
pub fn kinds_of_fleet(store: &Store, fleet: &FleetRecord) -> Result<Vec<KindFinding>, StoreError> {
    let machines: Vec<MachineOfFleet> = fleet
        .machines
        .iter()
        .map(|machine| MachineOfFleet { name: machine.name.clone(), run: machine.run })
        .collect();
    let mut runs: Vec<Id> = machines.iter().map(|machine| machine.run).collect();
    let confirmed: BTreeSet<String> = runs.iter().map(ToString::to_string).collect();
    let confirms =
        |run: &RunSummary| run.labels.get(CONFIRMS_LABEL).is_some_and(|of| confirmed.contains(of));
    runs.extend(store.summaries()?.iter().filter(|run| confirms(run)).map(|run| run.run));
    Ok(by_kind(&machines, &read(store, Selection::Runs(&runs))?))
}

/// What the machines of a fleet came to together, if they measured together; nothing if they did not.
///
/// # Errors
/// When the store cannot be read.
pub fn together_of_fleet(
    store: &Store,
    fleet: &FleetRecord,
) -> Result<TogetherFindings, StoreError> {
    // Records have all samples, so they are not read only to see whether they have shared starts.
    if !fleet.command.iter().any(|word| word == "--together") {
        return Ok(TogetherFindings::default());
    }
    let mut records = Vec::with_capacity(fleet.machines.len());
    for machine in &fleet.machines {
        let has_begun = !store.ends_of(&[machine.run])?.is_empty();
        records.push(if has_begun { Some(store.record(machine.run)?) } else { None });
    }
    Ok(together(&records))
}
