//! How far Slurm is with a fleet.

use std::collections::{BTreeMap, BTreeSet};

use plumb_model::{FleetMachineRecord, FleetRecord, JobState, SlurmFleet, SlurmJob};
use plumb_report::{
    FLEET_STATUS_SCHEMA, FleetStatusDocument, FleetStatusMachine, NextSteps, fleet_status_card,
    fleet_status_json,
};
use plumb_store::{Store, short};
use plumb_text::time;

use crate::error::{CommandError, Result};
use crate::fleet::slurm::answers::NodeLine;
use crate::fleet::slurm::{ask, nodes};
use crate::locate;
use crate::ui::Ui;

/// Asks Slurm about all jobs that are not over, and keeps what is new.
///
/// # Errors
/// When Slurm does not answer, or the store cannot be written.
pub fn refresh(store: &Store, slurm: &mut SlurmFleet) -> Result<()> {
    let asked: Vec<usize> =
        (0..slurm.jobs.len()).filter(|&index| !slurm.jobs[index].state().is_over()).collect();
    if asked.is_empty() {
        return Ok(());
    }
    let jobs: Vec<&SlurmJob> = asked.iter().map(|&index| &slurm.jobs[index]).collect();
    let facts = ask::facts(&jobs)?;
    let now_ns = plumb_machine::now().unix_ns;
    let mut changed = Vec::new();
    for (index, mut fact) in asked.into_iter().zip(facts) {
        let job = &mut slurm.jobs[index];
        let last = job.last_fact.as_ref().map(|(fact, _)| fact);
        if fact.state == JobState::Forgotten {
            // Only Slurm forgets the node.
            fact.node = last.and_then(|fact| fact.node.clone());
        }
        if last != Some(&fact) {
            job.last_fact = Some((fact, now_ns));
            changed.push(job.clone());
        }
    }
    Ok(store.add_slurm_facts(slurm.fleet, &changed)?)
}

/// Shows the progress of the jobs.
///
/// # Errors
/// When the document cannot be made.
pub fn show(record: &FleetRecord, slurm: &SlurmFleet, store: &Store, ui: &Ui) -> Result<()> {
    let status = document(record, slurm);
    if ui.wants_json() {
        let text = fleet_status_json(&status);
        ui.out(&text.map_err(|error| CommandError::bug(error.to_string()))?);
    } else {
        ui.out(&fleet_status_card(&status, &ui.terminal(), &closing(&status, record, store)));
    }
    Ok(())
}

fn document(record: &FleetRecord, slurm: &SlurmFleet) -> FleetStatusDocument {
    let troubles = node_troubles(record, slurm);
    let mut last_jobs: BTreeMap<usize, &SlurmJob> = BTreeMap::new();
    for job in &slurm.jobs {
        // Sorted by attempt: the last one stays.
        last_jobs.insert(job.position, job);
    }
    let mut machines = Vec::new();
    let mut counts = BTreeMap::new();
    for (position, machine) in record.machines.iter().enumerate() {
        let job = last_jobs.get(&position).copied();
        let machine = status_of(machine, job, &troubles);
        *counts.entry(machine.state).or_insert(0) += 1;
        machines.push(machine);
    }
    let now_ns = plumb_machine::now().unix_ns;
    FleetStatusDocument {
        schema: FLEET_STATUS_SCHEMA,
        fleet: record.fleet.to_string(),
        started: time::rfc3339(record.started_unix_ns),
        elapsed_s: time::between(record.started_unix_ns, Some(now_ns)).unwrap_or(0.0),
        folder: slurm.folder.clone(),
        counts,
        machines,
    }
}

/// The state of a machine and its last job.
fn status_of(
    machine: &FleetMachineRecord,
    job: Option<&SlurmJob>,
    troubles: &BTreeMap<String, String>,
) -> FleetStatusMachine {
    let fact = job.and_then(|job| job.last_fact.as_ref()).map(|(fact, _)| fact);
    let state = match (&machine.end, job.map(SlurmJob::state)) {
        (Some(end), _) => end.outcome.word(),
        (None, None) => "waiting",
        (None, Some(JobState::Pending)) => "pending",
        (None, Some(JobState::Running)) => "running",
        (None, Some(_)) => "ended",
    };
    let why = match &machine.end {
        Some(end) => end.why.clone(),
        None if state == "pending" => {
            let reason = fact.and_then(|fact| fact.reason.clone());
            let trouble = troubles.get(&machine.name).cloned();
            // That others are first in the queue is no trouble.
            trouble.or(reason.filter(|reason| !is_usual(reason)))
        }
        None if state == "ended" => fact
            .filter(|fact| fact.state != JobState::Completed)
            .map(|fact| fact.state.word().to_owned()),
        None => None,
    };
    FleetStatusMachine {
        name: machine.name.clone(),
        state,
        job: job.map(SlurmJob::id),
        attempt: job.map(|job| job.attempt),
        node: fact.and_then(|fact| fact.node.clone()),
        why,
    }
}

/// Whether jobs wait for this reason on every busy cluster.
fn is_usual(reason: &str) -> bool {
    ["Priority", "Resources", "BeginTime", "JobArrayTaskLimit"].contains(&reason)
}

/// Why nodes take no jobs for which jobs wait, by node.
fn node_troubles(record: &FleetRecord, slurm: &SlurmFleet) -> BTreeMap<String, String> {
    if !slurm.is_every {
        return BTreeMap::new();
    }
    let waiting: BTreeSet<&str> = slurm
        .jobs
        .iter()
        .filter(|job| job.state() == JobState::Pending)
        .filter_map(|job| record.machines.get(job.position))
        .map(|machine| machine.name.as_str())
        .collect();
    if waiting.is_empty() {
        return BTreeMap::new();
    }
    let names: Vec<&str> = waiting.into_iter().collect();
    // If Slurm does not answer, the reason of the job is shown instead.
    let lines = nodes::states(&names).unwrap_or_default();
    let out = lines.iter().filter(|line| line.is_out_of_service());
    out.map(|line| (line.name.clone(), NodeLine::trouble(line))).collect()
}

/// What stands below the counts.
fn closing(status: &FleetStatusDocument, record: &FleetRecord, store: &Store) -> NextSteps {
    let store_option = locate::store_option(store.path());
    let id = short(record.fleet);
    let is_over = record.machines.iter().all(|machine| machine.end.is_some());
    let has_result = status.counts.contains_key("complete");
    let mut steps: Vec<(String, &str)> = Vec::new();
    if !is_over {
        let purpose = if status.counts.contains_key("waiting") {
            "store new results and submit waiting jobs"
        } else {
            "store new results"
        };
        steps.push((format!("fleet collect {id}"), purpose));
        steps.push((
            format!("fleet collect --wait {id}"),
            "keep collecting until all jobs have ended",
        ));
    }
    if has_result || is_over {
        steps.push((format!("fleet show {id}"), "the results of all machines"));
    }
    if status.counts.get("complete").is_some_and(|complete| *complete > 1) {
        let compare = format!("compare --by host fleet={id}");
        steps.push((compare, "compare the machines with the first"));
    }
    let mut next = Vec::new();
    for (command, purpose) in steps {
        next.push((format!("plumb {command}{store_option}"), purpose.to_owned()));
    }
    NextSteps {
        stored: Some(format!("fleet {id}; logs in {}/logs", status.folder)),
        next,
        store_option,
    }
}
