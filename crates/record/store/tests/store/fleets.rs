//! Fleets that Slurm carries out: what is kept of their jobs, and which runs are theirs.

use plumb_model::{
    CollectedRun, FleetMachineRecord, FleetRecord, JobExit, JobFact, JobState, MachineEnd,
    MachineOutcome, Owner, SlurmFleet, SlurmJob,
};
use plumb_store::Store;

use crate::events::id;
use crate::folder::in_memory;

fn task(position: u64) -> FleetMachineRecord {
    FleetMachineRecord { name: format!("task {position}"), run: id(10 + position), end: None }
}

/// A fleet of two tasks.
fn record() -> FleetRecord {
    FleetRecord {
        fleet: id(1),
        started_unix_ns: 5,
        command: vec!["plumb".to_owned(), "fleet".to_owned()],
        is_running: true,
        machines: vec![task(0), task(1)],
    }
}

fn slurm() -> SlurmFleet {
    SlurmFleet {
        fleet: id(1),
        folder: "/srv/fleet".to_owned(),
        options: vec!["-p".to_owned(), "main".to_owned()],
        is_every: false,
        queued: Some(7),
        jobs: Vec::new(),
        collected: Vec::new(),
    }
}

fn job(position: usize, attempt: u32) -> SlurmJob {
    SlurmJob {
        position,
        attempt,
        job: 12,
        task: Some(position as u64),
        submitted_unix_ns: 6,
        last_fact: None,
    }
}

fn fact(state: JobState) -> JobFact {
    JobFact {
        state,
        reason: Some("Resources".to_owned()),
        node: Some("n1".to_owned()),
        exit: Some(JobExit { code: 4, signal: 0 }),
    }
}

#[test]
fn jobs_come_back_with_their_last_facts() {
    let folder = in_memory();
    let store = Store::open(folder.path().join("plumb.db")).unwrap();
    assert_eq!(store.slurm_fleets().unwrap(), []);
    // The process that submitted has ended long ago.
    let owner = Owner { pid: 1, start_ticks: 0, boot_id: "another".to_owned() };
    store.begin_slurm_fleet(&record(), &owner, &slurm()).unwrap();
    store.add_slurm_jobs(id(1), &[job(1, 1), job(0, 2), job(0, 1)]).unwrap();
    for (at_unix_ns, state) in [(8, JobState::Running), (9, JobState::NodeFail)] {
        let known = SlurmJob { last_fact: Some((fact(state), at_unix_ns)), ..job(0, 1) };
        store.add_slurm_facts(id(1), &[known]).unwrap();
    }
    let failed = SlurmJob { last_fact: Some((fact(JobState::NodeFail), 9)), ..job(0, 1) };
    let wanted = SlurmFleet { jobs: vec![failed, job(0, 2), job(1, 1)], ..slurm() };
    assert_eq!(store.slurm_fleets().unwrap(), [wanted]);
    // Slurm works on it, though no process of plumb does.
    assert_eq!(store.fleets().unwrap(), [record()]);
}

#[test]
fn the_first_run_that_comes_is_that_of_the_machine() {
    let folder = in_memory();
    let store = Store::open(folder.path().join("plumb.db")).unwrap();
    let owner = Owner { pid: 1, start_ticks: 0, boot_id: "another".to_owned() };
    store.begin_slurm_fleet(&record(), &owner, &slurm()).unwrap();
    for (at_unix_ns, attempt, node, run) in [(20, 2, "n2", 32), (30, 1, "n1", 31)] {
        let came = CollectedRun { position: 1, attempt, node: node.to_owned(), run: id(run) };
        store.add_slurm_run(id(1), at_unix_ns, &came).unwrap();
        // A second time changes nothing.
        store.add_slurm_run(id(1), at_unix_ns, &came).unwrap();
    }
    let complete = MachineEnd { outcome: MachineOutcome::Complete, why: None, hints: Vec::new() };
    for position in [0, 1] {
        store.end_machine(id(1), position, 40, &complete).unwrap();
    }
    let fleets = store.fleets().unwrap();
    let machines = &fleets[0].machines;
    assert_eq!((machines[1].name.as_str(), machines[1].run), ("n2", id(32)));
    assert_eq!((machines[0].name.as_str(), machines[0].run), ("task 0", id(10)));
    assert!(!fleets[0].is_running);
    let collected = store.slurm_fleets().unwrap().remove(0).collected;
    let attempts: Vec<u32> = collected.iter().map(|run| run.attempt).collect();
    assert_eq!(attempts, [2, 1]);
}
