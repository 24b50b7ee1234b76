//! The process that builds a medium and holds it. It speaks the line protocol as a fixture: `prepare` builds, `clean`
//! undoes, and with its end the kernel takes away what stands.
//!
//! It mounts in a separate namespace; `Ready::endpoints` says which folder of that is the medium, and the workers on
//! it are started inside (`SpawnOptions::mounts_of` of the keeper).

use plumb_model::{Description, Ready, Role};
use plumb_protocol::{Held, Start, StartError, StartedWorkload, Workload};
use plumb_workload_kit::mounts;

use crate::building::{Building, DIR, INDEX, MEDIUM, StandingMedium};
use crate::medium::Medium;

/// The workload that serves media, registered under its internal name.
pub static WORKER: &dyn Workload = &MediumWorker;

struct MediumWorker;

impl Workload for MediumWorker {
    fn describe(&self) -> Description {
        Description {
            roles: vec![Role::Preparation],
            ..Description::new("medium", "the storage below a target directory")
        }
    }

    fn manual(&self) -> &'static str {
        ""
    }

    fn start(&self, _start: &Start) -> Result<StartedWorkload, StartError> {
        Err(StartError::Failed("a medium is prepared, not started".into()))
    }

    fn prepare(&self, start: &Start) -> Result<(Ready, Box<dyn Held>), StartError> {
        let medium = Medium::parse(start.text(MEDIUM)).map_err(StartError::Failed)?;
        // What is mounted from here on goes with this process.
        mounts::enter_own()?;
        let (standing, ready) = build(&medium, start)?;
        Ok((ready, Box::new(standing)))
    }
}

fn build(medium: &Medium, start: &Start) -> Result<(StandingMedium, Ready), StartError> {
    let mut above: Vec<&'static str> = medium.layers().map(|(layer, _)| layer.name).collect();
    above.reverse();
    let mut building = Building::new(start, start.integer(INDEX), above);
    for (layer, option) in medium.layers() {
        building.above.pop();
        (layer.lay)(&mut building, option).map_err(|error| match error {
            StartError::Failed(why) => StartError::Failed(format!("{}: {why}", layer.name)),
            unsupported @ StartError::Unsupported { .. } => unsupported,
        })?;
    }
    let dir = building.surface.to_string_lossy().into_owned();
    let notes = std::mem::take(&mut building.notes);
    let ready = Ready { endpoints: [(DIR.to_owned(), dir)].into(), notes, ..Ready::default() };
    Ok((building.standing(), ready))
}
