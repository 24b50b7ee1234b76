//! `plumb baseline`: named sets of runs to check against.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand as Commands};
use plumb_agent::MachineAddress;
use plumb_model::{By, Host, Id, RunRecord, RunStatus};
use plumb_stats::regression_gate::HASTE_S;
use plumb_store::{Baseline, KeptFile, Store, short};
use plumb_suite::time_ns;
use plumb_text::{Style, Table, TableColumn, TextLine, clean, counted, time};
use plumb_units::parse_bytes;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::agent_command::AgentCommand;
use crate::fleet::arguments::{MachineArgs, has_fleet_label, refuse_options};
use crate::fleet::measure_on::{FleetRequest, FleetWork, carry_out};
use crate::fleet::outcome::{MachineRun, exit};
use crate::locate;
use crate::measuring::execute::execute;
use crate::measuring::job::{FailPolicy, MeasuringJob};
use crate::measuring::setup::Setup;
use crate::measuring::target::{TargetArgs, folders};
use crate::measuring::waiting::wait_until;
use crate::planning::arguments::{GoalArgs, by};
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::{kept, points, prepare, shell_syntax};
use crate::reading::runs;
use crate::ui::Ui;

/// Manage baselines: named sets of runs to check against
#[derive(Debug, Args)]
pub struct BaselineArgs {
    #[command(subcommand)]
    command: BaselineCommand,
}

#[derive(Debug, Commands)]
enum BaselineCommand {
    /// Make a baseline from fresh or stored runs
    Set(Box<SetArgs>),
    /// List the baselines
    List,
    /// Remove a baseline but keep its runs
    Remove {
        /// The baseline's name
        name: String,
    },
}

#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb baseline set good                            eight fresh runs of first-look
  plumb baseline set good --runs 8 --every 10m --of cpu.sieve,memory.copy
  plumb baseline set good last~7 last~6 last~5 last~4 last~3 last~2 last~1 last
  plumb baseline set good --on web1,web2             eight fresh runs of each machine, over ssh
  plumb baseline set good --keep                     also store the measured files, up to 64 MiB

A check needs at least six runs. Eight or more, spread over a longer time, find smaller changes.

--keep stores the program of each command and the files named in its arguments, or plumb itself for built-in workloads. \
A check that finds a regression measures them again. A program in a system directory is stored only if its arguments name no \
file: for `python3 x.py`, plumb stores x.py. Libraries and other files are not stored.")]
struct SetArgs {
    /// The baseline's name
    name: String,
    /// Stored runs [default: fresh ones]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Measure this many fresh runs
    #[arg(long = "runs", value_name = "N", default_value_t = 8)]
    fresh: usize,
    /// Start fresh runs at this interval [default: back to back]
    #[arg(long, value_name = "TIME")]
    every: Option<String>,
    /// Measure these suites or workloads
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "first-look")]
    of: Vec<String>,
    /// Store the measured files for checks, at most SIZE [default: 64MiB]
    #[arg(long, value_name = "SIZE", num_args = 0..=1, require_equals = true, default_missing_value = "64MiB")]
    keep: Option<String>,
    /// Use the stored runs of one host, or of all hosts of its kind
    #[arg(long, value_name = "WHAT", value_parser = by(), default_value = "host")]
    by: By,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    machines: MachineArgs,
    #[command(flatten)]
    goal: GoalArgs,
}

impl Subcommand for BaselineArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let store = context.store;
        let ui = context.ui;
        match &self.command {
            BaselineCommand::List => list(&runs::open(store)?, ui),
            BaselineCommand::Remove { name } => remove(name, store, ui),
            BaselineCommand::Set(args) => set(args, store, ui),
        }
    }
}

impl AgentCommand for BaselineArgs {
    fn read_suites_from(&mut self, files: &BTreeMap<String, PathBuf>) {
        if let BaselineCommand::Set(args) = &mut self.command {
            for name in &mut args.of {
                if let Some(file) = files.get(name) {
                    *name = file.to_string_lossy().into_owned();
                }
            }
        }
    }

    fn job<'j>(
        &'j self,
        setup: &mut Setup,
        store: Option<&'j Path>,
        _ui: &Ui,
    ) -> Result<Option<MeasuringJob<'j>>> {
        match &self.command {
            BaselineCommand::Set(args) => job(args, setup, store).map(Some),
            BaselineCommand::List | BaselineCommand::Remove { .. } => Ok(None),
        }
    }
}

fn remove(name: &str, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    // Opening a store to write makes a missing one; this reports that there is none.
    runs::open(store)?;
    let store = Store::open(locate::store(store)?)?;
    runs::baseline(&store, name)?;
    change(&store, name, &[])?;
    ui.say(&format!("removed the baseline {name}; its runs are still stored"));
    Ok(Exit::Fine)
}

fn set(args: &SetArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let name = &args.name;
    refuse_ambiguous(name)?;
    if args.fresh == 0 {
        return Err(CommandError::usage("--runs must be at least 1"));
    }
    let limit = args.keep.as_deref().map(parse_bytes).transpose()?;
    let FreshRuns { members, exit } = match args.machines.named()? {
        Some(machines) => measure_on_machines(args, machines, store, ui)?,
        None if args.runs.is_empty() => {
            FreshRuns { members: measure(args, limit, store, ui)?, exit: Exit::Fine }
        }
        None => {
            let store = runs::open(store)?;
            let members = stored(&args.runs, &store, ui)?;
            refuse_several_hosts(args, &store, &members)?;
            FreshRuns { members, exit: Exit::Fine }
        }
    };
    let store = Store::open(locate::store(store)?)?;
    let kept = match limit {
        Some(limit) => to_keep(args, &store, &members, limit)?,
        None => Vec::new(),
    };
    // Only now that all runs are there: an interrupted measurement leaves the old baseline as it is.
    store.keep_files(&members, &kept)?;
    change(&store, name, &members)?;
    if !kept.is_empty() {
        ui.say(&format!("kept {}", kept::list(&kept)));
    }
    warn_of_haste(&store, &members, ui)?;
    let runs = counted(members.len(), "run", "runs");
    let of_machines = if args.machines.are_named() { " --on HOST,…" } else { "" };
    ui.say(&format!(
        "baseline {name} has {runs}; plumb check --baseline {name}{of_machines}    checks against it"
    ));
    Ok(exit)
}

/// The runs of a baseline.
struct FreshRuns {
    members: Vec<Id>,
    /// Whether some machines could not measure.
    exit: Exit,
}

/// The files that these runs measured. Of stored runs, only this host can have them.
fn to_keep(args: &SetArgs, store: &Store, members: &[Id], limit: u64) -> Result<Vec<KeptFile>> {
    let here = locate::host(args.goal.execution.host.as_ref())?;
    let mut oldest_ns = i64::MAX;
    for summary in store.summaries()?.iter().filter(|summary| members.contains(&summary.run)) {
        oldest_ns = oldest_ns.min(summary.started_unix_ns);
        if !summary.host.may_be(&here) {
            let host = &summary.host;
            return Err(CommandError::usage(format!(
                "--keep: run {} was measured on host {host}, whose files are not here",
                short(summary.run)
            ))
            .hint("set the baseline on that host, or without --keep"));
        }
    }
    match members.last() {
        Some(newest) => kept::collect(&store.record(*newest)?.plan, limit, oldest_ns),
        None => Ok(Vec::new()),
    }
}

/// Runs that follow each other at once have not seen what differs between hours, days and boots.
fn warn_of_haste(store: &Store, members: &[Id], ui: &Ui) -> Result<()> {
    let summaries = store.summaries()?;
    let starts =
        summaries.iter().filter(|run| members.contains(&run.run)).map(|run| run.started_unix_ns);
    let (first, last) = starts.fold((i64::MAX, i64::MIN), |(a, b), at| (a.min(at), b.max(at)));
    #[expect(clippy::cast_precision_loss, reason = "a length of time")]
    let span_s = last.saturating_sub(first).max(0) as f64 * 1e-9;
    if members.len() > 1 && span_s < HASTE_S {
        let span = plumb_units::length(span_s);
        ui.warn(&format!(
            "all runs began within {span}, so small changes will be undecided: they could be normal variation from hour to hour or boot to boot (--every 1h spreads fresh runs)"
        ));
    }
    Ok(())
}

/// What differs between hosts would count as what differs between runs.
fn refuse_several_hosts(args: &SetArgs, store: &Store, members: &[Id]) -> Result<()> {
    let mut hosts: BTreeSet<Host> = BTreeSet::new();
    for run in members {
        hosts.extend(store.targets(*run)?.into_iter().map(|target| target.host));
    }
    hosts.remove(&Host::UNKNOWN);
    if args.by == By::Kind || hosts.len() < 2 {
        return Ok(());
    }
    let all_names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    let names = all_names.join(", ");
    let name = &args.name;
    let runs = args.runs.join(" ");
    Err(CommandError::usage(format!("these runs are from several hosts: {names}"))
        .hint(format!("plumb baseline set {name} {runs} --by kind    combines them")))
}

/// A name must not be what a run could be called by.
fn refuse_ambiguous(name: &str) -> Result<()> {
    let id_like = name.len() >= 4 && name.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let taken = name.is_empty() || name.contains(['=', ':', '~']) || name == "last" || id_like;
    if taken {
        return Err(CommandError::usage(format!("`{name}` could be mistaken for a run"))
            .hint("choose a name that contains a letter from g to z, and no `=`, `:` or `~`"));
    }
    Ok(())
}

fn change(store: &Store, name: &str, runs: &[Id]) -> Result<()> {
    let now = plumb_machine::now().unix_ns;
    store.set_baseline(name, runs, now, &mut plumb_machine::fresh_id)?;
    // Files that no baseline needs any longer would only fill the disk. A check also compares with the baseline as it was
    // first set.
    let mut needed = Vec::new();
    for baseline in store.baselines()? {
        let first = store.first_baseline(&baseline.name)?;
        needed.extend(first.map_or_else(Vec::new, |first| first.runs));
        needed.extend(baseline.runs);
    }
    Ok(store.drop_files_except(&needed)?)
}

fn stored(names: &[String], store: &Store, ui: &Ui) -> Result<Vec<Id>> {
    let summaries = store.summaries()?;
    let mut members = Vec::new();
    for name in names {
        let run = store.resolve(name)?;
        let complete = |summary: &&plumb_store::RunSummary| {
            summary.run == run && summary.status == RunStatus::Complete
        };
        if !summaries.iter().any(|summary| complete(&summary)) {
            ui.warn(&format!("run {} is not complete", short(run)));
        }
        if !members.contains(&run) {
            members.push(run);
        }
    }
    Ok(members)
}

/// Fresh runs, one after the other or at an interval.
fn measure(args: &SetArgs, limit: Option<u64>, store: Option<&Path>, ui: &Ui) -> Result<Vec<Id>> {
    let every = args.every.as_deref().map(time_ns).transpose()?.map(Duration::from_nanos);
    let mut members = Vec::new();
    for number in 0..args.fresh {
        let began = Instant::now();
        ui.say(&format!("run {} of {}", number + 1, args.fresh));
        let record = measure_one(args, number, store, ui)?;
        // A baseline that can't keep its files is refused before all runs were measured.
        if let Some(limit) = limit.filter(|_| number == 0) {
            kept::collect(&record.plan, limit, record.started_unix_ns)?;
        }
        members.push(record.run);
        if number + 1 < args.fresh {
            let before = format!("before run {} of {}", number + 2, args.fresh);
            wait_until(began + every.unwrap_or_default(), &before, ui)?;
        }
    }
    Ok(members)
}

/// Fresh runs of other machines, which measure at the same time. A machine that fails is left out of the further runs.
fn measure_on_machines(
    args: &SetArgs,
    machines: Vec<MachineAddress>,
    store: Option<&Path>,
    ui: &Ui,
) -> Result<FreshRuns> {
    let execution = &args.goal.execution;
    refuse_options(&[
        ("RUN", !args.runs.is_empty()),
        ("--keep", args.keep.is_some()),
        ("--to", execution.to.is_some()),
        ("--host", execution.host.is_some()),
        ("--label fleet=…", has_fleet_label(&execution.labels)),
    ])?;
    let every = args.every.as_deref().map(time_ns).transpose()?.map(Duration::from_nanos);
    let store = Store::open(locate::store(store)?)?;
    let asked = machines.len();
    let mut request = FleetRequest {
        machines,
        at_once: args.machines.at_once(),
        work: FleetWork::Command { suites: points::suites_in_files(&args.of)? },
        keeps_secrets: execution.keep_secrets,
        confirming: None,
        fail_on: FailPolicy::default(),
        together: false,
    };
    let mut members = Vec::new();
    let mut exits = Vec::with_capacity(args.fresh);
    for number in 0..args.fresh {
        let began = Instant::now();
        ui.say(&format!("run {} of {}", number + 1, args.fresh));
        let runs = carry_out(&request, &store, None, ui)?;
        exits.push(exit(&runs));
        refuse_interrupted(exits.contains(&Exit::Interrupted))?;
        members.extend(runs.iter().filter_map(MachineRun::complete_run));
        for run in runs.iter().filter(|run| run.complete_run().is_none()) {
            let why = clean(&run.error().to_string());
            let has = counted(number, "run", "runs");
            ui.warn(&format!(
                "skipping {} in the remaining runs ({has} in the baseline): {why}",
                run.name
            ));
            request.machines.retain(|machine| machine.name() != run.name);
        }
        if request.machines.is_empty() {
            break;
        }
        if number + 1 < args.fresh {
            let before = format!("before run {} of {}", number + 2, args.fresh);
            wait_until(began + every.unwrap_or_default(), &before, ui)?;
        }
    }
    if members.is_empty() {
        let worst = exits.into_iter().min().unwrap_or(Exit::Nothing);
        return Err(CommandError::new(
            worst,
            "no machine could be measured; the baseline is unchanged",
        ));
    }
    // As on one machine, a point that fails is no failure of the baseline.
    let exit = if request.machines.len() == asked { Exit::Fine } else { Exit::Failed };
    Ok(FreshRuns { members, exit })
}

/// Measures the fresh run with this number, from 0 on.
fn measure_one(args: &SetArgs, number: usize, store: Option<&Path>, ui: &Ui) -> Result<RunRecord> {
    let mut setup = Setup::start()?;
    let job = job(args, &mut setup, store)?;
    if number == 0 {
        shell_syntax::warn_of_points(&job.plan.points, ui);
    }
    let measured = execute(setup, job, ui)?;
    refuse_interrupted(measured.ended.interrupted)?;
    Ok(measured.record)
}

/// A baseline with fewer runs than were asked for is not set.
fn refuse_interrupted(is_interrupted: bool) -> Result<()> {
    if is_interrupted {
        return Err(CommandError::interrupted("interrupted; the baseline is unchanged")
            .hint("plumb baseline set NAME RUN…    uses the runs stored so far"));
    }
    Ok(())
}

/// One fresh run.
fn job<'j>(
    args: &'j SetArgs,
    setup: &mut Setup,
    store: Option<&'j Path>,
) -> Result<MeasuringJob<'j>> {
    let all = setup.all_threads();
    let named = points::resolve(&mut setup.keeper, &args.of, &[], all)?;
    let execution = &args.goal.execution;
    let prepare = prepare::for_named(&mut setup.keeper, &named, &execution.prepare, all)?;
    let companions = points::companions(&mut setup.keeper, &named.with(&[]), all)?;
    let request = PlanRequest::of_named(named, companions, &args.goal, prepare, None)?;
    let folders = folders(&mut setup.keeper, &args.target.place())?;
    let plan = plan(request, execution, &folders.dir)?;
    let lock = !execution.no_lock;
    let host = execution.host.clone();
    Ok(MeasuringJob { lock, host, explicit: false, ..MeasuringJob::new(plan, folders, store) })
}

fn list(store: &Store, ui: &Ui) -> Result<Exit> {
    let all = store.baselines()?;
    if ui.wants_json() {
        let one = |baseline: &Baseline| {
            let runs: Vec<String> = baseline.runs.iter().map(ToString::to_string).collect();
            serde_json::json!({"name": baseline.name, "runs": runs})
        };
        let document: Vec<_> = all.iter().map(one).collect();
        ui.out(
            &serde_json::json!({"schema": "plumb.baselines/1", "baselines": document}).to_string(),
        );
        return Ok(Exit::Fine);
    }
    if all.is_empty() {
        ui.say("no baselines yet; plumb baseline set NAME measures one");
    }
    let titles = ["baseline", "runs", "changed", "newest run"];
    let mut table = Table::new(titles.iter().map(|title| TableColumn::left(title)).collect());
    for baseline in &all {
        let newest = baseline.runs.last().map_or(String::new(), |run| short(*run));
        let cells = [
            baseline.name.clone(),
            baseline.runs.len().to_string(),
            time::date(baseline.changed_unix_ns),
            newest,
        ];
        let cell = |text: &String| TextLine::new(Style::Plain, &clean(text));
        table.row(cells.iter().map(cell).collect());
    }
    if !all.is_empty() {
        ui.out(&table.render(ui.width(), ui.terminal().colour));
    }
    Ok(Exit::Fine)
}
