//! `plumb run`: suites, workloads and plug-ins.

use std::path::Path;

use plumb_model::{Goal, Plan};
use plumb_text::time;

use crate::cli::RunArgs;
use crate::error::{Exit, Result};
use crate::measuring::measure::{Bench, Job, Place, interrupted, measure};
use crate::planning::plan;
use crate::quantity;
use crate::ui::Ui;

/// Measures what is named, or completes an interrupted run.
pub fn run(args: &RunArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let mut bench = Bench::set_up()?;
    if let Some(name) = &args.resume {
        return resume(bench, args, name, store, ui);
    }
    bench.keep_to(&args.goal.way.prepare);
    let all = bench.all_threads();
    let mut named = plan::resolve(&mut bench.keeper, &args.names, &args.params, all, ui)?;
    if args.ceilings {
        named.points = plan::with_ceilings(named.points, all)?;
    }
    let companions = plan::companions(&mut bench.keeper, &args.with, all)?;
    let prepare = named.prepare(&mut bench.keeper, &args.goal, all)?;
    let explicit = named.explicit;
    if args.dry_run {
        ui.out(&dry_run(&named, args)?);
        return Ok(Exit::Fine);
    }
    let expectations = plan::expectations(&named, &args.expect)?;
    if let Some(every) = &args.every {
        return crate::commands::run::schedule::print(every, &args.names, store, ui);
    }
    let mut plan = Plan { expectations, ..plan::plan(named, companions, &args.goal, prepare)? };
    if let Some(length) = &args.soak {
        (plan.goal, plan.budget_ns) = (Goal::Soak, Some(quantity::time_ns(length)?));
    }
    let place = Place::Under(args.dir.as_deref());
    let lock = !args.goal.way.no_lock;
    let live = args.live.live;
    measure(bench, Job { lock, explicit, live, ..Job::new(plan, place, store) }, ui)
}

fn resume(bench: Bench, args: &RunArgs, name: &str, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let record = {
        let store = crate::commands::show::command::open(store)?;
        interrupted(&store, store.resolve(name)?)?
    };
    // The budget was for the whole run; what is left of it is what it has not spent.
    let plan = Plan { dir: String::new(), ..record.plan.clone() };
    let place = Place::Under(args.dir.as_deref());
    let lock = !args.goal.way.no_lock;
    let copy = plan.points.iter().any(crate::measuring::side_by_side::is_copied);
    let before = Some(record);
    let live = args.live.live;
    let job = Job { before, lock, explicit: false, copy, live, ..Job::new(plan, place, store) };
    measure(bench, job, ui)
}

fn dry_run(named: &plan::Named, args: &RunArgs) -> Result<String> {
    let (goal, budget) = match &args.soak {
        Some(length) => (Goal::Soak, Some(quantity::time_ns(length)?)),
        None => plan::goal(&args.goal, named.suites.first(), named.points.len())?,
    };
    let mut lines: Vec<String> = named.points.iter().map(plumb_model::PlannedPoint::name).collect();
    let goal = match goal {
        Goal::Precision { relative } => format!("until ±{} %", relative * 100.0),
        Goal::Fixed { min_invocations, .. } => format!("at least {min_invocations} invocations"),
        Goal::Soak => "until the time is over".to_owned(),
        Goal::Verdict { max_pairs, .. } => format!("at most {max_pairs} pairs"),
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
    let budget = budget.map_or("no time limit".to_owned(), |ns| {
        format!("at most {}", time::length(ns as f64 / 1e9))
    });
    lines.push(format!("\n{} points, each {goal}; {budget}", named.points.len()));
    if let [suite] = named.suites.as_slice()
        && let Some(seconds) = suite.seconds()
    {
        let sum = time::length(seconds);
        lines.push(format!("{} plans {sum} for its points on a quiet machine", suite.name));
    }
    Ok(lines.join("\n"))
}
