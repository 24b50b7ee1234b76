//! What several machines measured for one command.

mod card;
mod kinds;
mod together;

pub use card::{
    FleetDocument, FleetMachine, FleetPart, FleetView, FleetsDocument, MachinePart, MachineStage,
    fleet_card, fleet_json, fleets_card, fleets_json,
};
pub use kinds::{
    KindPart, SeriesOfKindPart, SlowMachinePart, fastest_text, kind_title, slow_machines,
    slowest_text,
};
