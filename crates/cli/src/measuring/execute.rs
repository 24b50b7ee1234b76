//! From a plan to a stored run.

use std::sync::Once;
use std::thread;
use std::time::Duration;

use plumb_analysis::{FailedInvocations, RunFinding};
use plumb_engine::{Ended, EngineError, Identity, RunContext, SharedGate, SystemClock};
use plumb_keeper::{LockError, MeasuringLock};
use plumb_launch::{KeeperLauncher, LaunchRefusal, LauncherSettings, SlotReport};
use plumb_model::{
    EventSink, FLEET_LABEL, Host, Id, KnownSecrets, Machine, MissingKind, RunRecord, RunStatus,
    Target,
};
use plumb_query::SinceLastRun;
use plumb_store::{SecretSalt, Store, short};

use crate::error::{CommandError, Result};
use crate::measuring::job::MeasuringJob;
use crate::measuring::listeners::{Listeners, RunProgress};
use crate::measuring::live::LivePage;
use crate::measuring::run_monitors::recorder;
use crate::measuring::setup::Setup;
use crate::planning::secrets;
use crate::ui::Ui;
use crate::{interrupt, locate};

/// How long to sleep between two tries for the measuring lock.
const LOCK_PAUSE: Duration = Duration::from_millis(200);

/// A run that was carried out and stored.
pub struct StoredRun {
    /// Where it is stored.
    pub store: Store,
    /// What is stored of it.
    pub record: RunRecord,
    /// What it shows.
    pub finding: RunFinding,
    /// How it ended.
    pub ended: Ended,
}

/// Carries a plan out and stores the run.
///
/// # Errors
/// When it can't be begun or could not go on.
pub fn execute(setup: Setup, mut job: MeasuringJob<'_>, ui: &Ui) -> Result<StoredRun> {
    // Before the lock: nobody should wait for another run only to learn that the store can't be opened.
    let store = Store::open(locate::store(job.store)?)?;
    let lock = if job.lock { Some(take_lock(ui)?) } else { None };
    // While the lock was waited for, somebody else may have completed the run.
    let before = job.before.as_ref().map(|before| interrupted(&store, before.run));
    job.before = before.transpose()?;
    let run = job.before.as_ref().map_or_else(plumb_machine::fresh_id, |record| record.run);
    let ready = ReadyRun::of(setup, &mut job, run, store.secret_salt()?, ui)?;
    let live = job.live.then(|| LivePage::of(run, store.path())).transpose()?;
    let mut listeners = Listeners {
        store: store.writer()?,
        progress: RunProgress::new(&job.plan, ui),
        full: None,
        page: live.as_ref(),
        announce: Some(ui.clone()),
    };
    let ended = ready.carry_out(&job, None, &mut listeners);
    // After the cleaning: the next run must not start next to what this one left.
    drop(lock);
    listeners.progress.finish();
    if let Some(page) = live {
        page.finish();
    }
    // Only now: an error before would leave the progress lines and the live page behind.
    let ended = ended?;
    if let Some(why) = &ended.unclean {
        ui.warn(&format!("could not clean up: {why}"));
    }
    StoredRun::of(store, run, ended)
}

impl StoredRun {
    /// A run that is stored whole, with what it shows.
    ///
    /// # Errors
    /// When it cannot be read back.
    pub fn of(store: Store, run: Id, ended: Ended) -> Result<Self> {
        let record = store.record(run)?;
        plumb_query::keep(&store, &record)?;
        let finding = plumb_query::of_run(&store, &record, SinceLastRun::IfItTells)?;
        Ok(Self { store, record, finding, ended })
    }
}

/// A run on a machine that is prepared for it.
pub struct ReadyRun {
    launcher: KeeperLauncher,
    identity: Identity,
}

impl ReadyRun {
    /// Prepares the machine. Secrets are taken out of the plan, with placeholders by this salt.
    ///
    /// # Errors
    /// When the machine cannot be prepared as the plan wants it, or is not the one of the interrupted run.
    pub fn of(
        setup: Setup,
        job: &mut MeasuringJob<'_>,
        run: Id,
        salt: SecretSalt,
        ui: &Ui,
    ) -> Result<Self> {
        let host = host(job, ui)?;
        let mut secrets = secrets::take_out(&mut job.plan, salt, std::mem::take(&mut job.secrets))?;
        let mut command = job.command.clone().unwrap_or_else(|| {
            std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect()
        });
        if job.plan.hides_secrets {
            command = secrets::without_secrets(&command, salt, &mut secrets);
        }
        if !locate::root().path("/proc/stat").exists() {
            ui.warn(
                "/proc is not mounted, so plumb can't see what else runs: mount -t proc proc /proc",
            );
        }
        let mut launcher = launcher(setup, job, secrets);
        let prepared = launcher.prepare_machine(&job.plan.points).map_err(unprepared)?;
        prepared.notes.iter().for_each(|note| ui.say(note));
        let identity = identity(job, run, command, host, &launcher, prepared);
        Ok(Self { launcher, identity })
    }

    /// The machine on which it runs.
    pub fn machine(&self) -> &Machine {
        &self.identity.target.machine
    }

    /// Carries the plan out, and leaves the machine as it was. Each invocation waits at the gate, if there is one, for other machines.
    ///
    /// # Errors
    /// When the run could not go on.
    pub fn carry_out(
        mut self,
        job: &MeasuringJob<'_>,
        gate: Option<&dyn SharedGate>,
        sink: &mut dyn EventSink,
    ) -> Result<Ended> {
        let mut recorder = recorder(&job.plan)?;
        recorder.only = job.watched;
        let context = RunContext {
            clock: &SystemClock,
            monitors: &mut recorder,
            interrupted: &interrupt::is_interrupted,
            gate,
        };
        let before = job.before.as_ref();
        let ended =
            plumb_engine::run(&job.plan, before, &self.identity, context, &mut self.launcher, sink);
        // The keeper ends with its launcher and removes the folders; if it was killed, this process does both in its place.
        drop(self.launcher);
        plumb_keeper::stand_in(&job.folders.made());
        ended.map_err(ended_early)
    }
}

/// A run of which all points were measured.
///
/// # Errors
/// When it was interrupted, or a point could not be measured or failed.
pub fn complete(measured: StoredRun) -> Result<StoredRun> {
    if measured.ended.interrupted {
        return Err(CommandError::interrupted("interrupted; the runs so far are stored")
            .hint("plumb show --runs    lists them"));
    }
    if let Some(missing) = measured.record.unsupported.first() {
        let why = format!("can't compare: {}", missing.why);
        let error = match missing.kind() {
            MissingKind::Command => CommandError::usage(why),
            _ => CommandError::nothing(why),
        };
        return Err(error.hint(&missing.fix));
    }
    if let Some(failed) = measured.finding.failed.first() {
        let FailedInvocations { point, why, times, of, .. } = failed;
        return Err(CommandError::failed(format!(
            "{} failed in {times} of {of} invocations: {why}",
            point.name
        )));
    }
    Ok(measured)
}

fn launcher(setup: Setup, job: &MeasuringJob<'_>, secrets: KnownSecrets) -> KeeperLauncher {
    let settings = LauncherSettings {
        dir: job.folders.dir.clone(),
        scratch: job.folders.scratch.clone(),
        facts: setup.facts,
        companions: job.plan.companions.clone(),
        preparation: job.plan.preparation.clone(),
        root: locate::root(),
        interrupted: interrupt::is_interrupted,
        seed: job.plan.seed,
        secrets,
    };
    KeeperLauncher::new(setup.keeper, settings)
}

/// Who measures, by which command line, on the machine as it is prepared.
fn identity(
    job: &MeasuringJob<'_>,
    run: Id,
    command: Vec<String>,
    host: Host,
    launcher: &KeeperLauncher,
    prepared: SlotReport,
) -> Identity {
    let root = locate::root();
    let target = plumb_machine::target(&root, host, &job.folders.dir);
    let with_far_ends = plumb_machine::with_far_ends(target.environment, launcher.far_ends());
    let by_user = job.plan.prepared(None);
    let environment = plumb_machine::with_fact(&with_far_ends, "prepared", by_user);
    Identity {
        run,
        plumb: env!("CARGO_PKG_VERSION").into(),
        command,
        owner: plumb_machine::owner(&root),
        target: Target { environment, ..target },
        prepared,
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
        RunStatus::Interrupted if is_of_other_machine(&record) => {
            Err(CommandError::usage(format!("run {name} was measured on another machine"))
                .hint("such a run cannot be completed later; start it again with --on"))
        }
        RunStatus::Interrupted => Ok(record),
        RunStatus::Complete => Err(CommandError::usage(format!("run {name} is complete"))
            .hint("plumb show --runs lists the runs; plumb run starts a new one")),
        RunStatus::Running => Err(CommandError::usage(format!("run {name} is still running"))
            .hint("plumb show --runs lists the runs")),
    }
}

/// Whether the run was made for a command with `--on` or `--inventory`.
fn is_of_other_machine(record: &RunRecord) -> bool {
    let mut options = record.command.iter().take_while(|word| *word != "--");
    record.plan.labels.contains_key(FLEET_LABEL)
        || options.any(|word| {
            let name = word.split('=').next().unwrap_or_default();
            ["--on", "--inventory"].contains(&name)
        })
}

/// The host that carries a job out. A run that is completed stays on its host.
///
/// # Errors
/// When it was begun on another one, or its name is none.
fn host(job: &MeasuringJob<'_>, ui: &Ui) -> Result<Host> {
    let here = locate::host(job.host.as_ref())?;
    let before = job.before.as_ref().and_then(|run| Some((run, &run.targets.first()?.host)));
    let host = match before {
        Some((_, before)) if before.is_named() && !here.is_named() => before.clone(),
        Some((run, before)) if !before.may_be(&here) => {
            let name = short(run.run);
            let error = CommandError::usage(format!(
                "run {name} was started on host {before}, but this is {here}"
            ));
            return Err(error.hint(format!(
                "plumb run --resume {name} --host {before}    if it is the same host"
            )));
        }
        _ => here,
    };
    if host.known().is_none() {
        say_unknown(ui);
    }
    Ok(host)
}

fn say_unknown(ui: &Ui) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        ui.say(
            "this host has no machine id, so plumb can't distinguish it from others of its kind; set a name with --host NAME or PLUMB_HOST",
        );
    });
}

/// Waits for the lock.
///
/// # Errors
/// When the system refuses it, or the user interrupts.
pub fn take_lock(ui: &Ui) -> Result<MeasuringLock> {
    let mut is_said = false;
    loop {
        match MeasuringLock::try_take("plumb") {
            Ok(lock) => return Ok(lock),
            Err(LockError::System(why)) => {
                return Err(CommandError::nothing(why).hint("--no-lock measures without it"));
            }
            Err(held) => {
                if !is_said {
                    ui.say(&format!("{held}; waiting until it ends (--no-lock measures anyway)"));
                    is_said = true;
                }
                if interrupt::is_interrupted() {
                    return Err(CommandError::interrupted("interrupted while waiting"));
                }
                thread::sleep(LOCK_PAUSE);
            }
        }
    }
}

/// Why a run could not go on.
fn ended_early(error: EngineError) -> CommandError {
    match error {
        EngineError::Sink(why) => CommandError::file(why)
            .hint("plumb show last            shows what is stored so far")
            .hint("plumb run --resume         completes the run once there is room"),
        EngineError::Fatal(why) => CommandError::bug(why)
            .hint("plumb show last            shows what is stored so far")
            .hint("plumb run --resume         continues the run"),
        EngineError::Companion(why) => CommandError::failed(why),
        EngineError::Unsupported { why, fix } => {
            let error = CommandError::nothing(why);
            if fix.is_empty() { error } else { error.hint(fix) }
        }
    }
}

/// Why the machine can't be prepared as the user wants it.
fn unprepared(refusal: LaunchRefusal) -> CommandError {
    match refusal {
        LaunchRefusal::Unsupported { why, fix } if fix.is_empty() => CommandError::nothing(why),
        LaunchRefusal::Unsupported { why, fix } => CommandError::nothing(why).hint(fix),
        LaunchRefusal::Failed(why) | LaunchRefusal::WrongResult(why) => CommandError::failed(why),
        LaunchRefusal::OutOfTime => CommandError::failed(refusal.to_string()),
        LaunchRefusal::Interrupted => CommandError::interrupted("interrupted while preparing"),
        LaunchRefusal::Fatal(why) => CommandError::bug(why),
    }
}
