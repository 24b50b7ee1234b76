//! Submits the jobs of a fleet.

use std::collections::BTreeMap;
use std::path::Path;

use plumb_model::{
    FleetMachineRecord, FleetRecord, Id, JobState, KnownSecrets, MachineEnd, MachineOutcome,
    SlurmFleet, SlurmJob,
};
use plumb_store::{Store, short};
use plumb_text::command_line::typed;
use plumb_text::counted;

use crate::error::{CommandError, Exit, Result};
use crate::fleet::slurm::answers::{NodeLine, max_array_size, submitted_job};
use crate::fleet::slurm::arguments::SlurmRunArgs;
use crate::fleet::slurm::client;
use crate::fleet::slurm::folder::FleetFolder;
use crate::fleet::slurm::nodes;
use crate::fleet::slurm::options::SbatchOptions;
use crate::fleet::slurm::script::BatchScript;
use crate::planning::secrets;
use crate::ui::Ui;
use crate::{interrupt, locate};

/// A tenth of the jobs that Slurm takes by default, of all users together.
const DEFAULT_QUEUED: usize = 1_000;

/// What is measured on each node.
pub struct NodeWork {
    /// The names and options of `plumb run`.
    pub run: Vec<String>,
    /// The texts of suites that are files here, by their names in the folder of the fleet.
    pub suites: BTreeMap<String, String>,
    /// Whether secrets stay in the command line that is stored.
    pub keeps_secrets: bool,
}

impl NodeWork {
    /// The names and options, with suites that are files in this folder.
    fn run_in(&self, folder: &FleetFolder) -> Vec<String> {
        let mut words = Vec::new();
        for word in &self.run {
            words.push(if self.suites.contains_key(word) {
                folder.path().join(word).to_string_lossy().into_owned()
            } else {
                word.clone()
            });
        }
        words
    }
}

/// A machine that a job is to measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueJob {
    /// The machine's position in the fleet.
    pub position: usize,
    /// The number of the try.
    pub attempt: u32,
    /// The only node that may measure it; None for any.
    pub node: Option<String>,
}

/// Of named nodes, so many refusals one after the other end a round: Slurm then takes no jobs at all.
const MOST_REFUSALS: usize = 3;

/// A command that submits jobs, and what they measure.
struct Submission {
    /// The options of sbatch on the command line, the script, and its arguments.
    arguments: Vec<String>,
    /// The same for a later attempt without nodes that are excluded because they failed, if Slurm has no others.
    on_any_node: Option<Vec<String>>,
    /// The jobs that it makes.
    jobs: Vec<PlannedJob>,
}

/// A job that is to be submitted.
#[derive(Debug, Clone)]
struct PlannedJob {
    due: DueJob,
    /// Its index, if it is to be a task of an array.
    task: Option<u64>,
}

/// What became of submissions.
#[derive(Debug, Default)]
pub struct SubmitReport {
    /// The jobs that Slurm took.
    pub jobs: Vec<SlurmJob>,
    /// Why it did not take the next ones, in its words.
    pub refused: Option<String>,
    /// The machines whose jobs it refused although it took others after them, each with its words.
    pub refused_machines: Vec<(usize, String)>,
}

/// Submits a new fleet. Gives its id, or None if the command only shows what would be submitted.
///
/// # Errors
/// When Slurm takes no job, or the folder or the store cannot be written.
pub fn submit_fleet(
    args: &SlurmRunArgs,
    work: &NodeWork,
    store: Option<&Path>,
    ui: &Ui,
) -> Result<Option<(Id, Exit)>> {
    let options = SbatchOptions::read(&args.slurm, args.every)?;
    let fleet = plumb_machine::fresh_id();
    let folder = FleetFolder::planned(args.folder.as_deref(), &short(fleet))?;
    let selected = if args.every { nodes::selected(&options)? } else { Vec::new() };
    let slurm = SlurmFleet {
        fleet,
        folder: folder.text(),
        options: options.words.clone(),
        is_every: args.every,
        queued: Some(args.queued.map_or(DEFAULT_QUEUED, std::num::NonZero::get)),
        jobs: Vec::new(),
        collected: Vec::new(),
    };
    let machines = machines(args, &selected);
    let script = BatchScript {
        fleet: &short(fleet),
        folder: &folder,
        options: &options,
        typed_in: &typed_in()?,
        run: &work.run_in(&folder),
    };
    let due = due(&slurm, &machines, Vec::new());
    if due.is_empty() {
        return Err(all_out_of_service(&selected));
    }
    let submissions = submissions(&slurm, &options, due)?;
    if args.dry_run {
        ui.out(&dry_run(&script.text(), &submissions, ui.wants_json()));
        return Ok(None);
    }
    let store = Store::open(locate::store(store)?)?;
    folder.make()?;
    if let Err(error) = fill(&folder, &script, work, &options) {
        folder.remove();
        return Err(error);
    }
    let _lock = folder.lock()?;
    let record = record(fleet, machines, work, &store)?;
    let slurm = SlurmFleet { options: hidden(&options.words, &store)?, ..slurm };
    // Before the first job: whatever happens from here on, `collect` knows the fleet.
    store.begin_slurm_fleet(&record, &plumb_machine::owner(&locate::root()), &slurm)?;
    keep_ends(&record, &store)?;
    let mut report = SubmitReport::default();
    submit_all(submissions, &mut report, &slurm, &store)?;
    if report.jobs.is_empty()
        && let Some(why) = &report.refused
    {
        for position in 0..record.machines.len() {
            end_refused(fleet, position, why, &store)?;
        }
        folder.remove();
        return Err(refused(why));
    }
    say(&record, &report, ui);
    let exit = match &report.refused {
        _ if interrupt::is_interrupted() => Exit::Interrupted,
        None if report.refused_machines.is_empty() => Exit::Fine,
        _ => Exit::Failed,
    };
    Ok(Some((fleet, exit)))
}

/// Writes what the jobs need into the folder.
fn fill(
    folder: &FleetFolder,
    script: &BatchScript<'_>,
    work: &NodeWork,
    options: &SbatchOptions,
) -> Result<()> {
    folder.write("job.sh", &script.text())?;
    folder.write_options(&options.words)?;
    for (name, text) in &work.suites {
        folder.write(name, text)?;
    }
    Ok(())
}

/// Options without what looks like a secret: unlike the folder, a store may be given to others.
fn hidden(words: &[String], store: &Store) -> Result<Vec<String>> {
    Ok(secrets::without_secrets(words, store.secret_salt()?, &mut KnownSecrets::default()))
}

/// Submits jobs of a fleet that is stored, until Slurm takes no more, or an interrupt. What is left is for the next `collect`.
fn submit_all(
    submissions: Vec<Submission>,
    report: &mut SubmitReport,
    slurm: &SlurmFleet,
    store: &Store,
) -> Result<()> {
    let mut refusals: Vec<(usize, String)> = Vec::new();
    for submission in submissions {
        if interrupt::is_interrupted() {
            break;
        }
        let taken_before = report.jobs.len();
        let position = submission.jobs.first().map_or(0, |job| job.due.position);
        match submit(submission, report)? {
            Ok(()) => {
                store.add_slurm_jobs(slurm.fleet, &report.jobs[taken_before..])?;
                // Slurm takes jobs, so it refused these because of their nodes, and would do so again.
                report.refused_machines.append(&mut refusals);
            }
            Err(why) => {
                refusals.push((position, why));
                if !slurm.is_every || refusals.len() == MOST_REFUSALS {
                    break;
                }
            }
        }
    }
    for (position, why) in &report.refused_machines {
        end_refused(slurm.fleet, *position, why, store)?;
    }
    report.refused = refusals.pop().map(|(_, why)| why);
    Ok(())
}

/// Stores that Slurm refused the job of a machine.
fn end_refused(fleet: Id, position: usize, why: &str, store: &Store) -> Result<()> {
    let end = MachineEnd {
        outcome: MachineOutcome::Refused,
        why: Some(format!("Slurm rejected the job: {why}")),
        hints: Vec::new(),
    };
    Ok(store.end_machine(fleet, position, plumb_machine::now().unix_ns, &end)?)
}

/// The folder in which the command was typed.
fn typed_in() -> Result<String> {
    let folder = std::env::current_dir()
        .map_err(|error| CommandError::usage(format!("the current folder is gone: {error}")))?;
    match folder.into_os_string().into_string() {
        // sbatch takes a backslash in a script as the beginning of an escape.
        Ok(text) if !text.contains(|c: char| c.is_control() || c == '\\') => Ok(text),
        _ => Err(CommandError::usage(
            "the path of the current folder contains a backslash, a control character or no UTF-8",
        )
        .hint("--slurm '--chdir DIR' names another one, if you submit from there")),
    }
}

/// The machines of a fleet; nodes that are out of service have an end already.
fn machines(args: &SlurmRunArgs, selected: &[NodeLine]) -> Vec<FleetMachineRecord> {
    let count =
        if args.every { selected.len() } else { args.any.map_or(1, std::num::NonZero::get) };
    let mut machines = Vec::new();
    for position in 0..count {
        let node = selected.get(position);
        machines.push(FleetMachineRecord {
            name: node.map_or_else(|| format!("task {position}"), |node| node.name.clone()),
            // No run has it: only a store that comes says which run it is.
            run: plumb_machine::fresh_id(),
            end: node.filter(|node| node.is_out_of_service()).map(|node| MachineEnd {
                outcome: MachineOutcome::Unreachable,
                why: Some(node.trouble()),
                hints: Vec::new(),
            }),
        });
    }
    machines
}

fn all_out_of_service(selected: &[NodeLine]) -> CommandError {
    let first = selected.first().map(|node| format!("{}: {}", node.name, node.trouble()));
    CommandError::nothing(format!(
        "all selected nodes are out of service; {}",
        first.unwrap_or_default()
    ))
    .hint("sinfo --list-reasons    shows why")
}

fn refused(why: &str) -> CommandError {
    CommandError::nothing(format!("Slurm rejected the job: {why}"))
        .hint("add --dry-run to see the script and the command")
}

/// What is stored of the fleet.
fn record(
    fleet: Id,
    machines: Vec<FleetMachineRecord>,
    work: &NodeWork,
    store: &Store,
) -> Result<FleetRecord> {
    let mut command: Vec<String> =
        std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if !work.keeps_secrets {
        let salt = store.secret_salt()?;
        command = secrets::without_secrets(&command, salt, &mut KnownSecrets::default());
    }
    Ok(FleetRecord {
        fleet,
        started_unix_ns: plumb_machine::now().unix_ns,
        command,
        is_running: true,
        machines,
    })
}

/// Stores what became of machines that need no job.
fn keep_ends(record: &FleetRecord, store: &Store) -> Result<()> {
    for (position, machine) in record.machines.iter().enumerate() {
        if let Some(end) = &machine.end {
            store.end_machine(record.fleet, position, record.started_unix_ns, end)?;
        }
    }
    Ok(())
}

/// What happened, for people.
fn say(record: &FleetRecord, report: &SubmitReport, ui: &Ui) {
    for machine in &record.machines {
        if let Some(why) = machine.end.as_ref().and_then(|end| end.why.as_deref()) {
            let name = plumb_text::clean(&machine.name);
            ui.warn(&format!("skipping {name}: {}", plumb_text::clean(why)));
        }
    }
    for (position, why) in &report.refused_machines {
        let name = record.machines.get(*position).map_or("", |machine| &machine.name);
        ui.warn(&format!(
            "skipping {}: Slurm rejected the job: {}",
            plumb_text::clean(name),
            plumb_text::clean(why)
        ));
    }
    if let Some(why) = &report.refused {
        ui.warn(&format!("Slurm rejected further jobs: {}", plumb_text::clean(why)));
    }
    let jobs = counted(report.jobs.len(), "job", "jobs");
    ui.say(&format!("submitted {jobs} to Slurm: {}", job_ids(&report.jobs)));
}

/// The ids of jobs: `12`, or the first and the last one.
fn job_ids(jobs: &[SlurmJob]) -> String {
    let first = jobs.first().map(SlurmJob::id).unwrap_or_default();
    match jobs.last().map(SlurmJob::id) {
        Some(last) if last != first => format!("{first} to {last}"),
        _ => first,
    }
}

/// The jobs that may be submitted now: those to be repeated, then machines whose turn comes, as long as the queue has room.
pub fn due(
    slurm: &SlurmFleet,
    machines: &[FleetMachineRecord],
    repeated: Vec<DueJob>,
) -> Vec<DueJob> {
    let queued = slurm.jobs.iter().filter(|job| !job.state().is_over()).count();
    let room = slurm.queued.map_or(usize::MAX, |most| most.saturating_sub(queued));
    let begun: Vec<usize> = slurm.jobs.iter().map(|job| job.position).collect();
    let mut due = repeated;
    for (position, machine) in machines.iter().enumerate() {
        if machine.end.is_none() && begun.binary_search(&position).is_err() {
            due.push(DueJob {
                position,
                attempt: 1,
                node: slurm.is_every.then(|| machine.name.clone()),
            });
        }
    }
    due.truncate(room);
    due
}

/// Submits jobs of a fleet that is stored, until Slurm takes no more.
///
/// # Errors
/// When sbatch cannot be started, or the store cannot be written.
pub fn submit_due(store: &Store, slurm: &SlurmFleet, due: Vec<DueJob>) -> Result<SubmitReport> {
    let mut report = SubmitReport::default();
    if due.is_empty() {
        return Ok(report);
    }
    let words = FleetFolder::at(&slurm.folder).options()?;
    let options = SbatchOptions::of_words(words, slurm.is_every)?;
    let submissions = submissions(slurm, &options, due)?;
    submit_all(submissions, &mut report, slurm, store)?;
    Ok(report)
}

/// The commands that submit these jobs: one per named node, or one per array.
fn submissions(
    slurm: &SlurmFleet,
    options: &SbatchOptions,
    due: Vec<DueJob>,
) -> Result<Vec<Submission>> {
    let folder = FleetFolder::at(&slurm.folder);
    let mut submissions = Vec::new();
    if slurm.is_every {
        for job in due {
            let node = job.node.clone().unwrap_or_default();
            let own =
                [format!("--nodelist={node}"), format!("--output={}", folder.log_pattern(false))];
            let own = [options.for_sbatch(), own.to_vec()].concat();
            let arguments = arguments(&folder, &own, job.position, job.attempt);
            let jobs = vec![PlannedJob { due: job, task: None }];
            submissions.push(Submission { arguments, on_any_node: None, jobs });
        }
        return Ok(submissions);
    }
    let config = client::ask("scontrol", &["show", "config"])?;
    let most = max_array_size(&config).unwrap_or(0);
    if most < 2 {
        return Err(CommandError::nothing("this cluster allows no job arrays (MaxArraySize)")
            .hint("--every submits one job per node"));
    }
    for ArrayPart { base, attempt, jobs } in arrays(due, most) {
        let indices: Vec<u64> = jobs.iter().filter_map(|job| job.task).collect();
        let mut own = options.for_sbatch();
        own.push(format!("--array={}", ranges(&indices)));
        let mut on_any_node = None;
        if let Some(excluded) = excluded(slurm, options, attempt) {
            on_any_node = Some(arguments(&folder, &own, base, attempt));
            own.push(format!("--exclude={excluded}"));
        }
        let arguments = arguments(&folder, &own, base, attempt);
        submissions.push(Submission { arguments, on_any_node, jobs });
    }
    Ok(submissions)
}

/// A part of the machines as an array.
struct ArrayPart {
    /// The position of index 0 in the fleet.
    base: usize,
    /// The number of the try.
    attempt: u32,
    /// The jobs, each with its index.
    jobs: Vec<PlannedJob>,
}

/// The arrays that hold these jobs, each with indices below `most` and one number of the try.
fn arrays(due: Vec<DueJob>, most: u64) -> Vec<ArrayPart> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let mut parts: BTreeMap<(u32, usize), Vec<PlannedJob>> = BTreeMap::new();
    for job in due {
        let base = job.position / most * most;
        let task = Some((job.position - base) as u64);
        parts.entry((job.attempt, base)).or_default().push(PlannedJob { due: job, task });
    }
    let parts = parts.into_iter();
    parts.map(|((attempt, base), jobs)| ArrayPart { base, attempt, jobs }).collect()
}

/// Indices as sbatch takes them: `0-2,7`.
fn ranges(indices: &[u64]) -> String {
    let mut sorted = indices.to_vec();
    sorted.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for index in sorted {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => ranges.push((index, index)),
        }
    }
    let texts: Vec<String> = ranges
        .into_iter()
        .map(
            |(first, last)| {
                if first == last { first.to_string() } else { format!("{first}-{last}") }
            },
        )
        .collect();
    texts.join(",")
}

/// The nodes that a later try avoids, besides those that the user excluded: all that failed in this fleet.
fn excluded(slurm: &SlurmFleet, options: &SbatchOptions, attempt: u32) -> Option<String> {
    if attempt == 1 {
        return None;
    }
    let mut nodes: Vec<&str> = options.value("exclude").into_iter().collect();
    for (fact, _) in slurm.jobs.iter().filter_map(|job| job.last_fact.as_ref()) {
        if let Some(node) = fact.node.as_deref().filter(|_| fact.state == JobState::NodeFail)
            && !nodes.contains(&node)
        {
            nodes.push(node);
        }
    }
    (!nodes.is_empty()).then(|| nodes.join(","))
}

/// The arguments of sbatch: options, the script, and the script's own arguments. The user's options are not in the script, where
/// variables such as SBATCH_PARTITION would win over them.
fn arguments(folder: &FleetFolder, own: &[String], base: usize, attempt: u32) -> Vec<String> {
    let mut arguments = vec!["--parsable".to_owned()];
    arguments.extend(own.iter().cloned());
    arguments.push(folder.script().to_string_lossy().into_owned());
    arguments.push(base.to_string());
    arguments.push(attempt.to_string());
    arguments
}

/// Submits jobs. The inner error is Slurm's refusal, in its words.
fn submit(
    submission: Submission,
    report: &mut SubmitReport,
) -> Result<std::result::Result<(), String>> {
    let mut answer = client::run("sbatch", &submission.arguments)?;
    if let Some(arguments) = submission.on_any_node.filter(|_| !answer.is_success) {
        answer = client::run("sbatch", &arguments)?;
    }
    let job = submitted_job(&answer.stdout).filter(|_| answer.is_success);
    let Some(job) = job else {
        let silent = "sbatch failed and gave no reason".to_owned();
        let why = if answer.complaint.is_empty() { silent } else { answer.complaint };
        return Ok(Err(why));
    };
    let submitted_unix_ns = plumb_machine::now().unix_ns;
    for planned in submission.jobs {
        report.jobs.push(SlurmJob {
            position: planned.due.position,
            attempt: planned.due.attempt,
            job,
            task: planned.task,
            submitted_unix_ns,
            last_fact: None,
        });
    }
    Ok(Ok(()))
}

/// What would be submitted: the script, and the commands as a person would type them.
fn dry_run(script: &str, submissions: &[Submission], wants_json: bool) -> String {
    const SHOWN: usize = 20;
    let mut commands: Vec<String> = Vec::new();
    for submission in submissions {
        let words = submission.arguments.iter().map(String::as_str);
        commands.push(format!("sbatch {}", typed(words)));
    }
    if wants_json {
        let document = serde_json::json!({
            "schema": "plumb.fleet-script/1",
            "script": script,
            "commands": commands,
        });
        return document.to_string();
    }
    let mut text = script.to_owned();
    for command in commands.iter().take(SHOWN) {
        text += &format!("# {command}\n");
    }
    let hidden = commands.len().saturating_sub(SHOWN);
    if hidden > 0 {
        text += &format!("# and {hidden} more\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{DueJob, arrays, due, excluded, ranges};
    use crate::fleet::slurm::options::SbatchOptions;
    use plumb_model::{FleetMachineRecord, Id, JobFact, JobState, SlurmFleet, SlurmJob};

    fn machines(count: usize) -> Vec<FleetMachineRecord> {
        let mut machines = Vec::new();
        for position in 0..count {
            let name = format!("n{position}");
            machines.push(FleetMachineRecord { name, run: Id::nil(), end: None });
        }
        machines
    }

    fn fleet(queued: usize) -> SlurmFleet {
        SlurmFleet {
            fleet: Id::nil(),
            folder: "/srv/fleet".to_owned(),
            options: Vec::new(),
            is_every: false,
            queued: Some(queued),
            jobs: Vec::new(),
            collected: Vec::new(),
        }
    }

    fn job(position: usize, attempt: u32, state: JobState) -> SlurmJob {
        let fact = JobFact { state, reason: None, node: Some(format!("n{position}")), exit: None };
        SlurmJob {
            position,
            attempt,
            job: 7,
            task: Some(position as u64),
            submitted_unix_ns: 0,
            last_fact: Some((fact, 0)),
        }
    }

    fn positions(slurm: &SlurmFleet, repeated: Vec<DueJob>) -> Vec<usize> {
        due(slurm, &machines(5), repeated).iter().map(|due| due.position).collect()
    }

    #[test]
    fn the_queue_is_filled_up_to_its_limit() {
        let mut slurm = fleet(2);
        assert_eq!(positions(&slurm, Vec::new()), [0, 1]);
        slurm.jobs = vec![job(0, 1, JobState::Completed), job(1, 1, JobState::Running)];
        assert_eq!(positions(&slurm, Vec::new()), [2]);
        let repeated = vec![DueJob { position: 0, attempt: 2, node: None }];
        assert_eq!(positions(&slurm, repeated), [0]);
    }

    #[test]
    fn arrays_have_indices_that_slurm_takes() {
        let all = due(&fleet(5000), &machines(2500), Vec::new());
        let parts = arrays(all, 1001);
        let shapes: Vec<(usize, usize)> =
            parts.iter().map(|part| (part.base, part.jobs.len())).collect();
        assert_eq!(shapes, [(0, 1001), (1001, 1001), (2002, 498)]);
        let last = &parts[1].jobs[1000];
        assert_eq!((last.due.position, last.task), (2001, Some(1000)));
        let tries = [(3, 2), (4, 2), (1002, 2), (9, 3)];
        let due = tries.map(|(position, attempt)| DueJob { position, attempt, node: None });
        let parts = arrays(due.to_vec(), 1001);
        let shapes: Vec<(usize, u32)> =
            parts.iter().map(|part| (part.base, part.attempt)).collect();
        assert_eq!(shapes, [(0, 2), (1001, 2), (0, 3)]);
        assert_eq!(ranges(&[7, 0, 1, 2, 4]), "0-2,4,7");
    }

    #[test]
    fn later_tries_avoid_nodes_that_failed() {
        let options = SbatchOptions::read("-x n9", false).unwrap();
        let mut slurm = fleet(9);
        slurm.jobs = vec![
            job(0, 1, JobState::NodeFail),
            job(1, 1, JobState::Timeout),
            job(2, 1, JobState::NodeFail),
        ];
        assert_eq!(excluded(&slurm, &options, 2).as_deref(), Some("n9,n0,n2"));
        assert_eq!(excluded(&slurm, &options, 1), None);
    }
}
