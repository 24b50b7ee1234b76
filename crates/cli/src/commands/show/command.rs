//! `plumb show`: a run as a scorecard, in sentences, as Markdown or JSON.

use std::path::Path;

use plumb_chart::{Chart, drawing};
use plumb_model::{RunRecord, RunStatus};
use plumb_report::charts::charts_of_run;
use plumb_report::{Closing, View, in_words, json, markdown, scorecard};
use plumb_store::{RunSummary, Store, short};
use plumb_text::{Column, Line, Style, Table, Terminal, time};

use crate::cli::{ShowArgs, ShowFormat};
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::ui::Ui;

/// Shows one run, or the list of runs.
pub fn show(args: &ShowArgs, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    if args.machine {
        return crate::commands::show::machine::machine(&args.run, store, ui);
    }
    if let [_, _, ..] = args.run.as_slice() {
        return Err(CommandError::usage("only one run can be shown at a time")
            .hint("plumb compare RUN RUN          their results side by side")
            .hint("plumb show --machine RUN RUN   what differs between their machines"));
    }
    let store = open(store)?;
    if args.runs {
        ui.out(&run_list(&store.summaries()?, ui));
        return Ok(Exit::Fine);
    }
    let run = store.resolve(args.run.first().map_or("last", String::as_str))?;
    let record = store.record(run)?;
    if args.monitors {
        crate::commands::doctor::monitors::counted(&record, &store, args.all, ui)?;
        return Ok(Exit::Fine);
    }
    let finding = plumb_query::of_run(&store, &record)?;
    if args.plots {
        ui.out(&plots(&charts_of_run(&finding, &record), args.all, ui)?);
        return Ok(Exit::Fine);
    }
    let view = View::new(&finding);
    let format = if ui.wants_json() { ShowFormat::Json } else { args.format };
    let text = match format {
        _ if args.in_words => in_words(&view).join("\n"),
        ShowFormat::Markdown => markdown(&view),
        ShowFormat::Json => json(&view).map_err(|error| CommandError::bug(error.to_string()))?,
        ShowFormat::Terminal => {
            let terminal = Terminal { every_metric: args.all, ..ui.terminal() };
            scorecard(&view, &terminal, &closing(&record, &store))
        }
    };
    ui.out(&text);
    Ok(Exit::Fine)
}

/// What ends the names of charts of box plots; of metrics other than the first theirs follow.
const BOXES: &str = "/boxes";

/// The box plots of every workload.
fn plots(charts: &[Chart], all: bool, ui: &Ui) -> Result<String> {
    let is_wanted =
        |it: &&Chart| it.id.ends_with(BOXES) || (all && it.id.contains(&format!("{BOXES}/")));
    let wanted: Vec<&Chart> = charts.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        return Err(CommandError::nothing("nothing was measured that could be drawn"));
    }
    if ui.wants_json() {
        return crate::commands::pretty(&wanted);
    }
    let drawn: Vec<String> = wanted.iter().map(|it| drawing(it, &ui.terminal())).collect();
    Ok(drawn.join("\n"))
}

/// The store, for reading; without one there is a next command to type.
pub fn open(store: Option<&Path>) -> Result<Store> {
    let path = locate::store(store)?;
    if !path.exists() {
        return Err(CommandError::usage(format!("there is no store at {} yet", path.display()))
            .hint("plumb run        measures this machine and makes one"));
    }
    Ok(Store::open_read_only(&path)?)
}

/// What stands below the scorecard.
pub fn closing(record: &RunRecord, store: &Store) -> Closing {
    let id = short(record.run);
    let command = |command: &str, does: &str| (command.to_owned(), does.to_owned());
    let mut next = Vec::new();
    if record.status == RunStatus::Interrupted {
        next.push((format!("plumb run --resume {id}"), "complete this run".to_owned()));
    }
    next.push(command(&format!("plumb show {id} --in-words"), "the same in sentences"));
    next.push(command(&format!("plumb export {id} --format samples-csv"), "every sample"));
    Closing { stored: Some(format!("run {id} in {}", store.path().display())), next }
}

fn run_list(runs: &[RunSummary], ui: &Ui) -> String {
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
        let cell = |text: &String| Line::new(Style::Plain, &plumb_text::clean(text));
        table.row(cells.iter().map(cell).collect());
    }
    table.render(ui.width(), ui.terminal().colour)
}
