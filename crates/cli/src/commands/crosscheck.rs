//! `plumb crosscheck`: does plumb report the same as the classic tools?

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use plumb_analysis::RunFinding;
use plumb_crosscheck::{
    Agreement, Crosschecked, PairedPoints, ROWS, crosscheck_card, crosscheck_document,
    crosscheck_page, families, rows_of, usual_budget,
};
use plumb_model::{Goal, OnInterference, VerdictGoal};
use plumb_suite::{nearest, time_ns};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::measuring::execute::execute;
use crate::measuring::job::MeasuringJob;
use crate::measuring::setup::Setup;
use crate::measuring::target::{TargetArgs, folders};
use crate::planning::arguments::ExecutionArgs;
use crate::planning::knobs::knob;
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::{points, prepare};
use crate::reading::output::{pretty, write_file};
use crate::ui::Ui;

/// Does plumb agree with the classic tools? Measure both in pairs
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb crosscheck memory                          memory.copy compared with mbw
  plumb crosscheck                                 all families that have a classic tool
  plumb crosscheck --budget 5m network             unused time goes to the next row
  plumb crosscheck --markdown docs/crosscheck.md   also write the page
  plumb crosscheck language --from ~/langs-performance --budget 30m
                                                   loops compared with those of a checkout

Like `plumb ab`, each row compares an installed tool with the workload that should give the same result. A row \
agrees if the whole interval of the ratio is inside its band, and disagrees (exit code 1) if it is entirely outside. plumb \
explains rows whose work differs, and names the Debian packages of missing tools. Without --budget, a row may take two \
minutes and a family ten; unused time goes to the next row. If you are root, some rows use `thp=always` or a separate \
medium; --set overrides both.")]
pub struct CrosscheckArgs {
    /// The family, such as `memory` [default: all]
    #[arg(value_name = "FAMILY")]
    family: Option<String>,
    /// Checkout of famzah/langs-performance, for `language`
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
    /// Also write Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Exit with 5 if there is no clear verdict
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    execution: ExecutionArgs,
}

impl Subcommand for CrosscheckArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        crosscheck(self, context.store, context.ui)
    }
}

/// Length of plumb's samples, in nanoseconds. A classic tool reports a mean over a second or more, and a disturbance that
/// raises such a mean must raise our figure as well: the median of three samples of 100 ms was up to 2.6 % lower than
/// their mean on a shared disk.
const SAMPLE_NS: u64 = 200_000_000;

/// Measures the rows of a family, or all, and shows whether they agree.
fn crosscheck(args: &CrosscheckArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let rows = rows(args)?;
    let checkout = checkout(args)?;
    let stated = args.execution.budget.as_deref().map(time_ns).transpose()?;
    let whole = stated.map_or_else(|| usual_budget(&rows), Duration::from_nanos);
    let begun = Instant::now();
    let mut all = Vec::new();
    let mut found = Vec::new();
    let mut exit = Exit::Fine;
    for (index, row) in rows.iter().enumerate() {
        ui.say(&format!(
            "row {} of {}: {} compared with {}",
            index + 1,
            rows.len(),
            row.ours,
            row.classic
        ));
        let budget = row.share(whole.saturating_sub(begun.elapsed()), &rows[index + 1..]);
        let (finding, interrupted) = measure(args, row, checkout.as_deref(), budget, store, ui)?;
        all.push(Crosschecked::of(row, &finding));
        found.push(finding);
        if interrupted {
            exit = Exit::Interrupted;
            break;
        }
    }
    write(args, &all, &found, ui)?;
    Ok(exit.min(exit_of(&all, args.strict)))
}

/// The rows of a family; those that need a checkout only if there is one.
fn rows(args: &CrosscheckArgs) -> Result<Vec<PairedPoints>> {
    let mut rows = rows_of(args.family.as_deref());
    if let Some(family) = args.family.as_deref().filter(|_| rows.is_empty()) {
        let families: Vec<String> = families(ROWS).into_iter().map(str::to_owned).collect();
        let why = format!("no row compares `{family}` with a classic tool");
        let mut error = CommandError::usage(why);
        if let Some(near) = nearest(family, &families) {
            error = error.hint(format!("did you mean `{near}`?"));
        }
        let known = format!("families with a classic tool: {}", families.join(", "));
        return Err(error.hint(known));
    }
    if args.from.is_none() {
        rows.retain(|row| !row.needs_checkout());
    }
    if rows.is_empty() {
        let why = "crosscheck language needs a checkout of langs-performance".to_owned();
        return Err(CommandError::usage(why).hint(
            "git clone https://github.com/famzah/langs-performance, and add --from langs-performance",
        ));
    }
    Ok(rows)
}

/// Compares both sides of a row, the classic first; and whether that was interrupted.
fn measure(
    args: &CrosscheckArgs,
    row: &PairedPoints,
    checkout: Option<&Path>,
    budget: Duration,
    store: Option<&Path>,
    ui: &Ui,
) -> Result<(RunFinding, bool)> {
    let mut setup = Setup::start()?;
    setup.keep_to(&args.execution.prepare);
    let all = setup.all_threads();
    let mut prepare = prepare::wanted(&mut setup.keeper, &args.execution.prepare, None, all)?;
    // A knob that cannot be set here, for example without root, is left out for both sides.
    if let Some(set) = row.set.and_then(|set| knob(set).ok())
        && prepare.knobs.iter().all(|other| other.knob != set.knob)
    {
        prepare.knobs.push(set);
    }
    let names = [classic(row, checkout), row.ours.to_owned()];
    let mut sides = points::resolve(&mut setup.keeper, &names, &[], all)?.points;
    for side in &mut sides {
        side.sample_ns = side.sample_ns.or(Some(SAMPLE_NS));
    }
    // A row may also disagree, so looks go on until the interval lies beyond the margin, too.
    let goal = VerdictGoal {
        beyond: true,
        ..VerdictGoal::new(row.metric, row.margin(), row.most_pairs())
    };
    let request = PlanRequest {
        // Disturbed invocations stay on our side: the mean of the classic tool contains what disturbed it, too.
        on_interference: OnInterference::default(),
        budget_ns: Some(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX)),
        ..PlanRequest::new(sides, Goal::Verdict(goal), prepare)
    };
    let folders = folders(&mut setup.keeper, &args.target.place())?;
    let plan = plan(request, &args.execution, &folders.dir)?;
    let job = MeasuringJob {
        lock: !args.execution.no_lock,
        host: args.execution.host.clone(),
        ..MeasuringJob::new(plan, folders, store)
    };
    let measured = execute(setup, job, ui)?;
    Ok((measured.finding, measured.ended.interrupted))
}

/// The absolute path of the checkout.
fn checkout(args: &CrosscheckArgs) -> Result<Option<PathBuf>> {
    let Some(folder) = &args.from else { return Ok(None) };
    let found = folder.canonicalize().map_err(|error| {
        CommandError::usage(format!("--from {}: {error}", folder.display()))
            .hint("pass a checkout of famzah/langs-performance")
    });
    found.map(Some)
}

/// The classic's point, with the checkout if it needs one.
fn classic(row: &PairedPoints, checkout: Option<&Path>) -> String {
    match checkout.filter(|_| row.needs_checkout()) {
        Some(checkout) => format!("{},from={}", row.classic, checkout.display()),
        None => row.classic.to_owned(),
    }
}

fn write(args: &CrosscheckArgs, all: &[Crosschecked], found: &[RunFinding], ui: &Ui) -> Result<()> {
    if ui.wants_json() {
        ui.out(&pretty(&crosscheck_document(all))?);
    } else {
        ui.out(&crosscheck_card(all, &ui.terminal()));
    }
    match &args.markdown {
        Some(file) => write_file(file, crosscheck_page(all, found).as_bytes()),
        None => Ok(()),
    }
}

fn exit_of(all: &[Crosschecked], strict: bool) -> Exit {
    if all.iter().all(|row| matches!(row.outcome, Agreement::Unsupported { .. })) {
        return Exit::Nothing;
    }
    all.iter().map(|row| exit_of_row(&row.outcome, strict)).min().unwrap_or(Exit::Fine)
}

fn exit_of_row(outcome: &Agreement, strict: bool) -> Exit {
    match outcome {
        Agreement::Failed(_) => Exit::Failed,
        Agreement::Disagrees => Exit::Regression,
        Agreement::Inconclusive(_) if strict => Exit::Inconclusive,
        _ => Exit::Fine,
    }
}
