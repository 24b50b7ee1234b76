//! What `run` and `exec` share: from a plan to a stored run and its scorecard.

use std::fs;
use std::path::{Path, PathBuf};

use plumb_engine::{
    Done, Ended, EngineError, Identity, KeeperLauncher, LauncherSettings, Means, Refusal,
    SystemClock, Watch,
};
use plumb_keeper::preparation::{Part, Step, parse, resolve};
use plumb_keeper::{Keeper, LockError, MeasuringLock};
use plumb_model::{
    Event, EventSink, Facts, Goal, Id, Plan, Readings, Role, RunRecord, RunStatus, SinkError,
    Stamped, Target,
};
use plumb_monitors::Recorder;
use plumb_report::{View, json, scorecard};
use plumb_store::{Store, short};

use crate::cli::{PrepareArgs, ShowFormat};
use crate::commands::serve::LivePage;
use crate::error::{CommandError, Exit, Result};
use crate::measuring::fail_on::FailPolicy;
use crate::measuring::progress::Progress;
use crate::measuring::side_by_side::copy_side_by_side;
use crate::ui::Ui;
use crate::{interrupt, locate};

/// How long to sleep between two tries for the measuring lock.
const LOCK_PAUSE: std::time::Duration = std::time::Duration::from_millis(200);

/// A keeper and the facts of the host: what is needed before a plan can be made.
pub struct Bench {
    /// The keeper; started before anything large is touched.
    pub keeper: Keeper,
    /// Facts for the plan and the workloads.
    pub facts: Facts,
}

impl Bench {
    /// Starts the keeper and reads the facts.
    pub fn set_up() -> Result<Self> {
        interrupt::listen();
        let keeper = Keeper::start(&locate::plumb()?)?;
        let facts = plumb_machine::facts(&locate::root(), &locate::plumb_for_others());
        Ok(Self { keeper, facts })
    }

    /// Keeps workloads to the CPUs that they are to be pinned to, so that `threads=all` means these.
    pub fn keep_to(&mut self, args: &PrepareArgs) {
        let root = locate::root();
        for preparation in args.set.iter().filter_map(|text| parse(text).ok()) {
            if let Ok(Step::Manner(Some(Role::Workload), Part::Pin(cpus) | Part::Cpuset(cpus))) =
                resolve(&root, &preparation)
            {
                self.facts.cpus.retain(|cpu| cpus.contains(cpu));
            }
        }
    }

    /// Number of CPUs that plumb may use.
    pub fn all_threads(&self) -> u64 {
        self.facts.cpus.len() as u64
    }
}

/// Where a run's files go.
pub enum Place<'p> {
    /// A fresh folder under this one, or under the current one.
    Under(Option<&'p Path>),
    /// Nothing is written to a target directory.
    Scratch,
}

/// What is to be done with a plan.
pub struct Job<'j> {
    /// The plan; its directory is set here.
    pub plan: Plan,
    /// The record of the interrupted run that is to be completed.
    pub before: Option<RunRecord>,
    /// Where files go.
    pub place: Place<'j>,
    /// The store.
    pub store: Option<&'j Path>,
    /// Whether to wait for other plumbs.
    pub lock: bool,
    /// Whether a point that the user named must be supported.
    pub explicit: bool,
    /// Whether programs that are compared are copied side by side first.
    pub copy: bool,
    /// What verdicts mean for the exit code.
    pub gate: FailPolicy,
    /// The only point beside which monitors read; None: all.
    pub watched: Option<usize>,
    /// Whether a page shows it while it goes on.
    pub live: bool,
}

impl<'j> Job<'j> {
    /// A new run of what the user named.
    pub fn new(plan: Plan, place: Place<'j>, store: Option<&'j Path>) -> Self {
        let (before, copy, gate, watched) = (None, false, FailPolicy::default(), None);
        let (lock, explicit, live) = (true, true, false);
        Self { plan, before, place, store, lock, explicit, copy, gate, watched, live }
    }
}

/// Carries a plan out, stores the run and shows its scorecard.
pub fn measure(bench: Bench, job: Job<'_>, ui: &Ui) -> Result<Exit> {
    let (explicit, gate) = (job.explicit, job.gate);
    let measured = carry_out(bench, job, ui)?;
    report(&measured, explicit, gate, ui)
}

/// A run that was carried out and stored.
pub struct Measured {
    /// Where it is stored.
    pub store: Store,
    /// What is stored of it.
    pub record: RunRecord,
    /// How it ended.
    pub ended: Ended,
}

/// Carries a plan out and stores the run.
///
/// # Errors
/// When it can't be begun or could not go on.
pub fn carry_out(mut bench: Bench, mut job: Job<'_>, ui: &Ui) -> Result<Measured> {
    let (scratch, dir) = folders(&mut bench.keeper, &job.place)?;
    job.plan.dir = dir.to_string_lossy().into_owned();
    if job.copy {
        copy_side_by_side(&mut job.plan, &scratch)?;
    }
    let store = Store::open(locate::store(job.store)?)?;
    let lock = if job.lock { Some(take_lock(ui)?) } else { None };
    // While the lock was waited for, somebody else may have completed the run.
    let before = job.before.as_ref().map(|before| interrupted(&store, before.run));
    job.before = before.transpose()?;
    let mut launcher = launcher(bench, &job.plan, &scratch, &dir);
    let done = launcher.prepare_machine(&job.plan.points).map_err(unprepared)?;
    done.notes.iter().for_each(|note| ui.say(note));
    let identity = identity(&job, &dir, done);
    let live = job.live.then(|| LivePage::of(identity.run, store.path())).transpose()?;
    let mut listeners = Listeners {
        store: store.writer()?,
        progress: Progress::new(&job.plan, ui),
        full: None,
        live: live.as_ref().map(|page| (page.url().to_owned(), ui.clone())),
    };
    let mut recorder = recorder(&job.plan)?;
    recorder.only = job.watched;
    let (clock, interrupted) = (&SystemClock, &interrupt::is_interrupted);
    let means = Means { clock, watch: &mut recorder, interrupted };
    let ended = plumb_engine::run(
        &job.plan,
        job.before.as_ref(),
        &identity,
        means,
        &mut launcher,
        &mut listeners,
    );
    drop(launcher);
    plumb_keeper::stand_in(&[&scratch, &dir]);
    drop(lock);
    listeners.progress.finish();
    if let Some(page) = live {
        page.finish();
    }
    let ended = ended.map_err(ended_early)?;
    if let Some(why) = &ended.unclean {
        ui.warn(&format!("could not clean up: {why}"));
    }
    let record = store.record(identity.run)?;
    Ok(Measured { store, record, ended })
}

/// The monitors of a plan, opened.
fn recorder(plan: &Plan) -> Result<Watching> {
    let wanted = plumb_monitors::wanted(&plan.monitors).map_err(CommandError::usage)?;
    Ok(Watching { recorder: Recorder::start(&locate::root(), &wanted), only: None, reads: false })
}

/// Monitors that read beside all points, or beside one.
struct Watching {
    recorder: Recorder,
    only: Option<usize>,
    reads: bool,
}

impl Watch for Watching {
    fn begin(&mut self, point: usize, worker: Option<u32>) {
        self.reads = self.only.is_none_or(|only| only == point);
        if self.reads {
            self.recorder.begin(worker);
        }
    }

    fn end(&mut self) -> Readings {
        if self.reads { self.recorder.end() } else { Readings::default() }
    }
}

/// The record of a run that can be completed.
///
/// # Errors
/// When it is complete already, or somebody carries it out.
pub fn interrupted(store: &Store, run: Id) -> Result<RunRecord> {
    let record = store.record(run)?;
    let name = short(run);
    match record.status {
        RunStatus::Interrupted => Ok(record),
        RunStatus::Complete => Err(CommandError::usage(format!("run {name} is complete"))
            .hint("plumb show --runs lists the runs; plumb run starts a new one")),
        RunStatus::Running => Err(CommandError::usage(format!("run {name} is still running"))
            .hint("plumb show --runs lists the runs")),
    }
}

/// Why a run could not go on.
fn ended_early(error: EngineError) -> CommandError {
    match error {
        EngineError::Sink(why) => CommandError::file(why)
            .hint("what was acknowledged is stored: plumb show last")
            .hint("plumb run --resume goes on once there is room"),
        EngineError::Fatal(why) => CommandError::bug(why)
            .hint("what was acknowledged is stored: plumb show last")
            .hint("plumb run --resume goes on from there"),
        EngineError::Companion(why) => CommandError::failed(why),
        EngineError::Unsupported { why, fix } => {
            let error = CommandError::nothing(why);
            if fix.is_empty() { error } else { error.hint(fix) }
        }
    }
}

/// The events go to the store first: what progress shows is already safe.
struct Listeners<W> {
    store: W,
    progress: Progress,
    full: Option<String>,
    /// The address of the run's page, which is told as soon as there is something on it.
    live: Option<(String, Ui)>,
}

impl<W: EventSink> EventSink for Listeners<W> {
    fn take(&mut self, event: &Stamped) -> std::result::Result<(), SinkError> {
        if let Some(why) = &self.full {
            return Err(SinkError(why.clone()));
        }
        if let Err(error) = self.store.take(event) {
            self.full = Some(error.0.clone());
            return Err(error);
        }
        if matches!(event.event, Event::RunStarted { .. }) {
            return Ok(());
        }
        if let Some((url, ui)) = self.live.take() {
            ui.say(&format!("live at {url}"));
        }
        self.progress.take(event);
        Ok(())
    }
}

/// Makes the two folders, scratch and target; the keeper removes them, whatever happens.
pub fn folders(keeper: &mut Keeper, place: &Place<'_>) -> Result<(PathBuf, PathBuf)> {
    let name = locate::fresh_name();
    let temporary = std::env::temp_dir();
    // Where there is no folder for temporary files (an empty chroot), the current one has to do.
    let here = || fs::canonicalize(".").unwrap_or_else(|_| PathBuf::from("/"));
    let temporary = if temporary.is_dir() { temporary } else { here() };
    let scratch = temporary.join(format!("{name}-scratch"));
    make(keeper, &scratch, "TMPDIR=FOLDER plumb …")?;
    let dir = match place {
        Place::Scratch => scratch.clone(),
        Place::Under(parent) => {
            let parent = parent.unwrap_or(Path::new("."));
            let full = fs::canonicalize(parent).map_err(|error| {
                CommandError::usage(format!("--dir {}: {error}", parent.display()))
                    .hint("name a folder that exists and can be written: --dir FOLDER")
            })?;
            let dir = full.join(&name);
            make(keeper, &dir, "--dir FOLDER")?;
            dir
        }
    };
    Ok((scratch, dir))
}

fn make(keeper: &mut Keeper, folder: &Path, hint: &str) -> Result<()> {
    let refused = |why: &dyn std::fmt::Display| {
        CommandError::usage(format!("the folder {} can't be made: {why}", folder.display()))
            .hint(format!("name one that can be written: {hint}"))
    };
    // The keeper and the workloads are told of folders in JSON.
    if folder.to_str().is_none() {
        return Err(refused(&"its path is not UTF-8"));
    }
    keeper.own(folder)?;
    fs::create_dir(folder).map_err(|error| refused(&error))
}

/// Waits for the lock.
fn take_lock(ui: &Ui) -> Result<MeasuringLock> {
    let mut told = false;
    loop {
        match MeasuringLock::try_take("plumb") {
            Ok(lock) => return Ok(lock),
            Err(LockError::System(why)) => {
                return Err(CommandError::nothing(why).hint("--no-lock measures without it"));
            }
            Err(held) => {
                if !told {
                    ui.say(&format!("{held}; waiting for it to end (--no-lock does not wait)"));
                    told = true;
                }
                if interrupt::is_interrupted() {
                    return Err(CommandError::interrupted("interrupted while waiting"));
                }
                std::thread::sleep(LOCK_PAUSE);
            }
        }
    }
}

fn launcher(bench: Bench, plan: &Plan, scratch: &Path, dir: &Path) -> KeeperLauncher {
    let settings = LauncherSettings {
        dir: dir.to_owned(),
        scratch: scratch.to_owned(),
        facts: bench.facts,
        companions: plan.companions.clone(),
        preparation: plan.preparation.clone(),
        root: locate::root(),
        interrupted: interrupt::is_interrupted,
        seed: plan.seed,
    };
    KeeperLauncher::new(bench.keeper, settings)
}

/// Why the machine can't be prepared as the user wants it.
fn unprepared(refusal: Refusal) -> CommandError {
    match refusal {
        Refusal::Unsupported { why, fix } if fix.is_empty() => CommandError::nothing(why),
        Refusal::Unsupported { why, fix } => CommandError::nothing(why).hint(fix),
        Refusal::Failed(why) => CommandError::failed(why),
        Refusal::Interrupted => CommandError::interrupted("interrupted while preparing"),
        Refusal::Fatal(why) => CommandError::bug(why),
    }
}

/// Who measures, on the machine as it is prepared.
fn identity(job: &Job<'_>, dir: &Path, done: Done) -> Identity {
    let root = locate::root();
    let environment = plumb_machine::environment(&root, dir);
    let prepared = job.plan.prepared(&[]);
    Identity {
        run: job.before.as_ref().map_or_else(plumb_machine::fresh_id, |record| record.run),
        plumb: env!("CARGO_PKG_VERSION").into(),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        owner: plumb_machine::owner(&root),
        target: Target {
            name: "local".into(),
            machine: plumb_machine::machine(&root),
            environment: plumb_machine::with_fact(&environment, "prepared", prepared),
        },
        done,
    }
}

fn report(measured: &Measured, explicit: bool, gate: FailPolicy, ui: &Ui) -> Result<Exit> {
    let Measured { store, record, ended } = measured;
    let finding = plumb_query::of_run(store, record)?;
    let view = View::new(&finding);
    if ui.wants_json() && matches!(record.plan.goal, Goal::Verdict { .. }) {
        let finding = plumb_analysis::compare_sides(record, &finding);
        ui.out(&crate::commands::compare::write(&finding, ShowFormat::Json, ui)?);
    } else if ui.wants_json() {
        ui.out(&json(&view).map_err(|error| CommandError::bug(error.to_string()))?);
    } else {
        ui.out(&scorecard(
            &view,
            &ui.terminal(),
            &crate::commands::show::command::closing(record, store),
        ));
    }
    let verdicts = gate.exits(&finding.against_first);
    Ok(verdicts.into_iter().chain([exit(record, explicit, ended)]).min().unwrap_or(Exit::Fine))
}

fn exit(record: &RunRecord, explicit: bool, ended: &Ended) -> Exit {
    let not_found = record.unsupported.iter().any(|it| it.why.starts_with("command not found"));
    let mut exits = vec![Exit::Fine];
    if ended.interrupted {
        exits.push(Exit::Interrupted);
    }
    if not_found && explicit {
        exits.push(Exit::Usage);
    }
    if ended.failed > 0 || ended.unclean.is_some() {
        exits.push(Exit::Failed);
    }
    let named_but_unsupported = explicit && ended.unsupported > 0;
    if named_but_unsupported || (ended.measured == 0 && ended.failed == 0 && !ended.interrupted) {
        exits.push(Exit::Nothing);
    }
    exits.into_iter().min().unwrap_or(Exit::Fine)
}
