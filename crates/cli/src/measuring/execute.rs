//! From a plan to a stored run.

use std::path::Path;

use plumb_analysis::RunFinding;
use plumb_engine::{
    Ended, Identity, KeeperLauncher, LauncherSettings, RunContext, SlotReport, SystemClock,
};
use plumb_model::{Host, Plan, RunRecord, Target};
use plumb_query::SinceLastRun;
use plumb_store::Store;

use crate::error::Result;
use crate::measuring::failures::{ended_early, unprepared};
use crate::measuring::folders::folders;
use crate::measuring::host::host;
use crate::measuring::interrupted::interrupted;
use crate::measuring::job::Job;
use crate::measuring::listeners::Listeners;
use crate::measuring::live::LivePage;
use crate::measuring::lock::take_lock;
use crate::measuring::progress::Progress;
use crate::measuring::run_monitors::recorder;
use crate::measuring::setup::Setup;
use crate::measuring::side_by_side::copy_side_by_side;
use crate::ui::Ui;
use crate::{interrupt, locate};

/// A run that was carried out and stored.
pub struct Measured {
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
pub fn execute(mut setup: Setup, mut job: Job<'_>, ui: &Ui) -> Result<Measured> {
    let folders = folders(&mut setup.keeper, &job.place)?;
    let (scratch, dir) = (&folders.scratch, &folders.dir);
    job.plan.dir = dir.to_string_lossy().into_owned();
    if job.copy {
        copy_side_by_side(&mut job.plan, scratch)?;
    }
    let store = Store::open(locate::store(job.store)?)?;
    let lock = if job.lock { Some(take_lock(ui)?) } else { None };
    // While the lock was waited for, somebody else may have completed the run.
    let before = job.before.as_ref().map(|before| interrupted(&store, before.run));
    job.before = before.transpose()?;
    let host = host(&job, ui)?;
    let mut launcher = launcher(setup, &job.plan, scratch, dir);
    let done = launcher.prepare_machine(&job.plan.points).map_err(unprepared)?;
    done.notes.iter().for_each(|note| ui.say(note));
    let identity = identity(&job, host, dir, &launcher, done);
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
    let context = RunContext { clock, monitors: &mut recorder, interrupted };
    let ended = plumb_engine::run(
        &job.plan,
        job.before.as_ref(),
        &identity,
        context,
        &mut launcher,
        &mut listeners,
    );
    drop(launcher);
    plumb_keeper::stand_in(&folders.made());
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
    plumb_query::keep(&store, &record)?;
    let finding = plumb_query::of_run(&store, &record, SinceLastRun::IfItTells)?;
    Ok(Measured { store, record, finding, ended })
}

fn launcher(setup: Setup, plan: &Plan, scratch: &Path, dir: &Path) -> KeeperLauncher {
    let settings = LauncherSettings {
        dir: dir.to_owned(),
        scratch: scratch.to_owned(),
        facts: setup.facts,
        companions: plan.companions.clone(),
        preparation: plan.preparation.clone(),
        root: locate::root(),
        interrupted: interrupt::is_interrupted,
        seed: plan.seed,
    };
    KeeperLauncher::new(setup.keeper, settings)
}

/// Who measures, on the machine as it is prepared.
fn identity(
    job: &Job<'_>,
    host: Host,
    dir: &Path,
    launcher: &KeeperLauncher,
    prepared: SlotReport,
) -> Identity {
    let root = locate::root();
    let target = plumb_machine::target(&root, host, dir);
    let environment = plumb_machine::with_far_ends(target.environment, launcher.far_ends());
    let by_user = job.plan.prepared(None);
    let environment = plumb_machine::with_fact(&environment, "prepared", by_user);
    Identity {
        run: job.before.as_ref().map_or_else(plumb_machine::fresh_id, |record| record.run),
        plumb: env!("CARGO_PKG_VERSION").into(),
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        owner: plumb_machine::owner(&root),
        target: Target { environment, ..target },
        prepared,
    }
}
