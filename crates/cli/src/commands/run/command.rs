//! `plumb run`: suites, workloads and plug-ins.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::Args;
use plumb_model::{Description, Expectation, Plan, PlannedPoint, Role, prepared_words};
use plumb_suite::{expectations, expectations_of_machine, state_sampling, time_ns};

use crate::commands::run::{schedule, tool_arguments};
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::agent_command::AgentCommand;
use crate::fleet::arguments::{
    ConfirmArgs, MachineArgs, TogetherArgs, has_fleet_label, refuse_options,
};
use crate::fleet::measure_on::{FleetRequest, FleetWork, measure_on};
use crate::locate;
use crate::measuring::execute::interrupted;
use crate::measuring::job::{FailPolicy, MeasuringJob};
use crate::measuring::live::LiveArgs;
use crate::measuring::measure::measure;
use crate::measuring::setup::Setup;
use crate::measuring::side_by_side::{copy_side_by_side, is_copied};
use crate::measuring::target::{TargetArgs, folders};
use crate::planning::arguments::GoalArgs;
use crate::planning::dry_run::dry_run;
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::points::NamedPoints;
use crate::planning::{points, prepare, shell_syntax};
use crate::reading::hardware;
use crate::reading::output::pretty;
use crate::reading::references;
use crate::reading::runs;
use crate::ui::Ui;

/// How long an invocation samples if machines measure together: much longer than their clocks can be wrong.
const TIME_TOGETHER: &str = "2s";
/// Invocations of each point if machines measure together: enough for an interval of the median over rounds.
const ROUNDS_TOGETHER: usize = 15;

/// Measure suites, workloads or plug-ins [default: the first-look suite]
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb run                                        the first-look suite, in two and a half minutes
  plumb run cpu.sieve -p threads=1,all             one workload at two points
  plumb run cpu.sieve --precision 0.5% --min-invocations 5 --min-time 10m --max-time 1h
                                                   at least 5 invocations and 10 min, at most 1 h
  plumb run memory.latency -p size=16KiB..64MiB/2  two sizes per doubling
  plumb run storage.random --dir /srv --budget 5m  on the filesystem under /srv
  plumb run storage.sequential --with cpu.sieve    with a load in the background
  plumb run my-suite.toml --label kernel=6.12      your own suite, labelled
  plumb run bonnie -- -u 0 -s 7200 -n 256 -b -d /srv
                                                   bonnie++ passes, with bonnie++ arguments
  plumb run network.tcp --expect network.tcp=9Gbit/s   compared with an expected result
  plumb run network.tcp network.rr --to ssh:web1   between this machine and another
  plumb run first-look --on web1,root@web2         on two other machines, over ssh
  plumb run storage.sequential --ceilings          also the same I/O on a file in memory
  plumb run ssh.copy:path=veth,rtt=20ms --ceilings    find the bottleneck of a copy
  plumb run cpu.sieve --for 4h                     a four-hour soak test
  plumb run storage.random --stream 10m            one process without pause
  plumb run --live                                 show the progress on a web page
  plumb run --every 6h                             print a systemd timer and a cron line
  plumb run --resume                               complete the last interrupted run")]
pub struct RunArgs {
    /// Suites (name or TOML file), workloads (`memory.copy:method=nt`) or plug-ins
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Set a parameter; `1,2,8` and `1..64` make one point per value
    ///
    /// The range `1..64` doubles at each step, `4KiB..1MiB/4` takes four steps per doubling, `1..9+2` adds 2.
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE,…")]
    params: Vec<String>,
    /// Arguments of the classic tool that the suite is named after
    #[arg(last = true, value_name = "ARGUMENT", conflicts_with_all = ["resume", "every", "soak", "stream"])]
    arguments: Vec<String>,
    #[command(flatten)]
    target: TargetArgs,
    /// Expect this result (`network.tcp=9Gbit/s`), or those of `reference:NAME`
    ///
    /// SERIES is a series, point or workload. ~/.config/plumb/expect.toml sets expectations for all runs
    /// (docs/references.md).
    #[arg(long, value_name = "SERIES=FIGURE", hide_short_help = true)]
    expect: Vec<String>,
    /// Also measure upper bounds, such as the same I/O on a file in memory
    ///
    /// Other bounds are copies with every method, ciphers by every library, one thread of several, parts of the work, the
    /// clock, and everything that may limit an ssh.copy (docs/method.md).
    #[arg(long, conflicts_with = "resume", hide_short_help = true)]
    ceilings: bool,
    /// Run this load, monitor or preparation in the background
    #[arg(long, value_name = "WORKLOAD")]
    with: Vec<String>,
    /// Print a systemd timer and a cron line for this command, and exit
    #[arg(long, value_name = "TIME", conflicts_with_all = ["resume", "dry_run"], hide_short_help = true)]
    every: Option<String>,
    #[command(flatten)]
    live: LiveArgs,
    /// Complete an interrupted run [default: the last one]
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "last")]
    resume: Option<String>,
    /// Show every column, and every flag with its evidence
    #[arg(long)]
    full: bool,
    /// Print what would be measured, and exit
    ///
    /// --json prints plumb.dry-run/1.
    #[arg(long)]
    dry_run: bool,
    /// Run a soak test of this length
    ///
    /// Reaching the precision does not end it. Interim results are valid at any time.
    #[arg(long = "for", value_name = "TIME", help_heading = "When to stop", conflicts_with_all =
        ["precision", "min_invocations", "max_invocations", "min_time", "max_time", "budget", "resume"])]
    soak: Option<String>,
    /// Run one process per point for this long, with one sample per second
    ///
    /// Shows burst credits running out and caches filling up, but not the variation between processes.
    #[arg(long, value_name = "TIME", help_heading = "When to stop", hide_short_help = true, conflicts_with_all =
        ["precision", "min_invocations", "max_invocations", "min_time", "max_time", "budget", "resume", "soak",
         "invocation_time"])]
    stream: Option<String>,
    /// Sample for this long in each invocation [default: as long as useful, at most 250 ms]
    #[arg(long, value_name = "TIME", conflicts_with = "resume", hide_short_help = true)]
    invocation_time: Option<String>,
    #[command(flatten)]
    machines: MachineArgs,
    #[command(flatten)]
    together: TogetherArgs,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    goal: GoalArgs,
}

impl Subcommand for RunArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        run(self, context.store, context.ui)
    }
}

/// Measures what is named, here or on other machines, or completes an interrupted run.
fn run(args: &RunArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if let Some(machines) = args.machines.named()? {
        refuse_elsewhere(args)?;
        args.together.check(machines.len(), args.machines.at_once())?;
        if args.confirm.confirms() && args.target.has_device() {
            return Err(CommandError::usage("--confirm cannot be used with --destroy-data"));
        }
        if !args.dry_run {
            let request = FleetRequest {
                machines,
                at_once: args.machines.at_once(),
                work: FleetWork::Command { suites: points::suites_in_files(&args.names)? },
                keeps_secrets: args.goal.execution.keep_secrets,
                confirming: args.confirm.confirming(!args.goal.execution.no_lock),
                fail_on: FailPolicy::default(),
                together: args.together.is_given(),
            };
            return measure_on(&request, store, ui);
        }
    } else {
        args.confirm.refuse_alone()?;
        if args.together.is_given() {
            return Err(CommandError::usage("--together needs --on or --inventory"));
        }
    }
    let mut setup = Setup::start()?;
    if let Some(name) = &args.resume {
        return resume(setup, args, name, store, ui);
    }
    match args.job(&mut setup, store, ui)? {
        Some(job) => measure(setup, job, ui),
        None => Ok(Exit::Fine),
    }
}

/// Options that have no meaning if other machines measure.
fn refuse_elsewhere(args: &RunArgs) -> Result<()> {
    let execution = &args.goal.execution;
    refuse_options(&[
        ("--resume", args.resume.is_some()),
        ("--every", args.every.is_some()),
        ("--live", args.live.live),
        ("--to", execution.to.is_some()),
        ("--host", execution.host.is_some()),
        ("--label fleet=…", has_fleet_label(&execution.labels)),
    ])
}

impl RunArgs {
    /// Refuses what has no meaning in a job of a cluster, and names that plumb does not know.
    ///
    /// # Errors
    /// The first of them.
    pub fn refuse_on_nodes(&self) -> Result<()> {
        let execution = &self.goal.execution;
        let given = [
            ("--on", self.machines.named()?.is_some()),
            ("--resume", self.resume.is_some()),
            ("--dry-run", self.dry_run),
            ("--every", self.every.is_some()),
            ("--live", self.live.live),
            ("--host", execution.host.is_some()),
            ("--label fleet=…", has_fleet_label(&execution.labels)),
        ];
        if let Some((option, _)) = given.iter().find(|(_, is_given)| *is_given) {
            return Err(CommandError::usage(format!(
                "{option} does not apply on nodes of a cluster"
            ))
            .hint("`plumb fleet run --help` shows the options that do"));
        }
        let asked = tool_arguments::read(&self.names, &self.arguments)?;
        let mut setup = Setup::start()?;
        let all = setup.all_threads();
        let params = asked.params(&self.params);
        points::resolve(&mut setup.keeper, &self.names, &params, all).map(drop)
    }

    /// Whether secrets stay in command lines.
    pub fn keeps_secrets(&self) -> bool {
        self.goal.execution.keep_secrets
    }
}

impl AgentCommand for RunArgs {
    fn read_suites_from(&mut self, files: &BTreeMap<String, PathBuf>) {
        for name in &mut self.names {
            if let Some(file) = files.get(name) {
                *name = file.to_string_lossy().into_owned();
            }
        }
    }

    fn job<'j>(
        &'j self,
        setup: &mut Setup,
        store: Option<&'j Path>,
        ui: &Ui,
    ) -> Result<Option<MeasuringJob<'j>>> {
        job(self, setup, store, ui)
    }
}

/// The job that the arguments describe; None if there is nothing to measure, because they only ask for a plan or a timer.
fn job<'j>(
    args: &'j RunArgs,
    setup: &mut Setup,
    store: Option<&'j Path>,
    ui: &Ui,
) -> Result<Option<MeasuringJob<'j>>> {
    let asked = tool_arguments::read(&args.names, &args.arguments)?;
    setup.keep_to(&args.goal.execution.prepare);
    let all = setup.all_threads();
    let mut named =
        points::resolve(&mut setup.keeper, &args.names, &asked.params(&args.params), all)?;
    let has_far_end = args.goal.execution.to.is_some();
    if args.ceilings {
        named.points = points::with_ceilings(&mut setup.keeper, named.points, has_far_end, all)?;
    }
    shell_syntax::warn_of_points(&named.points, ui);
    let together = args.together.is_given().then_some(TIME_TOGETHER);
    let invocation_time = args.invocation_time.as_deref().or(together);
    state_sampling(&mut named.points, args.stream.as_deref(), invocation_time)?;
    let companions = points::companions(&mut setup.keeper, &named.with(&args.with), all)?;
    let has_load = companions.iter().any(|companion| companion.role == Role::Load);
    // Figures in cycles are not for machines that are loaded on purpose.
    let is_usual = !has_load && !has_far_end;
    if args.ceilings && is_usual && !hardware::expectations(&named.points).is_empty() {
        named.points = points::with_clock(&mut setup.keeper, named.points, all)?;
    }
    let prepare = prepare::for_named(&mut setup.keeper, &named, &args.goal.execution.prepare, all)?;
    let explicit = named.explicit;
    if args.dry_run {
        let mut found = dry_run(&mut named, &args.goal, args.soak.as_deref())?;
        for machine in args.machines.named()?.unwrap_or_default() {
            let address = machine.to_string();
            found.machines.push(match machine.name() {
                name if name == address => address,
                name => format!("{name} ({address})"),
            });
        }
        ui.out(&if ui.wants_json() { pretty(&found)? } else { found.text() });
        return Ok(None);
    }
    let conditions = RunConditions {
        has_far_end,
        has_load,
        prepared: prepared_words(prepare.knobs.iter(), companions.iter().chain(&prepare.plugins)),
        folder: prepare
            .knobs
            .iter()
            .all(|knob| knob.medium().is_none())
            .then(|| args.target.or(asked.dir()).path()),
    };
    let expectations = all_expectations(&named, &args.expect, &conditions, ui)?;
    if let Some(every) = &args.every {
        schedule::print(every, &args.names, store, ui)?;
        return Ok(None);
    }
    let soak_ns = args.soak.as_deref().map(time_ns).transpose()?;
    let named_request = PlanRequest::of_named(named, companions, &args.goal, prepare, soak_ns)?;
    let mut request = asked.applied_to(PlanRequest { expectations, ..named_request }, &args.goal);
    if together.is_some() {
        // Machines that stopped after different numbers of rounds would leave the others without their load.
        let typed = args.goal.rules.max_invocations.or(args.goal.rules.min_invocations);
        request = request.with_invocations(typed.unwrap_or(ROUNDS_TOGETHER), &args.goal);
    }
    let folders = folders(&mut setup.keeper, &args.target.or(asked.dir()))?;
    let plan = plan(request, &args.goal.execution, &folders.dir)?;
    Ok(Some(MeasuringJob {
        lock: !args.goal.execution.no_lock,
        host: args.goal.execution.host.clone(),
        explicit,
        live: args.live.live,
        full: args.full,
        ..MeasuringJob::new(plan, folders, store)
    }))
}

/// What decides whether references of this kind of machine are of the same work.
struct RunConditions {
    /// Whether servers are on another machine.
    has_far_end: bool,
    /// Whether a load runs next to all points.
    has_load: bool,
    /// How the machine is prepared, in words.
    prepared: String,
    /// The folder that files are made in; None if they are on a medium that plumb makes.
    folder: Option<PathBuf>,
}

/// What the results should be: by links and memory channels, by the microarchitecture, by references of this kind of machine, by this
/// machine's own file, by suites, by references that are named, and as typed. Later ones win.
fn all_expectations(
    named: &NamedPoints,
    typed: &[String],
    conditions: &RunConditions,
    ui: &Ui,
) -> Result<Vec<Expectation>> {
    let mut all = hardware::limits(&named.points, conditions.folder.as_deref());
    if !conditions.has_far_end && !conditions.has_load {
        all.extend(hardware::expectations(&named.points));
        let (of_kind, broken) =
            references::expectations_of_this_kind(&named.points, &conditions.prepared);
        references::warn_of(&broken, ui);
        all.extend(of_kind);
    }
    let (of_references, figures): (Vec<String>, Vec<String>) =
        typed.iter().cloned().partition(|text| references::named(text).is_some());
    let mut of_named = Vec::new();
    for name in of_references.iter().filter_map(|text| references::named(text)) {
        if conditions.has_far_end {
            return Err(CommandError::usage(format!(
                "--expect reference:{name} does not apply with --to: references are of one machine"
            ))
            .hint("--expect SERIES=FIGURE    sets a figure of this path"));
        }
        let found = references::expectations(&references::find(name)?, &named.points);
        if found.is_empty() {
            return Err(CommandError::usage(format!(
                "--expect reference:{name}: this run measures nothing that the reference has"
            ))
            .hint(format!("plumb reference show {name}    lists its figures")));
        }
        of_named.extend(found);
    }
    all.extend(stated_for_this_machine(&named.points, ui)?);
    all.extend(expectations(&named.suites, &named.points, &[])?);
    all.extend(of_named);
    all.extend(expectations(&[], &named.points, &figures)?);
    Ok(all)
}

/// What the results should be by `expect.toml` in the folder of the user's settings; nothing without the file.
fn stated_for_this_machine(points: &[PlannedPoint], ui: &Ui) -> Result<Vec<Expectation>> {
    let Some(file) = locate::config_home().map(|settings| settings.join("plumb/expect.toml"))
    else {
        return Ok(Vec::new());
    };
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(CommandError::usage(format!("cannot read {}: {error}", file.display())));
        }
    };
    let workloads = plumb_workloads::builtin();
    let known: Vec<Description> = workloads.iter().map(|workload| workload.describe()).collect();
    let found = expectations_of_machine(&text, points, &known).map_err(|error| {
        CommandError::usage(format!("{}: {}", file.display(), error.message))
            .hint("the file has a table [expect] with lines such as: \"network.tcp\" = \"9Gbit/s\"")
    })?;
    for mistake in &found.mistakes {
        ui.warn(&format!("{}: {mistake}", file.display()));
    }
    Ok(found.expectations)
}

/// Completes an interrupted run: by its own plan, in fresh folders.
fn resume(
    mut setup: Setup,
    args: &RunArgs,
    name: &str,
    store: Option<&Path>,
    ui: &Ui,
) -> Result<Exit> {
    let record = {
        let store = runs::open(store)?;
        interrupted(&store, store.resolve(name)?)?
    };
    let folders = folders(&mut setup.keeper, &args.target.place())?;
    let points = record.plan.points.clone();
    // The copies of the first part went with its folders.
    let is_copied = points.iter().any(is_copied);
    let points = if is_copied { copy_side_by_side(points, &folders.scratch)? } else { points };
    // The budget was for the whole run; what is left of it is what it has not spent.
    let plan =
        Plan { points, dir: folders.dir.to_string_lossy().into_owned(), ..record.plan.clone() };
    let job = MeasuringJob {
        before: Some(record),
        lock: !args.goal.execution.no_lock,
        host: args.goal.execution.host.clone(),
        explicit: false,
        live: args.live.live,
        full: args.full,
        ..MeasuringJob::new(plan, folders, store)
    };
    measure(setup, job, ui)
}
