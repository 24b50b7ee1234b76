//! `plumb ab`: is B slower than A?

use std::path::Path;

use plumb_model::{CPU, Goal, PEAK_MEMORY, PlannedPoint, Preparation, Slot};
use plumb_text::units::percent;

use crate::cli::{AbArgs, PrepareArgs};
use crate::commands::doctor::audit as doctor;
use crate::commands::exec::{self, Typed};
use crate::error::{CommandError, Exit, Result};
use crate::measuring::fail_on::FailPolicy;
use crate::measuring::measure::{Bench, Job, Place, measure};
use crate::planning::{catalogue, plan, prepare};
use crate::quantity::margin;
use crate::ui::Ui;

/// Compares commands or points, pair by pair, until there is a verdict.
pub fn ab(args: &AbArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if args.quad && args.sides.len().max(args.way.prepare.set.len()) > 2 {
        return Err(CommandError::usage("--quad takes two sides")
            .hint("more than two are compared in Latin squares, without --quad"));
    }
    let mut bench = Bench::set_up()?;
    bench.keep_to(&args.way.prepare);
    let all = bench.all_threads();
    let (of_knob, sets) = knob_sides(args)?;
    let of_all = PrepareArgs { set: sets, ..args.way.prepare.clone() };
    let prepare = prepare::wanted(&mut bench.keeper, &of_all, None, all)?;
    let points = sides(&mut bench, args, ui)?;
    let points = if of_knob.is_empty() { points } else { at_values(&points, &of_knob) };
    let wanted = margin(&args.margin)?;
    let class = points.first().and_then(|it| it.description.audit_class);
    let noise_floor = class.map(|class| doctor::noise_floor(store, class)).transpose()?.flatten();
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
    let plan = plan::plan_of(points, goal, &args.way, prepare)?;
    let commands = plan.points.iter().all(|it| it.point.workload == exec::COMMAND);
    let place = if commands { Place::Scratch } else { Place::Under(args.dir.as_deref()) };
    let gate = FailPolicy { fail_on: args.fail_on, strict: args.strict };
    let lock = !args.way.no_lock;
    // Values of a knob are compared on one and the same file.
    let copy = !args.no_copy && of_knob.is_empty();
    let live = args.live.live;
    measure(bench, Job { lock, copy, gate, live, ..Job::new(plan, place, store) }, ui)
}

/// The values of a knob that are compared, and what else is set: where one side is named, the sets of the
/// one knob that is set more than once are the sides.
fn knob_sides(args: &AbArgs) -> Result<(Vec<Preparation>, Vec<String>)> {
    let sets = &args.way.prepare.set;
    if args.sides.len() > 1 {
        return Ok((Vec::new(), sets.clone()));
    }
    let name = |text: &String| text.split(['=', '@']).next().unwrap_or(text).to_owned();
    let times = |text: &&String| sets.iter().filter(|other| name(other) == name(text)).count();
    let (sides, rest): (Vec<&String>, Vec<&String>) = sets.iter().partition(|it| times(it) > 1);
    let knobs: std::collections::BTreeSet<String> = sides.iter().map(|it| name(it)).collect();
    if knobs.len() != 1 {
        return Err(CommandError::usage("ab takes two sides, or one and two values of one knob")
            .hint("plumb ab './old' './new'")
            .hint("plumb ab --set thp=always --set thp=never WORKLOAD"));
    }
    let side = |text: &&String| {
        let preparation = prepare::knob(text)?;
        Ok(Preparation { slot: Slot::Invocation, ..preparation })
    };
    let sides = sides.iter().map(side).collect::<Result<_>>()?;
    Ok((sides, rest.into_iter().cloned().collect()))
}

/// The point once for each value.
fn at_values(points: &[PlannedPoint], values: &[Preparation]) -> Vec<PlannedPoint> {
    let side = |point: &PlannedPoint, value: &Preparation| {
        let title = Preparation { slot: Slot::Run, ..value.clone() }.name();
        let preparation = vec![value.clone()];
        PlannedPoint { title: Some(title), preparation, ..point.clone() }
    };
    points.iter().flat_map(|point| values.iter().map(|value| side(point, value))).collect()
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
