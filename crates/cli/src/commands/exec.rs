//! `plumb exec`: commands, interleaved and compared with the first.

use std::path::Path;

use clap::Args;
use plumb_model::{Goal, StoppingRules};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::measuring::job::{Job, Place};
use crate::measuring::live::LiveArgs;
use crate::measuring::measure::measure;
use crate::measuring::setup::Setup;
use crate::planning::arguments::GoalArgs;
use crate::planning::command::{Typed, point};
use crate::planning::points::Named;
use crate::planning::{plan, prepare};
use crate::quantity::time_ns;
use crate::ui::Ui;

/// Time commands; plumb interleaves several and compares them with the first
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb exec 'sleep 0.1'                       until the median is known to 1 %
  plumb exec -n 20 'gzip -k f' 'zstd -k f'     20 runs of each, compared with the first
  plumb exec -- make -j2 all                   one command, word by word
  plumb exec --shell 'sort f | uniq -c'        run by /bin/sh, whose start-up counts

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
    /// Run each command with /bin/sh -c
    #[arg(long)]
    shell: bool,
    /// Accept commands that exit with a status other than 0
    #[arg(short, long)]
    ignore_failure: bool,
    #[command(flatten)]
    live: LiveArgs,
    #[command(flatten)]
    goal: GoalArgs,
}

impl Subcommand for ExecArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        exec(self, context.store, context.ui)
    }
}

/// Measures the commands.
fn exec(args: &ExecArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let mut setup = Setup::start()?;
    let points = commands(args)?
        .into_iter()
        .map(|command| point(&command, args.shell, args.ignore_failure))
        .collect::<Result<Vec<_>>>()?;
    let named = Named { points, explicit: true, ..Named::default() };
    let several = named.points.len() > 1;
    let all = setup.all_threads();
    let prepare = prepare::for_named(&mut setup.keeper, &named, &args.goal.execution.prepare, all)?;
    let mut plan = plan::plan(named, Vec::new(), &args.goal, prepare)?;
    plan.against_first = several;
    if let Some(runs) = args.runs {
        if runs == 0 {
            return Err(CommandError::usage("--runs 0 measures nothing"));
        }
        plan.goal = Goal::Rules(StoppingRules::fixed(runs));
        plan.budget_ns = args.goal.execution.budget.as_deref().map(time_ns).transpose()?;
    }
    let lock = !args.goal.execution.no_lock;
    measure(setup, Job { lock, live: args.live.live, ..Job::new(plan, Place::Scratch, store) }, ui)
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
