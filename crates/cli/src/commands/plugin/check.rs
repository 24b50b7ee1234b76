//! `plumb plugin check`: talks to a plug-in as plumb would, and says what is wrong with it.

use std::path::Path;
use std::time::Duration;

use plumb_engine::{Conversation, KeeperLauncher, LauncherSettings, Refusal, StartSpec};
use plumb_keeper::Keeper;
use plumb_keeper::SpawnOptions;
use plumb_model::{Description, PlannedPoint, Point, Program, Role, SearchEffort, Settings, Value};
use plumb_plugins::{cache, rules};
use plumb_protocol::{PROTOCOL, Reply, Request};

use crate::commands::plugin::checklist::{Checklist, State};
use crate::commands::plugin::outcomes::{ended, note, wrong};
use crate::commands::plugin::{roles, workload};
use crate::error::{CommandError, Exit, Result};
use crate::measuring::folders::folders;
use crate::measuring::job::Place;
use crate::measuring::setup::Setup;
use crate::planning::{catalogue, manifest};
use crate::ui::Ui;
use crate::{interrupt, locate};

/// Seed of the check: any will do.
const SEED: u64 = 1;
/// Longest that a plug-in may take to say what it is, as when plumb lists it.
const DESCRIBE_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks it; every step is a line, and a failed one makes the exit code 4.
pub fn check(path: &Path, ui: &Ui) -> Result<Exit> {
    if !path.exists() {
        let error = CommandError::usage(format!("no plug-in at {}", path.display()));
        return Err(error.hint("a plug-in is an executable, or a folder with a plumb-plugin.toml"));
    }
    let mut list = Checklist::new(ui);
    let next = format!("plumb run {}", with_slash(path));
    let Some(program) = program(path, &mut list) else { return list.finish(None, &next) };
    let mut setup = Setup::start()?;
    let Some(description) = describe(&mut setup.keeper, &program, &mut list)? else {
        return list.finish(None, &next);
    };
    for rule in rules::judge(&description, plumb_workloads::find(&description.id).is_some()) {
        list.judge(rule.name, rule.verdict);
    }
    // What was kept may be older than what the plug-in reads besides itself.
    if let Some(file) = catalogue::kept(&program) {
        cache::write(&file, &description);
    }
    let all_threads = setup.all_threads();
    match Point::new(&description, &Settings::new(), all_threads) {
        Ok(point) => {
            let usual = planned(point, &description, program.clone());
            let searched = searched(&description, all_threads);
            let searched = searched.map(|point| planned(point, &description, program));
            try_out(setup, usual, searched, &mut list)?;
        }
        Err(_) => list.add("start", State::Skipped, "it has no point to start with"),
    }
    list.finish(Some(&description.id), &next)
}

/// How the path is typed so that `run` takes it for a path.
fn with_slash(path: &Path) -> String {
    let shown = path.display().to_string();
    if shown.contains('/') { shown } else { format!("./{shown}") }
}

fn program(path: &Path, list: &mut Checklist) -> Option<Program> {
    match manifest::program(path) {
        Ok(program) => {
            list.add("program", State::Ok, program.argv.join(" "));
            Some(program)
        }
        Err(error) => {
            let hints: String =
                error.hints().iter().map(|hint| format!("; hint: {hint}")).collect();
            list.add("program", State::Failed, format!("{error}{hints}"));
            None
        }
    }
}

/// The point at which its limit is searched, where it has one.
fn searched(description: &Description, all_threads: u64) -> Option<Point> {
    let parameter = description.parameters.iter().find(|it| it.search.is_some())?;
    let word = Value::Text(SearchEffort::Quick.word().to_owned());
    Point::new(description, &[(parameter.name.clone(), word)].into(), all_threads).ok()
}

fn planned(point: Point, description: &Description, program: Program) -> PlannedPoint {
    let description = description.at(&point.settings);
    let preparation = Vec::new();
    PlannedPoint {
        point,
        description,
        program,
        sample_ns: None,
        sampling: None,
        rules: None,
        title: None,
        capped: None,
        preparation,
    }
}

/// `hello`, `describe` and `stop`, as every command of plumb does it.
fn describe(
    keeper: &mut Keeper,
    program: &Program,
    list: &mut Checklist,
) -> Result<Option<Description>> {
    let mut conversation =
        match Conversation::open(keeper, &program.argv, &SpawnOptions::default(), DESCRIBE_TIMEOUT)
        {
            Ok(conversation) => conversation,
            Err(Refusal::Failed(why)) => {
                let hint = manifest::starting_hint(program);
                let hint = hint.map(|hint| format!("; hint: {hint}")).unwrap_or_default();
                list.add("hello", State::Failed, format!("{why}{hint}"));
                return Ok(None);
            }
            Err(refusal) => return note(list, "hello", &refusal).map(|()| None),
        };
    list.add("hello", State::Ok, format!("speaks protocol {PROTOCOL}"));
    let described = conversation.ask(Request::Describe, DESCRIBE_TIMEOUT);
    let description = match described.map_err(|refusal| conversation.explain(refusal)) {
        Ok(Reply::Description { description }) => description,
        other => {
            conversation.kill(keeper);
            wrong(list, "describe", other)?;
            return Ok(None);
        }
    };
    list.add("describe", State::Ok, &*description.summary);
    let again = conversation.ask_with_unknown_field(Request::Describe, DESCRIBE_TIMEOUT);
    if unknown_field(list, again.map_err(|refusal| conversation.explain(refusal)), &description)? {
        ended(list, "exit", conversation.stop(keeper))?;
    } else {
        conversation.kill(keeper);
    }
    Ok(Some(description))
}

/// Whether it goes on after a field that it does not know.
fn unknown_field(
    list: &mut Checklist,
    again: std::result::Result<Reply, Refusal>,
    before: &Description,
) -> Result<bool> {
    const NAME: &str = "unknown-fields";
    match again {
        Ok(Reply::Description { description }) if description == *before => {
            list.add(NAME, State::Ok, "ignored, so later versions can add some");
            Ok(true)
        }
        Ok(Reply::Description { .. }) => {
            let why = "it describes itself differently when asked again";
            list.add(NAME, State::Failed, why);
            Ok(true)
        }
        other => wrong(list, NAME, other).map(|()| false),
    }
}

/// Starts it at its defaults in every role that it has.
fn try_out(
    mut setup: Setup,
    planned: PlannedPoint,
    searched: Option<PlannedPoint>,
    list: &mut Checklist,
) -> Result<()> {
    let (scratch, dir) = folders(&mut setup.keeper, &Place::Scratch)?;
    let (facts, companions) = (setup.facts, Vec::new());
    let (preparation, root) = (Vec::new(), locate::root());
    let interrupted = interrupt::is_interrupted;
    let settings = LauncherSettings {
        dir,
        scratch,
        facts,
        companions,
        preparation,
        root,
        interrupted,
        seed: SEED,
    };
    let mut launcher = KeeperLauncher::new(setup.keeper, settings);
    let spec = |role| StartSpec { planned: &planned, role, seed: SEED };
    let is = |role| planned.description.can_be(role);
    let has_fixture = planned.description.fixture.is_some();
    if has_fixture && !roles::fixture(&mut launcher, spec(Role::Workload), list)? {
        return Ok(());
    }
    if is(Role::Workload) {
        // Where the default is to search, or nothing else is measured, once is enough.
        let usual = Some(&planned).filter(|it| it.description.searched().is_none());
        let usual = usual.filter(|it| !it.description.metrics.is_empty() || searched.is_none());
        for planned in usual.into_iter().chain(&searched) {
            let spec = StartSpec { planned, role: Role::Workload, seed: SEED };
            workload::check(&mut launcher, spec, list)?;
        }
    }
    for role in [Role::Load, Role::Monitor].into_iter().filter(|role| is(*role)) {
        roles::stream(&mut launcher, spec(role), list)?;
    }
    if is(Role::Preparation) {
        roles::preparation(&mut launcher, spec(Role::Preparation), list)?;
    }
    if has_fixture || is(Role::Server) { roles::clean(&mut launcher, list) } else { Ok(()) }
}
