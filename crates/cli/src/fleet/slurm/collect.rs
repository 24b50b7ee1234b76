//! Stores what the nodes have measured, repeats jobs that were lost, and submits those whose turn comes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use plumb_model::{
    CollectedRun, FLEET_LABEL, FleetRecord, Id, JobState, MachineEnd, MachineOutcome, RunStatus,
    SlurmFleet, SlurmJob,
};
use plumb_query::SinceLastRun;
use plumb_store::{RunSummary, Store, StoreError, short};

use crate::error::{CommandError, Exit, Result};
use crate::fleet::slurm::answers::NodeLine;
use crate::fleet::slurm::decide::{NextStep, Situation};
use crate::fleet::slurm::folder::{FinishedStore, FleetFolder};
use crate::fleet::slurm::status::{refresh, show};
use crate::fleet::slurm::submit::{DueJob, due, submit_due};
use crate::fleet::slurm::{client, nodes};
use crate::interrupt;
use crate::ui::Ui;

/// Pause between two questions to Slurm.
const PAUSE: Duration = Duration::from_secs(10);
/// If Slurm rejects jobs for so long while no other job of the fleet waits or runs, the end of it is not waited for.
const LONGEST_REJECTION: Duration = Duration::from_secs(600);
/// How soon an interrupt ends the pause.
const LOOK: Duration = Duration::from_millis(200);

/// Collects a fleet, once or until all of its jobs have ended, and shows how far it is.
///
/// # Errors
/// When Slurm does not answer, or the store or the folder cannot be used.
pub fn collect(store: &Store, fleet: Id, waits: bool, ui: &Ui) -> Result<Exit> {
    interrupt::listen();
    // Whether Slurm has answered before: an error of the first time is no passing one.
    let mut has_answered = false;
    let mut is_warned = false;
    let mut rejections = Rejections::default();
    loop {
        let CollectedOnce { state, rejected } = match collect_once(store, fleet, ui) {
            // While slurmctld restarts, for example.
            Err(error)
                if has_answered
                    && error.exit() == Exit::Nothing
                    && !interrupt::is_interrupted() =>
            {
                if !is_warned {
                    ui.warn(&format!("{error}; asking again every {} s", PAUSE.as_secs()));
                }
                is_warned = true;
                pause();
                continue;
            }
            collected => collected?,
        };
        has_answered = true;
        is_warned = false;
        let is_over = state.is_over();
        let is_stopped = interrupt::is_interrupted();
        if rejections.is_news(rejected.as_deref()) {
            let why = rejected.as_deref().unwrap_or_default();
            ui.warn(&format!("Slurm rejected further jobs: {}", plumb_text::clean(why)));
        }
        let is_hopeless = rejections.are_hopeless(state.has_jobs(), Instant::now());
        if is_over || !waits || is_stopped || is_hopeless {
            show(&state.record, &state.slurm, store, ui)?;
            if is_hopeless && waits && !is_over {
                ui.warn(&format!(
                    "Slurm has rejected all jobs for {} min, so there is nothing to wait for; `plumb fleet collect` tries again",
                    LONGEST_REJECTION.as_secs() / 60
                ));
            }
            return Ok(if is_stopped && !is_over { Exit::Interrupted } else { exit(&state) });
        }
        pause();
    }
}

fn pause() {
    let until = Instant::now() + PAUSE;
    while Instant::now() < until && !interrupt::is_interrupted() {
        thread::sleep(LOOK);
    }
}

/// Jobs that Slurm takes no more of, from one question to the next.
#[derive(Debug, Default)]
struct Rejections {
    /// What it said last, and since when it has taken none.
    last: Option<String>,
    since: Option<Instant>,
}

impl Rejections {
    /// Takes the answer of one question, None if no job was rejected; whether the user does not know it yet.
    fn is_news(&mut self, rejected: Option<&str>) -> bool {
        let is_news = rejected.is_some() && rejected != self.last.as_deref();
        self.last = rejected.map(str::to_owned);
        is_news
    }

    /// Whether Slurm has taken no job for so long that waiting is no use; as long as one of the fleet's jobs waits or runs, limits
    /// on the number of jobs may be the reason.
    fn are_hopeless(&mut self, has_jobs: bool, now: Instant) -> bool {
        if self.last.is_none() || has_jobs {
            self.since = None;
            return false;
        }
        let since = *self.since.get_or_insert(now);
        now.duration_since(since) >= LONGEST_REJECTION
    }
}

/// If some machines measured and others did not, that is a failure. Those that are still to come count neither way.
fn exit(state: &FleetState) -> Exit {
    let mut complete = 0;
    let mut ended = 0;
    let mut interrupted = 0;
    for end in state.record.machines.iter().filter_map(|machine| machine.end.as_ref()) {
        ended += 1;
        complete += usize::from(end.outcome == MachineOutcome::Complete);
        interrupted += usize::from(end.outcome == MachineOutcome::Interrupted);
    }
    // A run of which a point failed is complete, and still no success.
    let failed = i32::from(Exit::Failed.number());
    let collected: BTreeSet<(usize, u32)> =
        state.slurm.collected.iter().map(|run| (run.position, run.attempt)).collect();
    let has_failed_point = state.slurm.jobs.iter().any(|job| {
        let fact = job.last_fact.as_ref().map(|(fact, _)| fact);
        let code = fact.and_then(|fact| fact.exit).map(|exit| exit.code);
        code == Some(failed) && collected.contains(&(job.position, job.attempt))
    });
    if has_failed_point || (complete > 0 && ended > complete) {
        Exit::Failed
    } else if ended > complete {
        if interrupted == ended { Exit::Interrupted } else { Exit::Nothing }
    } else {
        Exit::Fine
    }
}

/// What is stored of a fleet after one question to Slurm.
struct CollectedOnce {
    state: FleetState,
    /// Why Slurm took no more jobs, if it rejected one.
    rejected: Option<String>,
}

/// Collects what has come by now.
fn collect_once(store: &Store, fleet: Id, ui: &Ui) -> Result<CollectedOnce> {
    let before = FleetState::read(store, fleet)?;
    let folder = FleetFolder::at(&before.slurm.folder);
    if before.is_over() && !folder.path().exists() {
        // Nobody needs it any more.
        return Ok(CollectedOnce { state: before, rejected: None });
    }
    let _lock = folder.lock()?;
    // Read again: another plumb may have collected while this one waited for the lock.
    let mut asked = FleetState::read(store, fleet)?;
    // First the states: a store that is not there after its job has ended is late or lost.
    refresh(store, &mut asked.slurm)?;
    let broken = asked.import(store, &folder, ui)?;
    let imported = FleetState::read(store, fleet)?;
    let repeated = imported.look_after_lost(store, &folder, &broken, ui)?;
    let decided = FleetState::read(store, fleet)?;
    let due = due(&decided.slurm, &decided.record.machines, repeated);
    let report = submit_due(store, &decided.slurm, due)?;
    Ok(CollectedOnce { state: FleetState::read(store, fleet)?, rejected: report.refused })
}

/// What is stored of a fleet.
struct FleetState {
    record: FleetRecord,
    slurm: SlurmFleet,
}

impl FleetState {
    fn read(store: &Store, fleet: Id) -> Result<Self> {
        let record = store.fleets()?.into_iter().find(|record| record.fleet == fleet);
        let slurm = store.slurm_fleets()?.into_iter().find(|slurm| slurm.fleet == fleet);
        match (record, slurm) {
            (Some(record), Some(slurm)) => Ok(Self { record, slurm }),
            _ => Err(CommandError::bug("the fleet is no longer in the store")),
        }
    }

    /// Whether every machine has an outcome.
    fn is_over(&self) -> bool {
        self.record.machines.iter().all(|machine| machine.end.is_some())
    }

    /// Whether a job of it waits or runs.
    fn has_jobs(&self) -> bool {
        self.slurm.jobs.iter().any(|job| !job.state().is_over())
    }

    /// Imports the stores that came since the last time. Gives those that cannot be read, each with the reason.
    fn import(
        &self,
        store: &Store,
        folder: &FleetFolder,
        ui: &Ui,
    ) -> Result<BTreeMap<(usize, u32), String>> {
        let have: BTreeSet<(usize, u32)> =
            self.slurm.collected.iter().map(|run| (run.position, run.attempt)).collect();
        let mut measured: BTreeSet<usize> =
            self.slurm.collected.iter().map(|run| run.position).collect();
        let mut broken = BTreeMap::new();
        for finished in folder.finished()? {
            let key = (finished.position, finished.attempt);
            if have.contains(&key) || finished.position >= self.record.machines.len() {
                continue;
            }
            let run = match merge(store, &finished, &short(self.record.fleet))? {
                Ok(run) => run,
                Err(why) => {
                    broken.insert(key, why);
                    continue;
                }
            };
            let now_ns = plumb_machine::now().unix_ns;
            if measured.insert(finished.position) {
                let end = end_of(store, run.run)?;
                ui.say(&format!("{}: {}", plumb_text::clean(&run.node), end.outcome.word()));
                store.end_machine(self.record.fleet, finished.position, now_ns, &end)?;
            }
            store.add_slurm_run(self.record.fleet, now_ns, &run)?;
            self.cancel_other_tries(finished.position);
        }
        Ok(broken)
    }

    /// Cancels tries that have not begun: their machine has a result now. If one cannot be cancelled, it measures once more.
    fn cancel_other_tries(&self, position: usize) {
        // They are sorted by position.
        let jobs = &self.slurm.jobs;
        let first = jobs.partition_point(|job| job.position < position);
        for job in jobs[first..].iter().take_while(|job| job.position == position) {
            if job.state() == JobState::Pending {
                let _ = client::run("scancel", &["--state=PENDING".to_owned(), job.id()]);
            }
        }
    }

    /// Decides about the machines whose last job ended without a store; the jobs that are to be repeated.
    fn look_after_lost(
        &self,
        store: &Store,
        folder: &FleetFolder,
        broken: &BTreeMap<(usize, u32), String>,
        ui: &Ui,
    ) -> Result<Vec<DueJob>> {
        let lost = self.lost();
        let troubles = self.node_troubles(&lost)?;
        let mut repeated = Vec::new();
        for job in lost {
            let machine = &self.record.machines[job.position];
            let situation = Situation {
                job,
                now_unix_ns: plumb_machine::now().unix_ns,
                broken: broken.get(&(job.position, job.attempt)).map(String::as_str),
                node_trouble: troubles.get(&machine.name).map(String::as_str),
                last_words: folder.last_words(job),
            };
            match situation.next_step() {
                NextStep::Wait => {}
                NextStep::Retry => {
                    let why = situation.broken.unwrap_or(job.state().word());
                    ui.say(&format!(
                        "{}: job {} ended without a result ({}); resubmitting",
                        plumb_text::clean(&machine.name),
                        job.id(),
                        plumb_text::clean(why)
                    ));
                    repeated.push(DueJob {
                        position: job.position,
                        attempt: job.attempt + 1,
                        node: self.slurm.is_every.then(|| machine.name.clone()),
                    });
                }
                NextStep::End(end) => {
                    let now_ns = plumb_machine::now().unix_ns;
                    store.end_machine(self.record.fleet, job.position, now_ns, &end)?;
                }
            }
        }
        Ok(repeated)
    }

    /// The last jobs of machines without an end, if these jobs are over.
    fn lost(&self) -> Vec<&SlurmJob> {
        let mut last_jobs: BTreeMap<usize, &SlurmJob> = BTreeMap::new();
        for job in &self.slurm.jobs {
            last_jobs.insert(job.position, job);
        }
        last_jobs.retain(|position, job| {
            let machine = self.record.machines.get(*position);
            job.state().is_over() && machine.is_some_and(|machine| machine.end.is_none())
        });
        last_jobs.into_values().collect()
    }

    /// Why the nodes of lost jobs take no more jobs, by node. A task of an array may have another node instead.
    fn node_troubles(&self, lost: &[&SlurmJob]) -> Result<BTreeMap<String, String>> {
        if !self.slurm.is_every || lost.is_empty() {
            return Ok(BTreeMap::new());
        }
        let names: Vec<&str> =
            lost.iter().map(|job| self.record.machines[job.position].name.as_str()).collect();
        let lines = nodes::states(&names)?;
        let out = lines.iter().filter(|line| line.is_out_of_service());
        Ok(out.map(|line| (line.name.clone(), NodeLine::trouble(line))).collect())
    }
}

/// Takes over a store from a node. The inner error says why the file cannot be used; this store is fine then.
fn merge(
    store: &Store,
    finished: &FinishedStore,
    label: &str,
) -> Result<std::result::Result<CollectedRun, String>> {
    let summaries = match summaries_of_copy(&finished.file)? {
        Ok(summaries) => summaries,
        Err(why) => return Ok(Err(why)),
    };
    let of_fleet =
        summaries.iter().find(|run| run.labels.get(FLEET_LABEL).is_some_and(|id| id == label));
    let Some(summary) = of_fleet else {
        return Ok(Err("it contains no run of this fleet".to_owned()));
    };
    match store.merge(&finished.file) {
        Ok(_) => {}
        Err(error) if is_about(&error, &finished.file) => return Ok(Err(error.to_string())),
        Err(error) => return Err(error.into()),
    }
    Ok(Ok(CollectedRun {
        position: finished.position,
        attempt: finished.attempt,
        node: summary.host.known().unwrap_or("unknown").to_owned(),
        run: summary.run,
    }))
}

/// The runs in a store. SQLite would leave a log next to the store that it reads, so it reads a copy. The inner error says why the
/// store is damaged.
///
/// # Errors
/// When it cannot be read here, which says nothing about the store.
fn summaries_of_copy(file: &Path) -> Result<std::result::Result<Vec<RunSummary>, String>> {
    let unread = |error: io::Error| {
        CommandError::file(format!("can't read the store {}: {error}", file.display()))
    };
    let folder = tempfile::tempdir().map_err(unread)?;
    let copy = folder.path().join("plumb.db");
    fs::copy(file, &copy).map_err(unread)?;
    match Store::open_read_only(&copy).and_then(|store| store.summaries()) {
        Ok(summaries) => Ok(Ok(summaries)),
        Err(error @ (StoreError::NotAStore { .. } | StoreError::Corrupt { .. })) => {
            Ok(Err(error.to_string()))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether an error says that this file is damaged.
fn is_about(error: &StoreError, file: &Path) -> bool {
    match error {
        StoreError::NotAStore { path, .. }
        | StoreError::Corrupt { path, .. }
        | StoreError::Contradiction { path, .. } => path == file,
        _ => false,
    }
}

/// What became of the machine that made this run.
fn end_of(store: &Store, run: Id) -> Result<MachineEnd> {
    let record = store.record(run)?;
    plumb_query::keep(store, &record)?;
    let finding = plumb_query::of_run(store, &record, SinceLastRun::IfItTells)?;
    let outcome = if record.status != RunStatus::Complete {
        MachineOutcome::Interrupted
    } else if !finding.results.is_empty() {
        MachineOutcome::Complete
    } else if finding.failed.is_empty() {
        MachineOutcome::Unsupported
    } else {
        MachineOutcome::Failed
    };
    // `fleet show` has the reasons of each point.
    let why = match outcome {
        MachineOutcome::Complete => None,
        MachineOutcome::Interrupted => Some("the run ended early"),
        MachineOutcome::Failed => Some("every invocation failed"),
        _ => Some("nothing could be measured"),
    };
    Ok(MachineEnd { outcome, why: why.map(str::to_owned), hints: Vec::new() })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{LONGEST_REJECTION, Rejections};

    #[test]
    fn rejected_jobs_are_not_waited_for_forever() {
        let began = Instant::now();
        let later = began + LONGEST_REJECTION;
        let mut rejections = Rejections::default();
        assert!(!rejections.is_news(None) && !rejections.are_hopeless(false, later));
        assert!(rejections.is_news(Some("Requested node configuration is not available")));
        assert!(!rejections.is_news(Some("Requested node configuration is not available")));
        assert!(!rejections.are_hopeless(false, began));
        assert!(!rejections.are_hopeless(false, later - Duration::from_secs(1)));
        assert!(rejections.are_hopeless(false, later));
        // A limit on the number of jobs: others still run.
        assert!(!rejections.are_hopeless(true, later));
        assert!(!rejections.are_hopeless(false, later), "the time begins again");
        assert!(
            !rejections.is_news(None)
                && !rejections.are_hopeless(false, began + 2 * LONGEST_REJECTION)
        );
        assert!(rejections.is_news(Some("Invalid partition")));
    }
}
