//! `plumb show --runs`: the list of runs.

use plumb_store::{RunSummary, short};
use plumb_text::{Column, Line, Style, Table, clean, time};

use crate::ui::Ui;

/// The titles of the columns. The last one is left out if all runs are of one host.
const TITLES: [&str; 8] =
    ["run", "started", "status", "suite", "points", "samples", "labels or command", "host"];

/// The place of the column with labels or the command.
const COMMAND: usize = 6;

/// A table of runs, the newest first.
pub fn list(runs: &[RunSummary], ui: &Ui) -> String {
    let has_several_hosts = runs.windows(2).any(|two| two[0].host != two[1].host);
    let shown = TITLES.len() - usize::from(!has_several_hosts);
    let mut columns: Vec<Column> =
        TITLES.iter().take(shown).map(|title| Column::left(title)).collect();
    // Commands are long; where they do not fit they go on below, so that columns stay columns.
    if let Some(column) = columns.get_mut(COMMAND) {
        *column = column.clone().wrapping();
    }
    let mut table = Table::new(columns);
    for run in runs.iter().rev() {
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
        let lines = cells.iter().take(shown).map(|text| Line::new(Style::Plain, &clean(text)));
        table.row(lines.collect());
    }
    table.render(ui.width(), ui.terminal().colour)
}
