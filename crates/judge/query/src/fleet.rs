//! The machines of a fleet by kind.

use plumb_analysis::{KindFinding, MachineOfFleet, by_kind};
use plumb_model::{FleetRecord, Id};
use plumb_store::{Store, StoreError};

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
    let runs: Vec<Id> = machines.iter().map(|machine| machine.run).collect();
    Ok(by_kind(&machines, &read(store, Selection::Runs(&runs))?))
}
