//! `plumb show --runs`: the list of runs.

use plumb_store::{RunSummary, short};
use plumb_text::{Style, Table, TableColumn, TextLine, clean, clip, time, width};

use crate::ui::Ui;

/// The titles of the columns. The last one is left out if all runs are of one host.
const TITLES: [&str; 8] =
    ["run", "started", "status", "suite", "points", "samples", "labels or command", "host"];
/// The columns that stay in the row on a narrow terminal: the run, when it was started, and its status.
const FIRST: [usize; 3] = [0, STARTED, 2];
/// The places of columns.
const STARTED: usize = 1;
const POINTS: usize = 4;
const SAMPLES: usize = 5;
/// Labels or the command, which may be long.
const COMMAND: usize = 6;
/// Blanks between columns.
const GAP: usize = 2;
/// Blanks before what stands below a row.
const BELOW: usize = 4;

/// A table with one line per run, the newest first. What makes lines wider than the terminal stands below the rows: labels
/// and commands, and on a narrow one all but the first columns.
pub fn list(runs: &[RunSummary], ui: &Ui) -> String {
    let has_several_hosts = runs.windows(2).any(|two| two[0].host != two[1].host);
    let shown = TITLES.len() - usize::from(!has_several_hosts);
    let rows: Vec<Vec<String>> = runs.iter().rev().map(|run| cells(run, shown)).collect();
    table(&rows, shown, ui.width()).render(ui.width(), ui.terminal().colour)
}

/// The table of these cells, at most so many columns of the terminal wide.
fn table(rows: &[Vec<String>], shown: usize, width: usize) -> Table {
    let all: Vec<usize> = (0..shown).collect();
    let without_command: Vec<usize> =
        all.iter().copied().filter(|&column| column != COMMAND).collect();
    let fits = |columns: &[usize]| needed(rows, columns) <= width;
    let in_row = if fits(&all) {
        all
    } else if fits(&without_command) {
        without_command
    } else {
        FIRST.to_vec()
    };
    let over = needed(rows, &in_row).saturating_sub(width);
    let titles = in_row.iter().map(|&column| TableColumn::left(TITLES[column]));
    let mut table = Table::new(titles.collect());
    for row in rows {
        let mut line = Vec::with_capacity(in_row.len());
        for &column in &in_row {
            let text = match column {
                STARTED => clip(&row[column], widest(rows, column).saturating_sub(over)),
                _ => row[column].clone(),
            };
            line.push(TextLine::new(Style::Plain, &text));
        }
        table.row(line);
        table.across(BELOW, TextLine::default(), TextLine::new(Style::Muted, &rest(row, &in_row)));
    }
    table
}

/// What stands below a row: the cells that are not in it.
fn rest(row: &[String], in_row: &[usize]) -> String {
    let mut parts = Vec::new();
    for (column, text) in row.iter().enumerate() {
        if in_row.contains(&column) || text.is_empty() {
            continue;
        }
        parts.push(match column {
            COMMAND => text.clone(),
            POINTS | SAMPLES if text == "1" => {
                format!("1 {}", TITLES[column].trim_end_matches('s'))
            }
            POINTS | SAMPLES => format!("{text} {}", TITLES[column]),
            _ => format!("{} {text}", TITLES[column]),
        });
    }
    parts.join(" · ")
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

/// Columns of the terminal that these columns of the table take.
fn needed(rows: &[Vec<String>], columns: &[usize]) -> usize {
    let widths: usize = columns.iter().map(|&column| widest(rows, column)).sum();
    widths + GAP * columns.len().saturating_sub(1)
}

/// The width of a column: its title or its widest cell.
fn widest(rows: &[Vec<String>], column: usize) -> usize {
    let cells = rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    cells.max(width(TITLES[column]))
}

#[cfg(test)]
mod tests {
    use plumb_text::{Colour, width};

    use super::{TITLES, table};

    fn row(cells: [&str; 8]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_what_is_cut_says_so() {
        let long = "a-suite-with-a-name-that-nobody-would-type-twice-but-somebody-did-once";
        let command = format!("plumb run {long}.toml --label kernel=6.12 --label note={long}");
        let rows = vec![
            row([
                "01a21d8ab4db",
                "2026-11-27 15:05 UTC",
                "interrupted",
                long,
                "12",
                "1570000",
                &command,
                long,
            ]),
            row([
                "01a21d8ab32d",
                "2026-11-27 15:05 UTC",
                "complete",
                "",
                "1",
                "2",
                "plumb exec true",
                "web1",
            ]),
        ];
        for columns in 40..240 {
            let shown = table(&rows, TITLES.len(), columns).render(columns, Colour::Plain);
            for line in shown.lines() {
                assert!(width(line) <= columns, "{columns}: {line}");
            }
            let is_cut = !shown.contains("15:05 UTC");
            assert_eq!(is_cut, shown.contains('…'), "{columns}:\n{shown}");
            let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_below = words.contains("12 points · 1570000 samples");
            assert!(is_below || words.contains("points samples"), "{columns}:\n{shown}");
        }
    }
}
