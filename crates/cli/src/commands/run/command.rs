//! `plumb run`: suites, workloads and plug-ins.

use std::path::Path;

use clap::Args;
use plumb_model::{Goal, Plan};
use plumb_suite::{expectations, state_sampling, time_ns};

use crate::commands::run::{schedule, tool_arguments};
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{Exit, Result};
use crate::measuring::interrupted::interrupted;
use crate::measuring::job::Job;
use crate::measuring::live::LiveArgs;
use crate::measuring::measure::measure;
use crate::measuring::setup::Setup;
use crate::measuring::side_by_side::is_copied;
use crate::measuring::target::TargetArgs;
use crate::planning::arguments::GoalArgs;
use crate::planning::dry_run::dry_run;
use crate::planning::{plan, points, prepare};
use crate::reading::runs;
use crate::ui::Ui;

/// Measure suites, workloads or plug-ins; the suite first-look by default
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb run                                        the suite first-look, in about two minutes
  plumb run cpu.sieve -p threads=1,all             one workload at two points
  plumb run cpu.sieve --precision 0.5% --min-invocations 5 --min-time 10m --max-time 1h
                                                   at least 5 times and 10 minutes, until 0.5 %, at most an hour
  plumb run memory.latency -p size=16KiB..64MiB/2  two sizes a doubling
  plumb run storage.random --dir /srv --budget 5m  on the file system of /srv
  plumb run storage.sequential --with cpu.sieve    with a load in the background
  plumb run my-suite.toml --label kernel=6.12      your own suite, labelled
  plumb run bonnie -- -u 0 -s 7200 -n 256 -b -d /srv
                                                   passes of bonnie++, by its own arguments
  plumb run network.tcp --expect network.tcp=9Gbit/s   with the result that you expect
  plumb run network.tcp network.rr --to ssh:web1   between this machine and another
  plumb run storage.sequential --ceilings          and the same calls on a file in memory
  plumb run cpu.sieve --for 4h                     a soak: four hours, whatever the precision
  plumb run storage.random --stream 10m            one process without pause, a sample a second
  plumb run --live                                 with a page that shows the progress
  plumb run --every 6h                             print files for a systemd timer, and a cron line
  plumb run --resume                               complete the run that was interrupted last")]
pub struct RunArgs {
    /// Suites (by name or as a TOML file), workloads (`memory.copy`, `memory.copy:method=nt`) or plug-ins
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Set a parameter; comma-separated values and ranges give one point each: `1..64` doubles,
    /// `4KiB..1MiB/4` takes four steps a doubling, `1..9+2` adds
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE,…")]
    params: Vec<String>,
    /// Arguments of the classic tool after which the suite is called
    #[arg(last = true, value_name = "ARGUMENT", conflicts_with_all = ["resume", "every", "soak", "stream"])]
    arguments: Vec<String>,
    #[command(flatten)]
    target: TargetArgs,
    /// State the result that you expect: a series, point or workload, and a figure with its unit
    #[arg(long, value_name = "SERIES=FIGURE")]
    expect: Vec<String>,
    /// Also measure an upper bound: the same I/O on a file in memory, copies by every method
    #[arg(long, conflicts_with = "resume")]
    ceilings: bool,
    /// Run this load, monitor or preparation in the background
    #[arg(long, value_name = "WORKLOAD")]
    with: Vec<String>,
    /// Print files for systemd and a line for cron that would run this command at fixed times; installs and
    /// measures nothing
    #[arg(long, value_name = "TIME", conflicts_with_all = ["resume", "dry_run"])]
    every: Option<String>,
    #[command(flatten)]
    live: LiveArgs,
    /// Complete an interrupted run [default: the last one]
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "last")]
    resume: Option<String>,
    /// Show the whole scorecard: every column and metric row, every flag with its evidence
    #[arg(long)]
    full: bool,
    /// Print what would be measured, and stop
    #[arg(long)]
    dry_run: bool,
    /// Soak: measure round after round for this long, whatever the precision; interim results are valid at
    /// any time
    #[arg(long = "for", value_name = "TIME", help_heading = "When to stop", conflicts_with_all =
        ["precision", "min_invocations", "max_invocations", "min_time", "max_time", "budget", "resume"])]
    soak: Option<String>,
    /// Measure one process a point without pause for this long, a sample a second; shows credits that run out and
    /// caches that fill, and says nothing of other processes
    #[arg(long, value_name = "TIME", help_heading = "When to stop", conflicts_with_all =
        ["precision", "min_invocations", "max_invocations", "min_time", "max_time", "budget", "resume", "soak",
         "invocation_time"])]
    stream: Option<String>,
    /// Sample this long in each invocation [default: as long as pays, a quarter of a second at most]
    #[arg(long, value_name = "TIME", conflicts_with = "resume")]
    invocation_time: Option<String>,
    #[command(flatten)]
    goal: GoalArgs,
}

impl Subcommand for RunArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        run(self, context.store, context.ui)
    }
}

/// Measures what is named, or completes an interrupted run.
fn run(args: &RunArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let mut setup = Setup::start()?;
    if let Some(name) = &args.resume {
        return resume(setup, args, name, store, ui);
    }
    let asked = tool_arguments::read(&args.names, &args.arguments)?;
    setup.keep_to(&args.goal.execution.prepare);
    let all = setup.all_threads();
    let mut named =
        points::resolve(&mut setup.keeper, &args.names, &asked.params(&args.params), all)?;
    if args.ceilings {
        named.points = points::with_ceilings(named.points, all)?;
    }
    state_sampling(&mut named.points, args.stream.as_deref(), args.invocation_time.as_deref())?;
    let companions = points::companions(&mut setup.keeper, &named.with(&args.with), all)?;
    let prepare = prepare::for_named(&mut setup.keeper, &named, &args.goal.execution.prepare, all)?;
    let explicit = named.explicit;
    if args.dry_run {
        ui.out(&dry_run(&mut named, &args.goal, args.soak.as_deref())?);
        return Ok(Exit::Fine);
    }
    let expectations = expectations(&named.suites, &named.points, &args.expect)?;
    if let Some(every) = &args.every {
        return schedule::print(every, &args.names, store, ui);
    }
    let mut plan = Plan { expectations, ..plan::plan(named, companions, &args.goal, prepare)? };
    if let Some(length) = &args.soak {
        (plan.goal, plan.budget_ns) = (Goal::Soak, Some(time_ns(length)?));
    }
    let asked_dir = asked.dir().map(Path::to_owned);
    asked.into_plan(&mut plan, &args.goal);
    let place = args.target.or(asked_dir.as_deref());
    let lock = !args.goal.execution.no_lock;
    let live = args.live.live;
    let host = args.goal.execution.host.clone();
    let full = args.full;
    measure(setup, Job { lock, host, explicit, live, full, ..Job::new(plan, place, store) }, ui)
}

fn resume(setup: Setup, args: &RunArgs, name: &str, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let record = {
        let store = runs::open(store)?;
        interrupted(&store, store.resolve(name)?)?
    };
    // The budget was for the whole run; what is left of it is what it has not spent.
    let plan = Plan { dir: String::new(), ..record.plan.clone() };
    let place = args.target.place();
    let lock = !args.goal.execution.no_lock;
    let copy = plan.points.iter().any(is_copied);
    let before = Some(record);
    let live = args.live.live;
    let host = args.goal.execution.host.clone();
    let job = Job {
        before,
        lock,
        host,
        explicit: false,
        copy,
        live,
        full: args.full,
        ..Job::new(plan, place, store)
    };
    measure(setup, job, ui)
}
