//! `plumb ab`: is B slower than A?

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use plumb_analysis::{Comparison, Verdict};
use plumb_model::{CPU, Goal, PEAK_MEMORY, Plan, PlannedPoint, Value};
use plumb_report::units::percent;

use super::doctor;
use super::exec::{self, Typed};
use super::measure::{Bench, Job, Place, measure};
use crate::cli::{AbArgs, FailOn};
use crate::error::{CommandError, Exit, Result};
use crate::quantity::share;
use crate::ui::Ui;
use crate::{catalogue, plan};

/// The parameter of `process.command` that names the file to start.
const PROGRAM: &str = "program";

/// Programs here are the system's: they stay where they are.
const SYSTEM: [&str; 7] = ["/bin", "/sbin", "/usr", "/lib", "/lib64", "/opt", "/snap"];

/// What the strategy's verdicts mean for the exit code.
#[derive(Debug, Clone, Copy, Default)]
pub struct Gate {
    fail_on: Option<FailOn>,
    strict: bool,
}

impl Gate {
    /// The exit codes that these comparisons ask for.
    pub fn exits(self, comparisons: &[Comparison]) -> Vec<Exit> {
        let one = |comparison: &Comparison| match comparison.verdict {
            Ok(Verdict::Slower) if self.fails(comparison) => Exit::Regression,
            Ok(Verdict::Inconclusive) | Err(_) if self.strict => Exit::Inconclusive,
            _ => Exit::Fine,
        };
        comparisons.iter().map(one).collect()
    }

    fn fails(self, comparison: &Comparison) -> bool {
        let most = 1.0 + comparison.margin;
        let ratio = comparison.ratio.as_ref();
        match self.fail_on {
            None => false,
            Some(FailOn::Slower) => ratio.is_some_and(|ratio| ratio.value >= most),
            Some(FailOn::Certain) => {
                ratio.and_then(plumb_analysis::Estimate::low).is_some_and(|low| low > most)
            }
        }
    }
}

/// Compares commands or points, pair by pair, until there is a verdict.
pub fn ab(args: &AbArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if args.quad && args.sides.len() > 2 {
        return Err(CommandError::usage("--quad takes two sides")
            .hint("more than two are compared in Latin squares, without --quad"));
    }
    let mut bench = Bench::set_up()?;
    let points = sides(&mut bench, args, ui)?;
    let wanted = margin(&args.margin)?;
    let noise_floor = points.first().map(|it| doctor::noise_floor(store, &it.point.workload));
    let noise_floor = noise_floor.transpose()?.flatten();
    if let Some(floor) = noise_floor.filter(|floor| *floor > wanted) {
        let (floor, wanted) = (percent(floor), percent(wanted));
        ui.say(&format!("margin {floor} instead of {wanted}: this machine sees no less here"));
    }
    let goal = Goal::Verdict {
        margin: noise_floor.map_or(wanted, |floor| floor.max(wanted)),
        noise_floor,
        metric: metric(args.metric.as_deref(), &points)?,
        quad: args.quad,
        max_pairs: args.max_pairs.parse().unwrap_or(40),
    };
    let plan = plan::plan_of(points, goal, &args.way)?;
    let commands = plan.points.iter().all(|it| it.point.workload == exec::COMMAND);
    let place = if commands { Place::Scratch } else { Place::Under(args.dir.as_deref()) };
    let gate = Gate { fail_on: args.fail_on, strict: args.strict };
    let lock = !args.way.no_lock;
    let copy = !args.no_copy;
    measure(bench, Job { lock, copy, gate, ..Job::new(plan, place, store) }, ui)
}

/// The margin as typed.
///
/// # Errors
/// When it is no share between 0 and 1.
pub fn margin(text: &str) -> Result<f64> {
    share(text).map_err(|error| error.hint("--margin is the smallest relative change that matters"))
}

/// The sides: points where every name is one, else commands.
fn sides(bench: &mut Bench, args: &AbArgs, ui: &Ui) -> Result<Vec<PlannedPoint>> {
    let points = args.sides.iter().filter(|side| is_point(bench, side)).count();
    if points == 0 {
        let command = |text: &String| {
            exec::point(&Typed::new(text, args.shell)?, args.shell, args.ignore_failure)
        };
        return args.sides.iter().map(command).collect();
    }
    if points < args.sides.len() {
        let ids = args.sides.iter().map(|side| side.split(':').next().unwrap_or_default());
        let known = catalogue::builtin_names();
        let unknown = ids.filter(|id| !known.iter().any(|name| name == id));
        let meant = unknown.filter_map(|id| catalogue::nearest(id, &known)).next();
        let error = CommandError::usage("one side is a workload, another a command");
        let error = match meant {
            Some(name) => error.hint(format!("was `{name}` meant?")),
            None => error,
        };
        return Err(
            error.hint("plumb ab 'CMD' 'CMD', or plumb ab WORKLOAD:NAME=VALUE WORKLOAD:NAME=VALUE")
        );
    }
    let all = bench.all_threads();
    let mut found = Vec::new();
    for side in &args.sides {
        let one = std::slice::from_ref(side);
        found.extend(plan::resolve(&mut bench.keeper, one, &[], all, ui)?.points);
    }
    Ok(found)
}

/// Whether a side is a point of a workload, built in or a plug-in on the path.
fn is_point(bench: &mut Bench, side: &str) -> bool {
    let id = side.split(':').next().unwrap_or_default();
    let like_an_id = id.contains('.') && !id.contains(['/', ' ']);
    like_an_id && catalogue::find(&mut bench.keeper, id).is_ok()
}

/// The metric that all sides have.
fn metric(named: Option<&str>, points: &[PlannedPoint]) -> Result<String> {
    let first = points.first().and_then(|point| point.description.primary());
    let Some(metric) = named.or(first.map(|metric| metric.name.as_str())) else {
        return Err(CommandError::usage("the workload has no metric to compare"));
    };
    let missing = points.iter().find(|it| it.description.metric(metric).is_none());
    match missing {
        Some(point) if metric != CPU && metric != PEAK_MEMORY => {
            let declared = point.description.metrics.iter().map(|metric| metric.name.as_str());
            let more = [CPU, PEAK_MEMORY].into_iter();
            let more = more.filter(|name| point.description.metric(name).is_none());
            let known: Vec<&str> = declared.chain(more).collect();
            let error = CommandError::usage(format!("{} has no metric `{metric}`", point.name()));
            Err(error.hint(format!("it has: {}", known.join(", "))))
        }
        _ => Ok(metric.to_owned()),
    }
}

/// Copies the programs of all sides into one folder under names of one length, so that neither path
/// nor place on disk differs: only where each is an executable of the user's own.
///
/// # Errors
/// When one can't be copied.
pub fn copy_side_by_side(plan: &mut Plan, scratch: &Path) -> Result<()> {
    let programs: Option<Vec<PathBuf>> = plan.points.iter().map(own_executable).collect();
    let Some(programs) = programs else { return Ok(()) };
    for (index, (planned, program)) in plan.points.iter_mut().zip(programs).enumerate() {
        let copy = scratch.join(format!("side-{index:03}"));
        fs::copy(&program, &copy).map_err(|error| {
            CommandError::file(format!("{} can't be copied: {error}", program.display()))
                .hint("--no-copy starts it where it is")
        })?;
        let path = Value::Text(copy.to_string_lossy().into_owned());
        planned.point.settings.insert(PROGRAM.to_owned(), path);
    }
    Ok(())
}

/// Whether a copy of its program was measured.
pub fn is_copied(planned: &PlannedPoint) -> bool {
    matches!(planned.point.settings.get(PROGRAM), Some(Value::Text(path)) if !path.is_empty())
}

/// The program of a command that is an ELF file outside the system's folders.
fn own_executable(planned: &PlannedPoint) -> Option<PathBuf> {
    let Some(Value::Text(command)) = planned.point.settings.get("command") else { return None };
    let words: Vec<String> = serde_json::from_str(command).ok()?;
    let named = words.first()?;
    // Without a slash it is looked for among the system's programs.
    let path = fs::canonicalize(named.contains('/').then_some(named)?).ok()?;
    let of_system = SYSTEM.iter().any(|folder| path.starts_with(folder));
    let mut magic = [0; 4];
    fs::File::open(&path).ok()?.read_exact(&mut magic).ok()?;
    (!of_system && magic == *b"\x7fELF").then_some(path)
}
