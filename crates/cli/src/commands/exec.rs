//! `plumb exec`: commands, interleaved and compared with the first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::Args;
use plumb_model::{Goal, PlannedPoint, Settings, StoppingRules, Value};
use plumb_suite::time_ns;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::agent_command::AgentCommand;
use crate::fleet::arguments::{ConfirmArgs, MachineArgs, has_fleet_label, refuse_options};
use crate::fleet::measure_on::{FleetRequest, FleetWork, measure_on};
use crate::measuring::job::{FailPolicy, MeasuringJob};
use crate::measuring::live::LiveArgs;
use crate::measuring::measure::measure;
use crate::measuring::setup::Setup;
use crate::measuring::target::{FilesPlace, folders};
use crate::planning::arguments::GoalArgs;
use crate::planning::command::{TypedCommand, asks_for, ignoring, parameters, point};
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::points::{NamedPoints, parameter_sets, products};
use crate::planning::{prepare, shell_syntax};
use crate::ui::Ui;

/// Time commands; several are interleaved and compared with the first
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb exec 'sleep 0.1'                       until the median is known to within 1 %
  plumb exec -n 20 'gzip -k f' 'zstd -k f'     20 runs of each, compared with the first
  plumb exec --spread 5m 'curl -s localhost'   over five minutes, with pauses
  plumb exec --on web1,web2 'openssl speed -seconds 1 rsa'   on two other machines, over ssh
  plumb exec -- make -j2 all                   one command, as separate words
  plumb exec --shell 'sort f | uniq -c'        with /bin/sh, including its start-up
  plumb exec --before-each 'rm -f out' './build out'   each run starts without the file
  plumb exec --setup 'make a' --setup 'make b' ./a ./b   build each before it runs
  plumb exec --libraries 'perl -e 1' 'perl -MPOSIX -e 1'   libraries that slow the start
  plumb exec -p threads=1..8 'xz -T{threads} -kf data'   one point per number of threads

plumb splits a command into words as a shell would, but starts no shell. It times each run from just \
before posix_spawn to just after wait4. If the command takes under 20 ms, each new worker first runs it once, uncounted.")]
pub struct ExecArgs {
    /// Commands, each quoted as one argument
    #[arg(required_unless_present = "argv", value_name = "COMMAND")]
    commands: Vec<String>,
    /// One command, as separate words
    #[arg(last = true, value_name = "CMD ARG…")]
    argv: Vec<String>,
    /// Measure exactly this many runs of each command
    #[arg(short = 'n', long, value_name = "N", conflicts_with_all =
        ["precision", "min_invocations", "max_invocations", "min_time", "max_time"])]
    runs: Option<usize>,
    /// Spread the runs over at least this time, with pauses between bursts
    ///
    /// plumb excludes the runs right after a pause if they are slower than the others.
    #[arg(long, value_name = "TIME", conflicts_with = "runs")]
    spread: Option<String>,
    /// Replace `{NAME}` with each value of a list (`1,2`) or range (`1..8`)
    ///
    /// Each value is one point. `1..64` doubles at each step, `1..9+2` adds 2, as in `plumb run`.
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE,…")]
    params: Vec<String>,
    /// Run each command with /bin/sh -c
    #[arg(long)]
    shell: bool,
    /// List the ELF files that each command maps, and their relocations
    ///
    /// Also shows the loader's share of the time. Takes one untimed run of each command under ptrace, and a few with the
    /// statistics of glibc's loader.
    #[arg(long, hide_short_help = true)]
    libraries: bool,
    /// Drop the command's ELF files from memory before each run (root)
    ///
    /// Other files, such as data and scripts, stay in memory. Cold runs are a series of their own.
    #[arg(long, hide_short_help = true)]
    cold: bool,
    /// Accept commands that exit with a non-zero status
    #[arg(short, long)]
    ignore_failure: bool,
    /// Show every column, and every flag with its evidence
    #[arg(long, hide_short_help = true)]
    full: bool,
    // Before the arguments that have a heading of their own: what follows a heading is listed under it.
    #[command(flatten)]
    live: LiveArgs,
    #[command(flatten)]
    untimed: UntimedArgs,
    #[command(flatten)]
    machines: MachineArgs,
    #[command(flatten)]
    confirm: ConfirmArgs,
    #[command(flatten)]
    goal: GoalArgs,
}

/// Shell commands around the runs: one for all commands, or one for each of them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Untimed set-up and clean-up")]
pub struct UntimedArgs {
    /// Run before each worker's first run (give once, or per command)
    #[arg(long, value_name = "COMMAND")]
    setup: Vec<String>,
    /// Run this with /bin/sh before every run (hyperfine's --prepare)
    #[arg(long, value_name = "COMMAND")]
    before_each: Vec<String>,
    /// Run this with /bin/sh after every run
    #[arg(long, value_name = "COMMAND", visible_alias = "conclude", hide_short_help = true)]
    after_each: Vec<String>,
    /// Run this with /bin/sh after the last run of each worker
    #[arg(long, value_name = "COMMAND", hide_short_help = true)]
    cleanup: Vec<String>,
}

impl UntimedArgs {
    /// The settings of each of so many commands.
    fn settings(&self, commands: usize) -> Result<Vec<Settings>> {
        let mut all = vec![Settings::new(); commands];
        let named = [
            ("setup", &self.setup),
            ("before_each", &self.before_each),
            ("after_each", &self.after_each),
            ("cleanup", &self.cleanup),
        ];
        for (name, typed) in named {
            if typed.len() > 1 && typed.len() != commands {
                let flag = name.replace('_', "-");
                return Err(CommandError::usage(format!(
                    "--{flag} is given {} times for {commands} commands",
                    typed.len()
                ))
                .hint(format!("give --{flag} once for all commands, or once for each of them")));
            }
            for (settings, command) in all.iter_mut().zip(typed.iter().cycle()) {
                settings.insert(name.to_owned(), Value::Text(command.clone()));
            }
        }
        Ok(all)
    }
}

impl Subcommand for ExecArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        exec(self, context.store, context.ui)
    }
}

/// Measures the commands, here or on other machines.
fn exec(args: &ExecArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if let Some(machines) = args.machines.named()? {
        refuse_options(&[
            ("--live", args.live.live),
            ("--host", args.goal.execution.host.is_some()),
            ("--label fleet=…", has_fleet_label(&args.goal.execution.labels)),
        ])?;
        let request = FleetRequest {
            machines,
            at_once: args.machines.at_once(),
            work: FleetWork::Command { suites: BTreeMap::new() },
            keeps_secrets: args.goal.execution.keep_secrets,
            confirming: args.confirm.confirming(!args.goal.execution.no_lock),
            fail_on: FailPolicy::default(),
            together: false,
        };
        return measure_on(&request, store, ui);
    }
    args.confirm.refuse_alone()?;
    let mut setup = Setup::start()?;
    let job = job(args, &mut setup, store, ui)?;
    measure(setup, job, ui)
}

impl AgentCommand for ExecArgs {
    fn job<'j>(
        &'j self,
        setup: &mut Setup,
        store: Option<&'j Path>,
        ui: &Ui,
    ) -> Result<Option<MeasuringJob<'j>>> {
        job(self, setup, store, ui).map(Some)
    }
}

/// The job that the arguments describe.
fn job<'j>(
    args: &ExecArgs,
    setup: &mut Setup,
    store: Option<&'j Path>,
    ui: &Ui,
) -> Result<MeasuringJob<'j>> {
    if !args.shell {
        for text in &args.commands {
            shell_syntax::warn_of_text(text, shell_syntax::OPTION, ui);
        }
        shell_syntax::warn_of_words(&args.argv, shell_syntax::OPTION, ui);
    }
    let points = points(args, setup.all_threads())?;
    let named = NamedPoints { points, explicit: true, ..NamedPoints::default() };
    let several = named.points.len() > 1;
    let all = setup.all_threads();
    let prepare = prepare::for_named(&mut setup.keeper, &named, &args.goal.execution.prepare, all)?;
    let mut request = PlanRequest::of_named(named, Vec::new(), &args.goal, prepare, None)?;
    request.against_first = several;
    if let Some(spread) = &args.spread {
        request = spread_over(request, spread, args.goal.execution.budget.is_some())?;
    }
    if let Some(runs) = args.runs {
        if runs == 0 {
            return Err(CommandError::usage("--runs 0 measures nothing"));
        }
        request.goal = Goal::Rules(StoppingRules::fixed(runs));
        // A number of runs has an end already: only --budget limits the time.
        request.budget_ns = None;
    }
    let folders = folders(&mut setup.keeper, &FilesPlace::Scratch)?;
    let plan = plan(request, &args.goal.execution, &folders.dir)?;
    Ok(MeasuringJob {
        lock: !args.goal.execution.no_lock,
        host: args.goal.execution.host.clone(),
        live: args.live.live,
        full: args.full,
        ..MeasuringJob::new(plan, folders, store)
    })
}

/// Spreads the runs over a time. A default budget gives way.
fn spread_over(mut request: PlanRequest, text: &str, has_budget: bool) -> Result<PlanRequest> {
    let spread_ns = time_ns(text)?;
    if has_budget && request.budget_ns.is_some_and(|budget_ns| budget_ns < spread_ns) {
        return Err(CommandError::usage(format!("--spread {text} is longer than the budget"))
            .hint("raise --budget, or spread over less time"));
    }
    request.budget_ns = request.budget_ns.map(|budget_ns| budget_ns.max(spread_ns));
    request.spread_ns = Some(spread_ns);
    Ok(request)
}

/// Every command with every combination of the values that it asks for.
fn points(args: &ExecArgs, all_threads: u64) -> Result<Vec<PlannedPoint>> {
    let commands = commands(args)?;
    let untimed = args.untimed.settings(commands.len())?;
    let sets = parameter_sets(&args.params)
        .map_err(|error| error.hint("for a command before each run, use --before-each COMMAND"))?;
    let mut points = Vec::new();
    let mut asked = BTreeSet::new();
    for (command, mut settings) in commands.iter().zip(untimed) {
        settings.extend([ignoring(args.ignore_failure)]);
        settings.insert("cold".to_owned(), Value::Switch(args.cold));
        let texts: Vec<String> = settings.values().map(Value::to_string).collect();
        let mut own: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (name, values) in &sets {
            if asks_for(command.text(), name) || texts.iter().any(|text| asks_for(text, name)) {
                own.insert(name.clone(), values.clone());
            }
        }
        asked.extend(own.keys().cloned());
        let values = products(&Settings::new(), &own, all_threads)?;
        // The values that ranges stand for, in the order in which points have them.
        let mut expanded: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for name in own.keys() {
            let of_name = values.iter().filter_map(|settings| settings.get(name).cloned());
            expanded.insert(name.clone(), of_name.collect());
        }
        let parameters = parameters(&expanded);
        for value in values {
            let settings = settings.clone().into_iter().chain(value).collect();
            let mut planned = point(command, args.shell, settings, &parameters)?;
            if args.libraries || args.cold {
                // What a command maps is found once, as a fixture that depends on everything that the command does.
                let parameters = &planned.description.parameters;
                planned.description.fixture =
                    Some(parameters.iter().map(|parameter| parameter.name.clone()).collect());
            }
            points.push(planned);
        }
    }
    match sets.keys().find(|name| !asked.contains(*name)) {
        Some(name) => Err(CommandError::usage(format!("no command has {{{name}}}")).hint(format!(
            "write {{{name}}} where its values go: plumb exec -p {name}=1..8 'make -j{{{name}}}'"
        ))),
        None => Ok(points),
    }
}

fn commands(args: &ExecArgs) -> Result<Vec<TypedCommand>> {
    let mut typed = Vec::new();
    for text in &args.commands {
        typed.push(TypedCommand::new(text, args.shell)?);
    }
    if !args.argv.is_empty() {
        typed.push(TypedCommand::of_words(&args.argv, args.shell));
    }
    Ok(typed)
}
