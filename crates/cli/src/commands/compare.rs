//! `plumb compare`: stored runs against the first of them.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use plumb_analysis::{CompareSettings, Comparison, ComparisonFinding, NoVerdict};
use plumb_classics::COUNTING;
use plumb_model::{By, Id, Impact, RunOfSeries, SeriesInRun, Target, Verdict};
use plumb_query::Selection;
use plumb_store::Store;
use plumb_suite::margin;
use plumb_text::command_line::typed;
use plumb_text::counted;

use crate::commands::reference::compare_with;
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::reading::output::{self, OutputFormat};
use crate::reading::references;
use crate::reading::runs;
use crate::reading::series::{divisor, not_in_common};
use crate::ui::Ui;

/// So many runs of either side in turns are eight blocks.
const FEWEST_IN_TURNS: usize = 9;
/// The smallest relative change that matters, unless another is given.
const DEFAULT_MARGIN: &str = "1%";
/// The label that holds the price of a run, unless another is given.
const DEFAULT_PRICE: &str = "price";
/// Series of a run that are named where none is common.
const MOST_NAMED: usize = 3;

/// Compare stored runs with the first one: versions, kernels, machines
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb compare last~1 last                 the last run and the one before it
  plumb compare kernel=6.1 kernel=6.12      two groups of runs, selected by label
  plumb compare --by kernel                 all runs, grouped by their kernel
  plumb compare --by host fleet=0193f2a4c1d8    the runs of a label, grouped by host
  plumb compare --by kernel last~3 last~2 last~1 last    group four runs by their kernel
  plumb compare --by kernel,kind last~1 last   the same across hosts of one kind of machine
  plumb compare --margin 3% web=1 web=2     with another margin
  plumb compare --by kind --normalise-by ssh.cipher:cipher=3des-cbc   relative to one cipher
  plumb compare reference:linode-360-2010 last   with published figures
  plumb compare --across tool=hyperfine last   an imported result and a run of the same command
  plumb report --by kernel -o report        as a page with charts

If the runs of the sides alternate, eight blocks are enough for a verdict. Otherwise plumb needs six pairs of earlier \
runs of the series on the same host, as far apart in time as the sides; without them, it reports how much runs would have \
to vary for the difference to be chance. `plumb ab` needs no history. If every run has a label such as `price=19.95` or `price='19.95 USD'`, plumb also shows \
each result relative to its price.

plumb ranks three or more sides (with prices, also two), each with runs of eight hosts or of eight hours.")]
pub struct CompareArgs {
    /// Two or more runs: ids, `last`, `last~2`, labels `k=v` (all matching runs), or one `reference:NAME`
    /// [default with --by: all runs]
    #[arg(required_unless_present = "by", num_args = 1.., value_name = "RUN")]
    runs: Vec<String>,
    /// Group runs by labels or facts about the machine (`kernel`, `governor`, …)
    ///
    /// The groups `host`, `kind` (of machine) and `run` work too. Without `kind`, plumb never mixes hosts.
    #[arg(long, value_name = "FIELD,…")]
    by: Option<String>,
    /// The smallest relative change that matters
    #[arg(long, value_name = "SHARE", default_value = DEFAULT_MARGIN)]
    margin: String,
    /// The label that holds the price of a run
    #[arg(long, value_name = "LABEL", default_value = DEFAULT_PRICE)]
    price: String,
    /// Also divide each ratio by that of this series
    ///
    /// A cipher that no processor accelerates cancels out the processing power of machines.
    #[arg(long, value_name = "SERIES", conflicts_with = "across")]
    normalise_by: Option<String>,
    /// Show every metric, not only the first of each workload
    #[arg(long)]
    all: bool,
    /// Compare points by name, even from different workloads or tools
    #[arg(long, conflicts_with = "by")]
    across: bool,
    /// Continue even if the runs are not comparable
    #[arg(long)]
    force: bool,
    /// Exit with 5 if there is no clear verdict
    #[arg(long)]
    strict: bool,
    /// The output format; --json prints the JSON document
    #[arg(long, value_enum, default_value = "terminal")]
    format: OutputFormat,
}

impl Subcommand for CompareArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        compare(self, context.store, context.ui)
    }
}

/// Compares the named runs.
fn compare(args: &CompareArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if args.runs.iter().any(|name| references::named(name).is_some()) {
        refuse_with_reference(args)?;
        return compare_with(&args.runs, store, ui);
    }
    if let ([only], None) = (args.runs.as_slice(), &args.by) {
        return Err(CommandError::usage("compare needs two runs, or --by FIELD")
            .hint(format!("plumb compare {only} last    compares it with the last run"))
            .hint(format!(
                "plumb compare --by host {only}    groups the runs of a label by host"
            )));
    }
    let store = runs::open(store)?;
    let named = match args.runs.as_slice() {
        [] => Vec::new(),
        names => runs::of_labels(&store, names)?,
    };
    let ids: Vec<Id> = match named.as_slice() {
        // clap lets them be left out only with --by.
        [] => store.runs()?,
        named => named.iter().flat_map(|name| name.runs.iter().copied()).collect(),
    };
    let settings = CompareSettings {
        by: args.by.clone(),
        arm_names: runs::arm_names(&named),
        margin: margin(&args.margin)?,
        every_metric: args.all,
        across: args.across,
        price: args.price.clone(),
        normalise_by: match &args.normalise_by {
            Some(name) => Some(divisor(&store, &ids, name)?),
            None => None,
        },
    };
    let finding = plumb_query::of_runs(&store, &ids, &settings)?;
    refuse_fatal(&finding, args.force)?;
    if finding.arms.len() < 2 {
        let by = args.by.as_deref().unwrap_or_default();
        let error = output::one_group(&finding, by);
        return Err(if by == By::KIND {
            error.hint("--by run,kind compares single runs and estimates noise from all hosts of their kind")
        } else {
            error.hint("without --by, plumb compares each run with the first")
        });
    }
    if finding.results.is_empty() {
        let across = CompareSettings { across: true, ..settings };
        let would = plumb_query::of_runs(&store, &ids, &across)?;
        return Err(nothing_in_common(&finding, &would, &args.runs));
    }
    if let Some(name) = &args.normalise_by
        && finding.normalised_by.is_none()
    {
        return Err(not_in_common(name));
    }
    let series = plumb_query::read(&store, Selection::Runs(&ids))?;
    if args.across {
        say_counting(&series, ui);
    }
    say_hosts(&store, &finding, &args.runs, ui)?;
    say_turns(&finding, &series, ui);
    let format = if ui.wants_json() { OutputFormat::Json } else { args.format };
    ui.out(&output::comparison(&finding, format, ui)?);
    let undecided =
        finding.results.iter().flat_map(|result| &result.against_first).flatten().any(open);
    Ok(if args.strict && undecided { Exit::Inconclusive } else { Exit::Fine })
}

/// Options that have no meaning next to a reference.
fn refuse_with_reference(args: &CompareArgs) -> Result<()> {
    let given = [
        ("--by", args.by.is_some()),
        ("--across", args.across),
        ("--normalise-by", args.normalise_by.is_some()),
        ("--all", args.all),
        ("--price", args.price != DEFAULT_PRICE),
        ("--margin", args.margin != DEFAULT_MARGIN),
        ("--force", args.force),
        ("--format markdown", args.format == OutputFormat::Markdown),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(CommandError::usage(format!(
            "{option} does not apply to a comparison with a reference"
        ))
        .hint("plumb compare reference:NAME RUN")),
        None if args.strict => Err(CommandError::usage(
            "--strict would always fail: a comparison with a reference has no verdict",
        )
        .hint("plumb run --expect reference:NAME    has verdicts")),
        None => Ok(()),
    }
}

/// What each run measured, and how to compare them where points have the same names.
fn nothing_in_common(
    found: &ComparisonFinding,
    across: &ComparisonFinding,
    typed: &[String],
) -> CommandError {
    let error = CommandError::nothing("these runs have no series in common");
    let of_arm = |arm: &String| {
        let own = || found.not_in_all.iter().filter(|(_, arms)| arms.contains(arm));
        let named: Vec<&str> = own().take(MOST_NAMED).map(|(series, _)| series.as_str()).collect();
        let more = match own().count().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        match named.as_slice() {
            [] => format!("{arm} measured nothing"),
            named => format!("{arm} measured {}{more}", named.join(", ")),
        }
    };
    let error = found.arms.iter().fold(error, |error, arm| error.hint(of_arm(arm)));
    if across.results.is_empty() {
        return error.hint("plumb show RUN lists the results of a run");
    }
    let typed = typed.join(" ");
    error.hint(format!("plumb compare --across {typed}    compares points of the same name"))
}

/// Where results of another tool stand beside a workload that looks alike, how they differ in what they count.
fn say_counting(series: &[SeriesInRun], ui: &Ui) {
    let measured: BTreeSet<&str> =
        series.iter().map(|series| series.point.workload.as_str()).collect();
    for counting in COUNTING.iter().filter(|counting| measured.contains(counting.ours)) {
        if let Some(imported) = measured.iter().find(|id| id.starts_with(counting.imported)) {
            ui.warn(&format!("{imported}: {}", counting.sentence()));
        }
    }
}

/// Where too few runs tell the noise, those of other hosts may.
fn say_hosts(store: &Store, found: &ComparisonFinding, typed: &[String], ui: &Ui) -> Result<()> {
    let by = found.by.as_deref();
    let is_mixed = by.is_some_and(|by| by.split(',').any(|field| field == By::KIND));
    let against = || found.results.iter().flat_map(|result| &result.against_first).flatten();
    if is_mixed || !against().any(is_uncalibrated) {
        return Ok(());
    }
    let ids: Vec<Id> = found.runs.iter().map(|run| run.run).collect();
    let first = ids.first().map(|run| store.targets(*run)).transpose()?.unwrap_or_default();
    let Some(first) = first.first() else { return Ok(()) };
    let mut others = 0;
    for run in plumb_query::others(&store.summaries()?, &ids, By::Kind) {
        let is_other = |target: &Target| {
            target.is_one_with(first, By::Kind) && !target.is_one_with(first, By::Host)
        };
        others += usize::from(store.targets(run)?.iter().any(is_other));
    }
    if others > 0 {
        let by = by.unwrap_or("run");
        let typed = typed.join(" ");
        ui.say(&format!(
            "{} from other hosts of this kind can show how much runs vary: plumb compare --by {by},kind {typed}",
            counted(others, "run", "runs")
        ));
    }
    Ok(())
}

fn is_uncalibrated(comparison: &Comparison) -> bool {
    matches!(comparison.verdict, Err(NoVerdict::Uncalibrated { .. }))
}

/// If the times of the runs leave a comparison without a verdict, the commands that measure the first and the last side
/// in turns. A run that measured nothing does not count.
fn say_turns(found: &ComparisonFinding, series: &[SeriesInRun], ui: &Ui) {
    let mut against = found.results.iter().flat_map(|result| &result.against_first).flatten();
    let mut runs =
        found.runs.iter().filter(|run| series.iter().any(|series| series.run.run == run.run));
    let Some(first) = runs.next() else { return };
    let last = runs.next_back().unwrap_or(first);
    let is_imported = first.plumb.is_empty() || last.plumb.is_empty();
    if is_imported || !against.any(is_uncalibrated) {
        return;
    }
    // Sides that differ by a fact, such as the kernel, may have the same command.
    let mut commands = vec![command_line(first), command_line(last)];
    commands.dedup();
    let commands = commands.join("\n  ");
    ui.say(&format!(
        "For a verdict, measure the sides in turns, {FEWEST_IN_TURNS} times each:\n  {commands}"
    ));
}

/// The command of a run, to be typed again.
fn command_line(run: &RunOfSeries) -> String {
    let words = run.command.iter().skip(1).map(String::as_str);
    typed(std::iter::once("plumb").chain(words))
}

fn open(against: &Comparison) -> bool {
    !matches!(against.verdict, Ok(Verdict::Faster | Verdict::Slower | Verdict::Equivalent))
}

fn refuse_fatal(finding: &ComparisonFinding, force: bool) -> Result<()> {
    let fatal = finding.differences.iter().find(|difference| difference.impact == Impact::Fatal);
    match fatal {
        Some(difference) if !force => {
            let values = difference.values.join(", ");
            let field = &difference.field;
            Err(CommandError::usage(format!(
                "the runs are not comparable: `{field}` differs ({values})"
            ))
            .hint("--force compares them anyway"))
        }
        _ => Ok(()),
    }
}
