//! `plumb exec`: commands, interleaved and compared with the first.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use clap::Args;
use plumb_model::{Goal, Plan, PlannedPoint, Settings, StoppingRules, Value};
use plumb_suite::time_ns;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::measuring::job::Job;
use crate::measuring::live::LiveArgs;
use crate::measuring::measure::measure;
use crate::measuring::setup::Setup;
use crate::measuring::target::Place;
use crate::planning::arguments::GoalArgs;
use crate::planning::command::{Typed, asks_for, ignoring, parameters, point};
use crate::planning::points::{Named, parameter_sets, products};
use crate::planning::{plan, prepare};
use crate::ui::Ui;

/// Time commands; plumb interleaves several and compares them with the first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb exec 'sleep 0.1'                       until the median is known to 1 %
  plumb exec -n 20 'gzip -k f' 'zstd -k f'     20 runs of each, compared with the first
  plumb exec --spread 5m 'curl -s localhost'   over five minutes, with pauses
  plumb exec -- make -j2 all                   one command, word by word
  plumb exec --shell 'sort f | uniq -c'        run by /bin/sh, whose start-up counts
  plumb exec --before-each 'rm -f out' './build out'   each run starts without the file
  plumb exec --setup 'make a' --setup 'make b' ./a ./b   made before they run
  plumb exec -p threads=1..8 'xz -T{threads} -kf data'   a point for each number of threads

plumb splits a command into words as a shell would, but starts no shell. It times each run from just \
before posix_spawn to just after wait4. Each new worker first runs a short command (under 20 ms) once \
without counting it, because the worker's own start has cooled the caches.")]
pub struct ExecArgs {
    /// Commands, each quoted as one argument
    #[arg(required_unless_present = "argv", value_name = "COMMAND")]
    commands: Vec<String>,
    /// One command, word by word
    #[arg(last = true, value_name = "CMD ARG…")]
    argv: Vec<String>,
    /// Count exactly this many runs of each command
    #[arg(short = 'n', long, value_name = "N", conflicts_with_all =
        ["precision", "min_invocations", "max_invocations", "min_time", "max_time"])]
    runs: Option<usize>,
    /// Spread the runs over at least this time, with pauses between bursts of runs, so that they speak of more than
    /// one moment of this machine. plumb leaves out runs right after a pause when they are not as fast as others
    #[arg(long, value_name = "TIME", conflicts_with = "runs")]
    spread: Option<String>,
    /// Put values into the commands, where they have `{NAME}`; each gives a point. Values and ranges as in
    /// `plumb run`: `1,2,8`, `1..64`, `1..9+2`
    #[arg(short = 'p', long = "param", value_name = "NAME=VALUE,…")]
    params: Vec<String>,
    /// Run each command with /bin/sh -c
    #[arg(long)]
    shell: bool,
    /// Accept commands that exit with a status other than 0
    #[arg(short, long)]
    ignore_failure: bool,
    /// Show the whole scorecard: every column and metric row, every flag with its evidence
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    untimed: UntimedArgs,
    #[command(flatten)]
    live: LiveArgs,
    #[command(flatten)]
    goal: GoalArgs,
}

/// Shell commands around the runs: one for all commands, or one for each of them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Around the runs, untimed")]
pub struct UntimedArgs {
    /// Run this by /bin/sh before the first run of each worker; once for all commands, or one for each
    #[arg(long, value_name = "COMMAND")]
    setup: Vec<String>,
    /// Run this by /bin/sh before every run (hyperfine's --prepare)
    #[arg(long, value_name = "COMMAND")]
    before_each: Vec<String>,
    /// Run this by /bin/sh after every run
    #[arg(long, value_name = "COMMAND", visible_alias = "conclude")]
    after_each: Vec<String>,
    /// Run this by /bin/sh after the last run of each worker
    #[arg(long, value_name = "COMMAND")]
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
                let (flag, given) = (name.replace('_', "-"), typed.len());
                return Err(CommandError::usage(format!(
                    "--{flag} is given {given} times for {commands} commands"
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

/// Measures the commands.
fn exec(args: &ExecArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let mut setup = Setup::start()?;
    let points = points(args, setup.all_threads())?;
    let named = Named { points, explicit: true, ..Named::default() };
    let several = named.points.len() > 1;
    let all = setup.all_threads();
    let prepare = prepare::for_named(&mut setup.keeper, &named, &args.goal.execution.prepare, all)?;
    let mut plan = plan::plan(named, Vec::new(), &args.goal, prepare)?;
    plan.against_first = several;
    if let Some(spread) = &args.spread {
        spread_over(&mut plan, spread, args.goal.execution.budget.is_some())?;
    }
    if let Some(runs) = args.runs {
        if runs == 0 {
            return Err(CommandError::usage("--runs 0 measures nothing"));
        }
        plan.goal = Goal::Rules(StoppingRules::fixed(runs));
        plan.budget_ns = args.goal.execution.budget.as_deref().map(time_ns).transpose()?;
    }
    let (lock, host) = (!args.goal.execution.no_lock, args.goal.execution.host.clone());
    measure(
        setup,
        Job {
            lock,
            host,
            live: args.live.live,
            full: args.full,
            ..Job::new(plan, Place::Scratch, store)
        },
        ui,
    )
}

/// Spreads a plan over a time. A budget that nobody stated gives way.
fn spread_over(plan: &mut Plan, text: &str, has_budget: bool) -> Result<()> {
    let spread_ns = time_ns(text)?;
    let budget_ns = plan.budget_ns.filter(|budget_ns| *budget_ns < spread_ns);
    if budget_ns.is_some() && has_budget {
        return Err(CommandError::usage(format!("--spread {text} is longer than the budget"))
            .hint("raise --budget, or spread over less time"));
    }
    plan.budget_ns = plan.budget_ns.map(|budget_ns| budget_ns.max(spread_ns));
    plan.spread_ns = Some(spread_ns);
    Ok(())
}

/// Every command with every combination of the values that it asks for.
fn points(args: &ExecArgs, all_threads: u64) -> Result<Vec<PlannedPoint>> {
    let commands = commands(args)?;
    let untimed = args.untimed.settings(commands.len())?;
    let sets = parameter_sets(&args.params)?;
    let mut points = Vec::new();
    let mut asked = BTreeSet::new();
    for (command, mut settings) in commands.iter().zip(untimed) {
        settings.extend([ignoring(args.ignore_failure)]);
        let texts: Vec<String> = settings.values().map(Value::to_string).collect();
        let asks = |name: &str| {
            asks_for(command.text(), name) || texts.iter().any(|text| asks_for(text, name))
        };
        let own: BTreeMap<_, _> = sets
            .iter()
            .filter(|(name, _)| asks(name))
            .map(|(a, b)| (a.clone(), b.clone()))
            .collect();
        asked.extend(own.keys().cloned());
        let values = products(&Settings::new(), &own, all_threads)?;
        let in_order = |name: &String| {
            let of_name = values.iter().filter_map(|it| it.get(name).cloned());
            (name.clone(), of_name.collect::<Vec<Value>>())
        };
        let parameters = parameters(&own.keys().map(in_order).collect());
        for value in values {
            let settings = settings.clone().into_iter().chain(value).collect();
            points.push(point(command, args.shell, settings, &parameters)?);
        }
    }
    match sets.keys().find(|name| !asked.contains(*name)) {
        Some(name) => Err(CommandError::usage(format!("no command has {{{name}}}")).hint(format!(
            "write {{{name}}} where its values go: plumb exec -p {name}=1..8 'make -j{{{name}}}'"
        ))),
        None => Ok(points),
    }
}

fn commands(args: &ExecArgs) -> Result<Vec<Typed>> {
    let mut typed = Vec::new();
    for text in &args.commands {
        typed.push(Typed::new(text, args.shell)?);
    }
    if !args.argv.is_empty() {
        typed.push(Typed::of_words(&args.argv, args.shell));
    }
    Ok(typed)
}
