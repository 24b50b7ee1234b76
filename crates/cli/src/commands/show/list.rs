//! `plumb show --runs`: the list of runs.

use plumb_store::{RunSummary, short};
use plumb_text::{Style, Table, TableColumn, TextLine, clean, time, width};

use crate::ui::Ui;

/// The titles of the columns. The last one is left out if all runs are of one host.
const TITLES: [&str; 8] =
    ["run", "started", "status", "suite", "points", "samples", "labels or command", "host"];
/// The place of the column with labels or the command, which may be long.
const COMMAND: usize = 6;
/// Blanks between columns.
const GAP: usize = 2;
/// Blanks before what stands below a row.
const BELOW: usize = 4;

/// A table with one line per run, the newest first. Where lines would be wider than the terminal, labels and commands
/// stand below the rows.
pub fn list(runs: &[RunSummary], ui: &Ui) -> String {
    let has_several_hosts = runs.windows(2).any(|two| two[0].host != two[1].host);
    let shown = TITLES.len() - usize::from(!has_several_hosts);
    let rows: Vec<Vec<String>> = runs.iter().rev().map(|run| cells(run, shown)).collect();
    let is_wide = needed(&rows, shown) > ui.width();
    let columns = TITLES.iter().take(shown).enumerate();
    let columns = columns.filter(|(index, _)| !(is_wide && *index == COMMAND));
    let mut table = Table::new(columns.map(|(_, title)| TableColumn::left(title)).collect());
    for row in &rows {
        let cells = row.iter().enumerate().filter(|(index, _)| !(is_wide && *index == COMMAND));
        table.row(cells.map(|(_, text)| TextLine::new(Style::Plain, text)).collect());
        if is_wide {
            table.across(BELOW, TextLine::default(), TextLine::new(Style::Muted, &row[COMMAND]));
        }
    }
    table.render(ui.width(), ui.terminal().colour)
}

fn cells(run: &RunSummary, shown: usize) -> Vec<String> {
    let labels: Vec<String> =
        run.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let last = if labels.is_empty() { run.command.join(" ") } else { labels.join(" ") };
    let cells = [
        short(run.run),
        time::date(run.started_unix_ns),
        format!("{:?}", run.status).to_lowercase(),
        run.suite.clone().unwrap_or_default(),
        run.points.to_string(),
        run.samples.to_string(),
        last,
        run.host.known().unwrap_or_default().to_owned(),
    ];
    cells.iter().take(shown).map(|text| clean(text)).collect()
}

/// Columns that the table takes with everything in one line.
fn needed(rows: &[Vec<String>], shown: usize) -> usize {
    let widest = TITLES.iter().take(shown).enumerate().map(|(index, title)| {
        rows.iter().map(|row| width(&row[index])).max().unwrap_or(0).max(width(title))
    });
    widest.sum::<usize>() + GAP * (shown - 1)
}
