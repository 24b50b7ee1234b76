//! `plumb show --runs`: the list of runs.

use plumb_store::{RunSummary, short};
use plumb_text::{Column, Line, Style, Table, clean, time};

use crate::ui::Ui;

/// A line a run, the newest first.
pub fn list(runs: &[RunSummary], ui: &Ui) -> String {
    let titles = ["run", "started", "status", "suite", "points", "samples", "labels or command"];
    let mut table = Table::new(titles.iter().map(|title| Column::left(title)).collect());
    for run in runs.iter().rev() {
        let labels: Vec<String> = run.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let last = if labels.is_empty() { run.command.join(" ") } else { labels.join(" ") };
        let cells = [
            short(run.run),
            time::date(run.started_unix_ns),
            format!("{:?}", run.status).to_lowercase(),
            run.suite.clone().unwrap_or_default(),
            run.points.to_string(),
            run.samples.to_string(),
            last,
        ];
        let cell = |text: &String| Line::new(Style::Plain, &clean(text));
        table.row(cells.iter().map(cell).collect());
    }
    table.render(ui.width(), ui.terminal().colour)
}
