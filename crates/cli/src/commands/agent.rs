//! `plumb agent`: carries out the command of a plumb on another machine.

use std::collections::BTreeMap;
use std::fs;
use std::io::{stdin, stdout};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use clap::{Arg, ArgAction, Args, Command, FromArgMatches};
use plumb_agent::{
    AgentEnd, AgentTicket, AgentWork, EventSpool, LogLine, NearRequest, PlannedWork, SharedSpool,
    StartPosition, read_ticket, watch,
};
use plumb_engine::SharedGate;
use plumb_model::{KnownSecrets, Machine, Plan, RunRecord, SharedStart};
use plumb_store::SecretSalt;

use crate::commands::ab::AbArgs;
use crate::commands::baseline::BaselineArgs;
use crate::commands::exec::ExecArgs;
use crate::commands::run::RunArgs;
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::agent_command::AgentCommand;
use crate::interrupt;
use crate::locate;
use crate::measuring::execute::{ReadyRun, take_lock};
use crate::measuring::job::MeasuringJob;
use crate::measuring::setup::Setup;
use crate::measuring::target::{FilesPlace, folders};
use crate::planning::secrets;
use crate::ui::Ui;

/// Whether the near end was gone before the run ended.
static NEAR_END_GONE: AtomicBool = AtomicBool::new(false);
/// While it waits for a start, an agent looks this often whether it should stop.
const LOOK: Duration = Duration::from_millis(100);
/// No start is further ahead than this.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// After the near end is gone, a run ends within this time in order; then at once.
const END_WITHIN: Duration = Duration::from_secs(3);

/// Carry out the command of a plumb on another machine
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Remove this folder at the end; it has the binary
    #[arg(long)]
    folder: Option<PathBuf>,
}

impl Subcommand for AgentArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        agent(self, context.ui)
    }
}

/// Reads the ticket, and writes the event log. Errors go into the log, so that the near end can report them.
fn agent(args: &AgentArgs, ui: &Ui) -> Result<Exit> {
    let input = stdin().as_fd().try_clone_to_owned().map_err(|error| bug(&error))?;
    let (ticket, lines) = read_ticket(input).map_err(CommandError::failed)?;
    let mut setup = Setup::start()?;
    // Whatever happens from here on, the keeper removes it.
    let folder = own_folder(&mut setup, args.folder.as_deref())?;
    let output = stdout().as_fd().try_clone_to_owned().map_err(|error| bug(&error))?;
    let spool = EventSpool::begin(output, &ticket.nonce, env!("CARGO_PKG_VERSION"))
        .map_err(|error| CommandError::failed(error.0))?;
    let log = SharedSpool::of(spool);
    let (announce, announced) = channel();
    let gate = NearEndGate { log: log.clone(), announced };
    let answers = log.clone();
    let heed = move |request| match request {
        NearRequest::Clock(number) => {
            let monotonic_ns = plumb_machine::now().monotonic_ns;
            // If the near end is gone, its next request says so.
            let _ = answers.push(&LogLine::Clock { number, monotonic_ns });
        }
        NearRequest::Start(start) => drop(announce.send(start)),
        NearRequest::Stop | NearRequest::Gone => end_run(request),
    };
    watch(lines, heed).map_err(|error| bug(&error))?;
    let line = match carry_out(&ticket, setup, &folder, &gate, ui) {
        Ok(end) => LogLine::Ended(end),
        Err(error) => LogLine::Refused {
            exit: error.exit().number(),
            message: error.to_string(),
            hints: error.hints().to_vec(),
        },
    };
    log.end(&line).map_err(|error| CommandError::failed(error.0))?;
    Ok(Exit::Fine)
}

/// Where invocations wait until the near end announces when the samples of all machines begin.
struct NearEndGate {
    log: SharedSpool<OwnedFd>,
    announced: Receiver<SharedStart>,
}

impl SharedGate for NearEndGate {
    fn wait(&self, round: u32, turn: u32) -> Option<SharedStart> {
        let line = LogLine::AtStart(StartPosition { round, turn });
        // If the near end is gone, the run is interrupted.
        let _ = self.log.push(&line);
        while !interrupt::is_interrupted() {
            let Ok(start) = self.announced.recv_timeout(LOOK) else { continue };
            let now_ns = plumb_machine::now().monotonic_ns;
            let left = Duration::from_nanos(start.at_ns.saturating_sub(now_ns));
            // An honest near end announces it less than a second ahead.
            thread::sleep(left.min(LONGEST_WAIT));
            return Some(start);
        }
        None
    }
}

/// Ends the run, which the near end wants with both requests. If the near end is gone, the process does not wait long for that; its keeper
/// then ends all others and restores the machine.
fn end_run(request: NearRequest) {
    let own = rustix::process::getpid();
    if request == NearRequest::Gone {
        NEAR_END_GONE.store(true, Ordering::Relaxed);
    }
    // As a user does with Ctrl-C: once to end in order, twice to end at once.
    let _ = rustix::process::kill_process(own, rustix::process::Signal::TERM);
    if request == NearRequest::Gone {
        thread::sleep(END_WITHIN);
        let _ = rustix::process::kill_process(own, rustix::process::Signal::TERM);
    }
}

/// The folder with the binary, or a fresh one; its keeper removes it.
fn own_folder(setup: &mut Setup, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(folder) = given {
        setup.keeper.own(folder)?;
        return Ok(folder.to_path_buf());
    }
    let folder = std::env::temp_dir().join(format!("{}-agent", locate::fresh_name()));
    setup.keeper.own(&folder)?;
    fs::create_dir(&folder).map_err(|error| {
        CommandError::file(format!("can't make the folder {}: {error}", folder.display()))
    })?;
    Ok(folder)
}

fn carry_out(
    ticket: &AgentTicket,
    mut setup: Setup,
    folder: &Path,
    gate: &NearEndGate,
    ui: &Ui,
) -> Result<AgentEnd> {
    let salt = SecretSalt::of_digits(&ticket.salt)
        .ok_or_else(|| CommandError::bug("the ticket has no salt"))?;
    let command = match &ticket.work {
        AgentWork::Command { words, suites } => {
            let mut command = parsed(words)?;
            command.read_suites_from(&write_suites(suites, folder)?);
            command
        }
        AgentWork::Plan(work) => Box::new(PlannedCommand(*work.clone())),
    };
    let job = command.job(&mut setup, None, ui)?;
    let mut job = job.ok_or_else(|| CommandError::usage("there is nothing to measure"))?;
    job.command = Some(ticket.command.clone());
    job.host = ticket.host.known().map(|_| ticket.host.clone());
    job.plan.labels.extend(ticket.labels.clone());
    if let Some(before) = &ticket.before {
        // The stored plan has placeholders; the words have the secrets for which they stand.
        job.secrets = secrets::take_out(&mut job.plan, salt, KnownSecrets::default())?;
        job.plan = Plan { dir: job.plan.dir.clone(), ..before.plan.clone() };
        job.before = Some(before.clone());
    }
    let mut with_others: Option<&dyn SharedGate> = None;
    if ticket.together {
        with_others = Some(gate);
    }
    let explicit = job.explicit;
    let lock = if job.lock { Some(take_lock(ui)?) } else { None };
    let ready = ReadyRun::of(setup, &mut job, ticket.run, salt, ui)?;
    if let Some(before) = &ticket.before {
        refuse_other_machine(before, ready.machine())?;
    }
    let ended = ready.carry_out(&job, with_others, &mut gate.log.clone())?;
    drop(lock);
    Ok(AgentEnd {
        interrupted: ended.interrupted,
        measured: ended.measured,
        failed: ended.failed,
        unsupported: ended.unsupported,
        unclean: ended.unclean,
        explicit,
        near_end_gone: NEAR_END_GONE.load(Ordering::Relaxed),
    })
}

/// A name may stand for several machines, and a machine may have been replaced.
fn refuse_other_machine(before: &RunRecord, here: &Machine) -> Result<()> {
    let began_on = before.targets.last().map(|target| &target.machine.fingerprint);
    if began_on.is_some_and(|fingerprint| *fingerprint != here.fingerprint) {
        return Err(CommandError::failed(
            "the name now leads to another kind of machine than the one that began the run",
        ));
    }
    Ok(())
}

/// A plan that this kind of machine has carried out before.
struct PlannedCommand(PlannedWork);

impl AgentCommand for PlannedCommand {
    fn job<'j>(
        &'j self,
        setup: &mut Setup,
        store: Option<&'j Path>,
        _ui: &Ui,
    ) -> Result<Option<MeasuringJob<'j>>> {
        let work = &self.0;
        let here = plumb_machine::machine(&locate::root()).fingerprint;
        if work.fingerprint.as_ref().is_some_and(|wanted| *wanted != here) {
            return Err(CommandError::usage(
                "this is another kind of machine than the one that measured the baseline",
            )
            .hint("plumb baseline set NAME --on HOST    measures a baseline of it"));
        }
        let place = FilesPlace::Under { parent: work.dir.as_deref(), destroy: None };
        let folders = folders(&mut setup.keeper, &place)?;
        let dir = folders.dir.to_string_lossy().into_owned();
        let plan = Plan { dir, ..work.plan.clone() };
        Ok(Some(MeasuringJob {
            lock: work.waits_for_lock,
            explicit: false,
            ..MeasuringJob::new(plan, folders, store)
        }))
    }
}

/// The command of a ticket.
fn parsed(words: &[String]) -> Result<Box<dyn AgentCommand>> {
    // The near end has refused what is wrong, with all that clap can say about it.
    let refused = |error: clap::Error| CommandError::usage(error.to_string());
    let matches = Command::new("plumb")
        .no_binary_name(true)
        // How the near end shows the results does not matter here.
        .args([flag("json", None), flag("quiet", Some('q'))])
        .subcommands([
            RunArgs::augment_args(Command::new("run")),
            ExecArgs::augment_args(Command::new("exec")),
            AbArgs::augment_args(Command::new("ab")),
            BaselineArgs::augment_args(Command::new("baseline")),
        ])
        .try_get_matches_from(words)
        .map_err(refused)?;
    match matches.subcommand() {
        Some(("run", arguments)) => {
            Ok(Box::new(RunArgs::from_arg_matches(arguments).map_err(refused)?))
        }
        Some(("exec", arguments)) => {
            Ok(Box::new(ExecArgs::from_arg_matches(arguments).map_err(refused)?))
        }
        Some(("ab", arguments)) => {
            Ok(Box::new(AbArgs::from_arg_matches(arguments).map_err(refused)?))
        }
        Some(("baseline", arguments)) => {
            Ok(Box::new(BaselineArgs::from_arg_matches(arguments).map_err(refused)?))
        }
        _ => Err(CommandError::bug("an agent cannot carry out this command")),
    }
}

fn flag(name: &'static str, short: Option<char>) -> Arg {
    let flag = Arg::new(name).long(name).global(true).action(ArgAction::SetTrue);
    match short {
        Some(short) => flag.short(short),
        None => flag,
    }
}

/// Writes the suites of the near end to files, by their names there.
fn write_suites(
    suites: &BTreeMap<String, String>,
    folder: &Path,
) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    for (number, (name, text)) in suites.iter().enumerate() {
        let file = folder.join(format!("suite-{number}.toml"));
        fs::write(&file, text).map_err(|error| {
            CommandError::file(format!("can't write {}: {error}", file.display()))
        })?;
        files.insert(name.clone(), file);
    }
    Ok(files)
}

fn bug(error: &std::io::Error) -> CommandError {
    CommandError::bug(format!("the agent: {error}"))
}
