//! What the starts of commands load.

use plumb_model::{RunRecord, StartUp};

use crate::facts::{PointFacts, point_facts};

/// What the start of the command of a point loads.
#[derive(Debug, Clone, PartialEq)]
pub struct PointStartUp {
    /// The point of the command.
    pub point: PointFacts,
    /// What its start loads.
    pub start_up: StartUp,
}

/// The start-ups of a run, in the order of its points. Points of the same command share one that was found once.
pub(crate) fn start_ups(record: &RunRecord) -> Vec<PointStartUp> {
    let mut all = Vec::new();
    for (index, planned) in record.plan.points.iter().enumerate() {
        let Some(key) = planned.fixture_key() else { continue };
        // The stored key also names the medium, if there is one. A resumed run finds it again: the last counts.
        let with_medium = format!("{key} on ");
        let found = record
            .fixtures
            .iter()
            .rev()
            .find(|fixture| fixture.key == key || fixture.key.starts_with(&with_medium));
        if let Some(start_up) = found.and_then(|fixture| fixture.start_up.clone()) {
            all.push(PointStartUp { point: point_facts(index, planned), start_up });
        }
    }
    all
}
