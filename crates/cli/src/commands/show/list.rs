//! `plumb show --runs`: the list of runs.

use plumb_store::{RunSummary, short};
use plumb_text::{Column, Line, Style, Table, clean, time};

use crate::ui::Ui;

/// A line a run, the newest first; with hosts where there are several.
pub fn list(runs: &[RunSummary], ui: &Ui) -> String {
    let several = runs.windows(2).any(|two| two[0].host != two[1].host);
    let titles =
        ["run", "started", "status", "suite", "points", "samples", "labels or command", "host"];
    let shown = titles.len() - usize::from(!several);
    let titles = titles.iter().take(shown);
    let mut table = Table::new(titles.map(|title| Column::left(title)).collect());
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
            run.host.known().unwrap_or_default().to_owned(),
        ];
        let cell = |text: &String| Line::new(Style::Plain, &clean(text));
        table.row(cells.iter().take(shown).map(cell).collect());
    }
    table.render(ui.width(), ui.terminal().colour)
}
