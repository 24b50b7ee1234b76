//! `plumb plugin check`: talks to a plug-in as plumb would, and says what is wrong with it.

use std::path::Path;
use std::time::Duration;

use plumb_engine::{Conversation, KeeperLauncher, LauncherSettings, Order, Refusal, Stopped};
use plumb_keeper::Keeper;
use plumb_keeper::preparation::Manner;
use plumb_model::{Description, PlannedPoint, Point, Program, Role, Settings};
use plumb_protocol::{PROTOCOL, Reply, Request};

use super::checklist::{Checklist, State};
use crate::error::{CommandError, Exit, Result};
use crate::measuring::measure::{Bench, Place, folders};
use crate::planning::catalogue::reason;
use crate::planning::plugins::{cache, manifest as plugins, rules};
use crate::ui::Ui;

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
    let mut bench = Bench::set_up()?;
    let Some(description) = describe(&mut bench.keeper, &program, &mut list)? else {
        return list.finish(None, &next);
    };
    for rule in rules::judge(&description) {
        list.judge(rule.name, rule.verdict);
    }
    // What was kept may be older than what the plug-in reads besides itself.
    if let Some(file) = cache::file(&program) {
        cache::write(&file, &description);
    }
    match Point::new(&description, &Settings::new(), bench.all_threads()) {
        Ok(point) => try_out(bench, planned(point, &description, program), &mut list)?,
        Err(_) => list.add("start", State::Skipped, "it has no point to start at"),
    }
    list.finish(Some(&description.id), &next)
}

/// How the path is typed so that `run` takes it for a path.
fn with_slash(path: &Path) -> String {
    let shown = path.display().to_string();
    if shown.contains('/') { shown } else { format!("./{shown}") }
}

fn program(path: &Path, list: &mut Checklist) -> Option<Program> {
    match plugins::program(path) {
        Ok(program) => {
            list.add("program", State::Ok, program.argv.join(" "));
            Some(program)
        }
        Err(error) => {
            let hints: String = error.hints().iter().map(|hint| format!("; try: {hint}")).collect();
            list.add("program", State::Failed, format!("{error}{hints}"));
            None
        }
    }
}

fn planned(point: Point, description: &Description, program: Program) -> PlannedPoint {
    let description = description.clone();
    let preparation = Vec::new();
    PlannedPoint {
        point,
        description,
        program,
        sample_ns: None,
        title: None,
        capped: None,
        preparation,
    }
}

/// What stays when failures of the plug-in are noted: signals and plumb's own trouble.
pub fn note(list: &mut Checklist, name: &'static str, refusal: &Refusal) -> Result<()> {
    let why = reason(refusal);
    match refusal {
        Refusal::Interrupted => Err(CommandError::interrupted(why)),
        Refusal::Fatal(_) => Err(CommandError::bug(why)),
        Refusal::Unsupported { fix, .. } => {
            let state = if fix.is_empty() { State::Warning } else { State::Ok };
            let tell = if fix.is_empty() { "; it does not say what would mend it" } else { "" };
            list.add(name, state, format!("{why}{tell}"));
            Ok(())
        }
        Refusal::Failed(_) => {
            list.add(name, State::Failed, why);
            Ok(())
        }
    }
}

/// `hello`, `describe` and `stop`, as every command of plumb does it.
fn describe(
    keeper: &mut Keeper,
    program: &Program,
    list: &mut Checklist,
) -> Result<Option<Description>> {
    let mut conversation =
        match Conversation::open(keeper, &program.argv, &Manner::default(), DESCRIBE_TIMEOUT) {
            Ok(conversation) => conversation,
            Err(Refusal::Failed(why)) => {
                let hint = plugins::starting_hint(program, &why);
                let hint = hint.map(|hint| format!("; try: {hint}")).unwrap_or_default();
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

/// A reply that is not the expected one.
fn wrong(
    list: &mut Checklist,
    name: &'static str,
    reply: std::result::Result<Reply, Refusal>,
) -> Result<()> {
    match reply {
        Ok(other) => {
            let start: String = format!("{other:?}").chars().take(80).collect();
            list.add(name, State::Failed, format!("it answered with the wrong message: {start}"));
            Ok(())
        }
        Err(refusal) => note(list, name, &refusal),
    }
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
            list.add(NAME, State::Ok, "ignored, so that later versions can add some");
            Ok(true)
        }
        Ok(Reply::Description { .. }) => {
            let why = "asked twice, it describes itself differently";
            list.add(NAME, State::Failed, why);
            Ok(true)
        }
        other => wrong(list, NAME, other).map(|()| false),
    }
}

/// How a process ended.
pub fn ended(
    list: &mut Checklist,
    name: &'static str,
    stopped: std::result::Result<Stopped, Refusal>,
) -> Result<()> {
    match stopped {
        Ok(Stopped { left_behind: 0, .. }) => {
            list.add(name, State::Ok, "`stop` answered, exit status 0, no process left behind");
        }
        Ok(Stopped { left_behind, .. }) => list.add(
            name,
            State::Failed,
            format!("it left {left_behind} processes behind, which plumb killed; wait for them"),
        ),
        Err(refusal) => note(list, name, &refusal)?,
    }
    Ok(())
}

/// Starts it at its defaults in every role that it has.
fn try_out(mut bench: Bench, planned: PlannedPoint, list: &mut Checklist) -> Result<()> {
    let (scratch, dir) = folders(&mut bench.keeper, &Place::Scratch)?;
    let (facts, companions) = (bench.facts, Vec::new());
    let (preparation, root) = (Vec::new(), crate::locate::root());
    let interrupted = crate::interrupt::is_interrupted;
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
    let mut launcher = KeeperLauncher::new(bench.keeper, settings);
    let order = |role| Order { planned: &planned, role, seed: SEED };
    let is = |role| planned.description.can_be(role);
    let has_fixture = planned.description.fixture.is_some();
    if has_fixture && !super::roles::fixture(&mut launcher, order(Role::Workload), list)? {
        return Ok(());
    }
    if is(Role::Workload) {
        super::workload::check(&mut launcher, order(Role::Workload), list)?;
    }
    for role in [Role::Load, Role::Monitor].into_iter().filter(|role| is(*role)) {
        super::roles::stream(&mut launcher, order(role), list)?;
    }
    if is(Role::Preparation) {
        super::roles::preparation(&mut launcher, order(Role::Preparation), list)?;
    }
    if has_fixture || is(Role::Server) { super::roles::clean(&mut launcher, list) } else { Ok(()) }
}
