//! `plumb crosscheck`: does plumb read what the classic tools read?

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use plumb_analysis::RunFinding;
use plumb_crosscheck::{
    Crosschecked, Outcome, ROWS, Row, crosscheck_card, crosscheck_document, crosscheck_page,
    families, rows_of, usual_budget,
};
use plumb_model::{Goal, OnInterference, VerdictGoal};
use plumb_suite::{nearest, time_ns};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::measuring::execute::execute;
use crate::measuring::job::Job;
use crate::measuring::setup::Setup;
use crate::measuring::target::{TargetArgs, folders};
use crate::planning::arguments::ExecutionArgs;
use crate::planning::knobs::knob;
use crate::planning::plan::{PlanRequest, plan};
use crate::planning::{points, prepare};
use crate::reading::output::{pretty, write_file};
use crate::ui::Ui;

/// Does plumb read what the classic tools read? Measure both in pairs
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb crosscheck memory                          memory.copy beside mbw
  plumb crosscheck                                 all families that have a classic
  plumb crosscheck --budget 5m network             what one row does not need is the next one's
  plumb crosscheck --markdown docs/crosscheck.md   also write the page

Each row is a `plumb ab` of the installed tool and the workload that should read the same, with matched parameters. \
The row agrees when the whole interval of the ratio lies inside its band, and disagrees when all of it lies outside; \
then the exit code is 1. Where the two do other work, both are shown, with why they differ. A tool that is not installed is unsupported, with its Debian package. Without --budget \
rows may take two minutes each, and those of a family ten together: what is decided early leaves its time to the next. Servers run on 127.0.0.1 and end with the row. As root, rows with long requests set `thp=always` while they are measured, and rows that create files use a medium of their own; --set takes their place. The tools themselves are workloads, too: plumb explain classic.mbw.")]
pub struct CrosscheckArgs {
    /// The family, such as `memory` [default: all]
    #[arg(value_name = "FAMILY")]
    family: Option<String>,
    /// Also write the page in Markdown to this file
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Exit with 5 if a row stays inconclusive
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

/// Length of plumb's samples: a classic's figure is a mean over all its time, some second, and what stretches such a mean must
/// do the same to ours. The median of three samples of 100 ms read up to 2.6 % quicker than their mean on a shared disk.
const SAMPLE_NS: u64 = 200_000_000;

/// Measures the rows of a family, or all, and shows whether they agree.
fn crosscheck(args: &CrosscheckArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let rows = rows(args.family.as_deref())?;
    let stated = args.execution.budget.as_deref().map(time_ns).transpose()?;
    let whole = stated.map_or_else(|| usual_budget(&rows), Duration::from_nanos);
    let begun = Instant::now();
    let (mut all, mut found, mut exit) = (Vec::new(), Vec::new(), Exit::Fine);
    for (index, row) in rows.iter().enumerate() {
        ui.say(&format!(
            "row {} of {}: {} beside {}",
            index + 1,
            rows.len(),
            row.ours,
            row.classic
        ));
        let budget = row.share(whole.saturating_sub(begun.elapsed()), &rows[index + 1..]);
        let (finding, interrupted) = measure(args, row, budget, store, ui)?;
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

/// The rows of a family.
fn rows(family: Option<&str>) -> Result<Vec<Row>> {
    let rows = rows_of(family);
    let Some(family) = family.filter(|_| rows.is_empty()) else { return Ok(rows) };
    let families: Vec<String> = families(ROWS).into_iter().map(str::to_owned).collect();
    let error = CommandError::usage(format!("no row of `{family}` stands beside a classic tool"));
    let error = match nearest(family, &families) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error,
    };
    Err(error.hint(format!("families that do: {}", families.join(", "))))
}

/// Compares both sides of a row, the classic first; and whether that was interrupted.
fn measure(
    args: &CrosscheckArgs,
    row: &Row,
    budget: Duration,
    store: Option<&Path>,
    ui: &Ui,
) -> Result<(RunFinding, bool)> {
    let mut setup = Setup::start()?;
    setup.keep_to(&args.execution.prepare);
    let all = setup.all_threads();
    let mut prepare = prepare::wanted(&mut setup.keeper, &args.execution.prepare, None, all)?;
    // Without root, say, both do without it.
    let set = row.set.and_then(|set| knob(set).ok());
    prepare.knobs.extend(set.filter(|set| prepare.knobs.iter().all(|it| it.knob != set.knob)));
    let names = [row.classic, row.ours].map(str::to_owned);
    let mut sides = points::resolve(&mut setup.keeper, &names, &[], all)?.points;
    for side in &mut sides {
        side.sample_ns = side.sample_ns.or(Some(SAMPLE_NS));
    }
    let goal = VerdictGoal::new(row.metric, row.margin(), row.most_pairs());
    let goal = VerdictGoal { beyond: true, ..goal };
    let goal = Goal::Verdict(goal);
    let request = PlanRequest {
        on_interference: OnInterference::default(),
        budget_ns: Some(u64::try_from(budget.as_nanos()).unwrap_or(u64::MAX)),
        ..PlanRequest::new(sides, goal, prepare)
    };
    let folders = folders(&mut setup.keeper, &args.target.place())?;
    let plan = plan(request, &args.execution, &folders.dir)?;
    let lock = !args.execution.no_lock;
    let host = args.execution.host.clone();
    let measured = execute(setup, Job { lock, host, ..Job::new(plan, folders, store) }, ui)?;
    Ok((measured.finding, measured.ended.interrupted))
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
    let one = |it: &Crosschecked| match &it.outcome {
        Outcome::Failed(_) => Exit::Failed,
        Outcome::Disagrees => Exit::Regression,
        Outcome::Inconclusive(_) if strict => Exit::Inconclusive,
        _ => Exit::Fine,
    };
    let unsupported = |it: &Crosschecked| matches!(it.outcome, Outcome::Unsupported { .. });
    if all.iter().all(unsupported) {
        return Exit::Nothing;
    }
    all.iter().map(one).min().unwrap_or(Exit::Fine)
}
