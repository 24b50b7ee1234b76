//! `plumb compare`: stored runs against the first of them.

use std::path::Path;

use plumb_analysis::{Against, CompareSettings, ComparisonFinding, Verdict};
use plumb_model::{Id, Impact};
use plumb_report::{comparison_card, comparison_json, comparison_markdown};

use crate::cli::{CompareArgs, ShowFormat};
use crate::error::{CommandError, Exit, Result};
use crate::quantity::margin;
use crate::ui::Ui;

/// Compares the named runs.
pub fn compare(args: &CompareArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let store = crate::commands::show::command::open(store)?;
    let runs = args
        .runs
        .iter()
        .map(|name| store.resolve(name))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    refuse_twice(&runs, &args.runs)?;
    let records =
        runs.iter().map(|run| store.record(*run)).collect::<std::result::Result<Vec<_>, _>>()?;
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
                format!("none of these runs has a label or a fact `{by}`")
            }
            _ => format!("all these runs have the same {by}"),
        };
        return Err(
            CommandError::usage(why).hint("without --by each run is compared with the first")
        );
    }
    if finding.results.is_empty() {
        return Err(CommandError::nothing("these runs have no series in common")
            .hint("plumb show RUN tells what each has measured"));
    }
    let format = if ui.wants_json() { ShowFormat::Json } else { args.format };
    ui.out(&write(&finding, format, ui)?);
    let undecided = finding.results.iter().flat_map(|it| &it.against_first).flatten().any(open);
    Ok(if args.strict && undecided { Exit::Inconclusive } else { Exit::Fine })
}

/// A comparison as the user wants it.
///
/// # Errors
/// When it can't be written as JSON.
pub fn write(finding: &ComparisonFinding, format: ShowFormat, ui: &Ui) -> Result<String> {
    match format {
        ShowFormat::Terminal => Ok(comparison_card(finding, &ui.terminal())),
        ShowFormat::Markdown => Ok(comparison_markdown(finding)),
        ShowFormat::Json => {
            comparison_json(finding).map_err(|error| CommandError::bug(error.to_string()))
        }
    }
}

fn open(against: &Against) -> bool {
    !matches!(against.verdict, Ok(Verdict::Faster | Verdict::Slower | Verdict::Equivalent))
}

/// Refuses a run that is named twice.
///
/// # Errors
/// When one is.
pub fn refuse_twice(runs: &[Id], names: &[String]) -> Result<()> {
    for (index, run) in runs.iter().enumerate() {
        if let Some(other) = runs[..index].iter().position(|before| before == run) {
            let (one, two) = (&names[other], &names[index]);
            return Err(CommandError::usage(format!("`{one}` and `{two}` are the same run"))
                .hint("plumb show --runs lists the runs"));
        }
    }
    Ok(())
}

fn refuse_fatal(finding: &ComparisonFinding, force: bool) -> Result<()> {
    let fatal = finding.differences.iter().find(|it| it.impact == Impact::Fatal);
    match fatal {
        Some(difference) if !force => {
            let values = difference.values.join(" and ");
            let field = &difference.field;
            Err(CommandError::usage(format!(
                "the runs are not of the same thing: {field} {values}"
            ))
            .hint("--force compares them all the same"))
        }
        _ => Ok(()),
    }
}
