//! Ends a fleet that Slurm carries out.

use plumb_model::{FleetRecord, MachineEnd, MachineOutcome, SlurmFleet};
use plumb_store::Store;
use plumb_text::counted;

use crate::error::Result;
use crate::fleet::slurm::client;
use crate::fleet::slurm::folder::FleetFolder;
use crate::fleet::slurm::status::refresh;
use crate::ui::Ui;

/// Jobs that one command cancels, at most.
const JOBS_PER_COMMAND: usize = 500;

/// Cancels all jobs that have not ended, and ends the machines without a result, so that nothing more is submitted. A store that still
/// comes is collected later.
///
/// # Errors
/// When Slurm does not answer, or the store cannot be written.
pub fn cancel(store: &Store, record: &FleetRecord, mut slurm: SlurmFleet, ui: &Ui) -> Result<()> {
    // Nobody submits jobs meanwhile.
    let _lock = FleetFolder::at(&slurm.folder).lock()?;
    refresh(store, &mut slurm)?;
    let open: Vec<String> =
        slurm.jobs.iter().filter(|job| !job.state().is_over()).map(|job| job.id()).collect();
    for ids in open.chunks(JOBS_PER_COMMAND) {
        let answer = client::run("scancel", ids)?;
        if !answer.is_success {
            ui.warn(&format!("scancel: {}", plumb_text::clean(&answer.complaint)));
        }
    }
    let now_ns = plumb_machine::now().unix_ns;
    for (position, machine) in record.machines.iter().enumerate() {
        if machine.end.is_none() {
            let end = MachineEnd {
                outcome: MachineOutcome::Interrupted,
                why: Some("cancelled by `plumb fleet cancel`".to_owned()),
                hints: Vec::new(),
            };
            store.end_machine(record.fleet, position, now_ns, &end)?;
        }
    }
    ui.say(&format!("cancelled {}", counted(open.len(), "job", "jobs")));
    Ok(())
}
