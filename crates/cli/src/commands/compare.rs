//! `plumb compare`: stored runs against the first of them.

use std::path::Path;

use clap::Args;
use plumb_analysis::{CompareSettings, Comparison, ComparisonFinding};
use plumb_model::{Impact, Verdict};
use plumb_suite::margin;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::reading::output::OutputFormat;
use crate::reading::{comparison, runs};
use crate::ui::Ui;

/// Compare stored runs with the first of them: versions, kernels, machines
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  plumb compare last~1 last                 the last run and the one before it
  plumb compare kernel=6.1 kernel=6.12      two labelled runs
  plumb compare --by kernel last~3 last~2 last~1 last    group four runs by their kernel
  plumb compare --margin 3% web=1 web=2     with another margin

Runs measured at different times differ even when nothing has changed. plumb learns how much from earlier \
runs of the same series on the same machine. With fewer than six of them it gives no verdict, but tells how \
much runs would have to vary for the difference to be chance. `plumb ab` needs no history. If every run has \
a label such as `price=19.95`, plumb also shows what each run delivers for its price.")]
pub struct CompareArgs {
    /// Two or more runs: ids, `last`, `last~2`, or labels `k=v`
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    runs: Vec<String>,
    /// Group runs by a label, or by a fact about the machine or environment (`kernel`, `governor`, …)
    #[arg(long, value_name = "FIELD")]
    by: Option<String>,
    /// The smallest relative change that matters
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    margin: String,
    /// The label that holds the price of a run
    #[arg(long, value_name = "LABEL", default_value = "price")]
    price: String,
    /// Show every metric, not only the first of each workload
    #[arg(long)]
    all: bool,
    /// Compare even if the runs did not measure the same thing
    #[arg(long)]
    force: bool,
    /// Exit with 5 if a comparison has no verdict
    #[arg(long)]
    strict: bool,
    /// The output format
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
    let store = runs::open(store)?;
    let named = runs::different_ids(&store, &args.runs)?;
    let records = runs::records(&store, &named)?;
    let settings = CompareSettings {
        by: args.by.clone(),
        margin: margin(&args.margin)?,
        every_metric: args.all,
        price: args.price.clone(),
    };
    let finding = plumb_query::of_runs(&store, &records, &settings)?;
    refuse_fatal(&finding, args.force)?;
    if finding.arms.len() < 2 {
        let by = args.by.as_deref().unwrap_or_default();
        let why = match finding.arms.first() {
            Some(arm) if *arm == plumb_analysis::without(by) => {
                format!("none of these runs has a label or fact `{by}`")
            }
            _ => format!("all these runs have the same {by}"),
        };
        return Err(
            CommandError::usage(why).hint("without --by, plumb compares each run with the first")
        );
    }
    if finding.results.is_empty() {
        return Err(CommandError::nothing("these runs have no series in common")
            .hint("plumb show RUN shows what each measured"));
    }
    let format = if ui.wants_json() { OutputFormat::Json } else { args.format };
    ui.out(&comparison::write(&finding, format, ui)?);
    let undecided = finding.results.iter().flat_map(|it| &it.against_first).flatten().any(open);
    Ok(if args.strict && undecided { Exit::Inconclusive } else { Exit::Fine })
}

fn open(against: &Comparison) -> bool {
    !matches!(against.verdict, Ok(Verdict::Faster | Verdict::Slower | Verdict::Equivalent))
}

fn refuse_fatal(finding: &ComparisonFinding, force: bool) -> Result<()> {
    let fatal = finding.differences.iter().find(|it| it.impact == Impact::Fatal);
    match fatal {
        Some(difference) if !force => {
            let values = difference.values.join(" and ");
            let field = &difference.field;
            Err(CommandError::usage(format!(
                "the runs did not measure the same thing: {field} {values}"
            ))
            .hint("--force compares them anyway"))
        }
        _ => Ok(()),
    }
}
