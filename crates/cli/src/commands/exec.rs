//! `plumb exec`: commands, interleaved and compared with the first.

use std::path::Path;

use plumb_model::{Goal, PlannedPoint, Point, Settings, Value};

use crate::cli::ExecArgs;
use crate::error::{CommandError, Exit, Result};
use crate::measuring::measure::{Bench, Job, Place, measure};
use crate::planning::{catalogue, plan};
use crate::ui::Ui;

/// The workload behind `exec`.
pub const COMMAND: &str = "process.command";
/// The longest time for one point when the user states none, in nanoseconds: without an end.
const NO_LIMIT_NS: u64 = u64::MAX >> 1;

/// Measures the commands.
pub fn exec(args: &ExecArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let mut bench = Bench::set_up()?;
    let points = commands(args)?
        .into_iter()
        .map(|command| point(&command, args.shell, args.ignore_failure))
        .collect::<Result<Vec<_>>>()?;
    let named = plan::Named { points, explicit: true, ..plan::Named::default() };
    let several = named.points.len() > 1;
    let all = bench.all_threads();
    let prepare = named.prepare(&mut bench.keeper, &args.goal, all)?;
    let mut plan = plan::plan(named, Vec::new(), &args.goal, prepare)?;
    plan.against_first = several;
    if let Some(runs) = args.runs {
        if runs == 0 {
            return Err(CommandError::usage("--runs 0 measures nothing"));
        }
        plan.goal = Goal::Fixed { min_invocations: runs, min_time_ns: 0, max_time_ns: NO_LIMIT_NS };
        plan.budget_ns =
            args.goal.way.budget.as_deref().map(crate::quantity::time_ns).transpose()?;
    }
    let lock = !args.goal.way.no_lock;
    measure(bench, Job { lock, live: args.live.live, ..Job::new(plan, Place::Scratch, store) }, ui)
}

/// A command: what people typed, and its words (one word for a shell).
pub struct Typed {
    text: String,
    words: Vec<String>,
}

impl Typed {
    /// A command in one argument.
    ///
    /// # Errors
    /// When it is empty or a quote has no partner.
    pub fn new(text: &str, shell: bool) -> Result<Self> {
        let words = if shell { vec![text.to_owned()] } else { split(text)? };
        Ok(Self { text: text.to_owned(), words })
    }
}

fn commands(args: &ExecArgs) -> Result<Vec<Typed>> {
    let mut typed = Vec::new();
    for text in &args.commands {
        typed.push(Typed::new(text, args.shell)?);
    }
    if !args.argv.is_empty() {
        let text = args.argv.join(" ");
        let words = if args.shell { vec![text.clone()] } else { args.argv.clone() };
        typed.push(Typed { text, words });
    }
    Ok(typed)
}

fn split(text: &str) -> Result<Vec<String>> {
    match shlex::split(text) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => Err(CommandError::usage("an empty command")),
        None => Err(CommandError::usage(format!("`{text}` has a quote without its partner"))
            .hint("quote it for plumb as you would for a shell, or use --shell")),
    }
}

/// The point of `process.command` that a command is.
///
/// # Errors
/// When it can't be a parameter.
pub fn point(command: &Typed, shell: bool, ignore_failure: bool) -> Result<PlannedPoint> {
    let Some(entry) = catalogue::builtin(COMMAND)? else {
        return Err(CommandError::bug("process.command is not built in"));
    };
    let words = if shell {
        command.text.clone()
    } else {
        serde_json::to_string(&command.words).map_err(|e| CommandError::bug(e.to_string()))?
    };
    let settings: Settings = [
        ("command".to_owned(), Value::Text(words)),
        ("shell".to_owned(), Value::Switch(shell)),
        ("ignore_failure".to_owned(), Value::Switch(ignore_failure)),
    ]
    .into();
    Ok(PlannedPoint {
        point: Point::new(&entry.description, &settings, 1)?,
        description: entry.description,
        program: entry.program,
        sample_ns: None,
        title: Some(command.text.clone()),
        capped: None,
        preparation: Vec::new(),
    })
}
