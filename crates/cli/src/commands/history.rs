//! `plumb history`: one series over its runs.

use std::path::Path;

use clap::Args;
use plumb_model::{By, Host, SeriesInRun};
use plumb_query::Selection;
use plumb_report::{history_card, history_json, history_markdown};
use plumb_suite::{margin, time_ns};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};

use crate::planning::arguments::by;
use crate::reading::output::OutputFormat;
use crate::reading::runs;
use crate::reading::series::{Whose, meant, on_machine};
use crate::ui::Ui;

/// Show one series over all its runs: when did it change, and what else changed?
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb history memory.copy:method=libc           its first metric, on this host
  plumb history storage.random/latency --last 50
  plumb history 'gzip -k f' --label commit        a command, with its runs named by label
  plumb history cpu.sieve --by kind               on all hosts of this kind of machine

Recorded changes (kernel, versions, settings) split the history into sections. plumb removes changes that all series \
of a run share, then looks for steps in each section. Even without steps, it reports a certain one 1 time in 1000, and \
a suspected one 1 time in 100; confirm a suspected step with `plumb ab`. With runs on enough days, it also reports effects of \
time of day and day of week.")]
pub struct HistoryArgs {
    /// A series (`cpu.sieve/rate`), a point, a workload, or a measured command
    series: String,
    /// Name runs by this label [default: the labels that differ]
    #[arg(long, value_name = "KEY")]
    label: Option<String>,
    /// Show only runs since this time: `30d`, `12h`, or a date
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Show only the newest N runs
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    /// Show this host [default: the current one or, if it has no runs, that of the newest run]
    #[arg(long, value_name = "NAME")]
    host: Option<Host>,
    /// Use the stored runs of one host, or of all hosts of its kind
    #[arg(long, value_name = "WHAT", value_parser = by(), default_value = "host")]
    by: By,
    /// Show this kind of machine (start of its fingerprint), or `all` [default: the host's]
    #[arg(long, value_name = "MACHINE")]
    machine: Option<String>,
    /// The smallest relative change that matters
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    margin: String,
    /// The output format; --json prints the JSON document
    #[arg(long, value_enum, default_value = "terminal")]
    format: OutputFormat,
}

impl Subcommand for HistoryArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        history(self, context.store, context.ui)
    }
}

/// Shows the history of a series.
fn history(args: &HistoryArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let store = runs::open(store)?;
    let series = meant(&store.series_names()?, &args.series)?;
    let machine = args.machine.as_deref();
    let wanted = Whose { machine, host: args.host.as_ref(), by: args.by };
    let all = plumb_query::read(&store, Selection::Series(&series))?;
    let (runs, host) = on_machine(&series, all, &wanted, ui)?;
    let runs = recent(runs, args)?;
    let margin = margin(&args.margin)?;
    let finding = plumb_query::history_of(&store, &series, &runs, &host, margin)?;
    let finding = finding.ok_or_else(|| {
        CommandError::nothing(format!("none of these runs measured {series}"))
            .hint("plumb show --runs lists the runs")
    })?;
    let label = args.label.as_deref();
    ui.out(&match if ui.wants_json() { OutputFormat::Json } else { args.format } {
        OutputFormat::Terminal => history_card(&finding, label, &ui.terminal()),
        OutputFormat::Markdown => history_markdown(&finding, label),
        OutputFormat::Json => {
            history_json(&finding).map_err(|error| CommandError::bug(error.to_string()))?
        }
    });
    Ok(Exit::Fine)
}

fn recent(mut runs: Vec<SeriesInRun>, args: &HistoryArgs) -> Result<Vec<SeriesInRun>> {
    if let Some(since) = &args.since {
        let since = since_unix_ns(since, plumb_machine::now().unix_ns)?;
        runs.retain(|run| run.run.started_unix_ns >= since);
    }
    let surplus = runs.len().saturating_sub(args.last.unwrap_or(usize::MAX));
    runs.drain(..surplus);
    Ok(runs)
}

/// A date, or a length of time before `now`, as nanoseconds since 1970 (UTC).
fn since_unix_ns(text: &str, now_unix_ns: i64) -> Result<i64> {
    if let Some(at) = plumb_text::time::day(text.trim()) {
        return Ok(at);
    }
    let before = time_ns(text).map_err(|_| {
        CommandError::usage(format!(
            "`{text}` is neither a date nor a length of time; try 2026-11-21 or 30d"
        ))
    })?;
    Ok(now_unix_ns.saturating_sub_unsigned(before))
}

#[cfg(test)]
mod tests {
    use super::since_unix_ns;

    #[test]
    fn since_a_date_or_for_a_time() {
        let day = 86_400_000_000_000;
        assert_eq!(since_unix_ns("1970-02-01", 0), Ok(31 * day));
        assert_eq!(since_unix_ns("2d", 5 * day), Ok(3 * day));
        assert!(since_unix_ns("yesterday", 0).is_err() && since_unix_ns("2026-02-30", 0).is_err());
    }
}
