//! `plumb list`: what can be measured, and what can be drawn of a run.

use std::fs;
use std::path::Path;

use clap::Args;
use plumb_keeper::Keeper;
use plumb_model::{CLASSIC_FAMILY, Description, Id, Role};
use plumb_plugins::manifest;
use plumb_suite as suite;
use plumb_text::{Style, Table, TableColumn, TextLine};
use serde::Serialize;

use crate::commands::report::all_of_run;
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::locate;
use crate::planning::catalogue::{self, CatalogueEntry};
use crate::reading::output::pretty;
use crate::reading::runs;
use crate::ui::Ui;

/// List the suites, workloads and plug-ins, or the charts of a run
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb list                     suites, workloads and plug-ins
  plumb list --classic           the classic tools too
  plumb list --charts            the charts of the last run
  plumb list --charts label=new  the charts of another run")]
pub struct ListArgs {
    /// Also list the classic tools that `plumb crosscheck` compares with
    #[arg(long)]
    classic: bool,
    /// List the charts of a run [default: the last one]; `plumb report --chart` draws one
    #[arg(long, value_name = "RUN", num_args = 0..=1, default_missing_value = "last", conflicts_with = "classic")]
    charts: Option<String>,
}

impl Subcommand for ListArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        match &self.charts {
            Some(run) => charts(run, context.store, context.ui),
            None => list(self.classic, context.ui),
        }
    }
}

/// Lists suites, built-in workloads and plug-ins.
fn list(classic: bool, ui: &Ui) -> Result<Exit> {
    let builtin: Vec<Description> = plumb_workloads::builtin()
        .into_iter()
        .map(|workload| workload.describe())
        .filter(|description| classic || description.family() != CLASSIC_FAMILY)
        .collect();
    let (entries, broken) = found_plugins()?;
    let plugins: Vec<Description> = entries.into_iter().map(|entry| entry.description).collect();
    broken.iter().for_each(|text| ui.warn(text));
    if ui.wants_json() {
        ui.out(&pretty(&Listing {
            schema: "plumb.list/1",
            workloads: &builtin,
            plugins: &plugins,
        })?);
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(vec![TableColumn::left(""), TableColumn::left("").wrapping()]);
    for (name, text) in suite::BUILTIN {
        let summary = suite::parse(text).map(|suite| suite.summary).unwrap_or_default();
        row(&mut table, name, &format!("suite: {summary}"));
    }
    for (name, path) in manifest::suites(locate::data_home().as_deref()) {
        // A suite that can't be read is listed without a summary; `plumb run` reports why.
        let suite = fs::read_to_string(&path).ok().and_then(|text| suite::parse(&text).ok());
        let summary = suite.map(|suite| suite.summary).unwrap_or_default();
        row(&mut table, &name, &format!("suite: {summary} ({})", path.display()));
    }
    for description in builtin.iter().chain(&plugins) {
        row(&mut table, &description.id, &line(description));
    }
    ui.out(&table.render(ui.width(), ui.terminal().colour));
    ui.out("\nplumb explain WORKLOAD prints its manual; plumb run WORKLOAD measures it");
    if !classic {
        ui.out(
            "plumb list --classic also lists the classic tools that plumb crosscheck compares with",
        );
    }
    Ok(Exit::Fine)
}

/// Lists the charts of a run by name and title.
fn charts(run: &str, store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let store = runs::open(store)?;
    let record = store.record(store.resolve(run)?)?;
    let charts = all_of_run(&store, &record)?;
    if ui.wants_json() {
        let charts: Vec<ListedChart> =
            charts.iter().map(|chart| ListedChart { id: &chart.id, title: &chart.title }).collect();
        ui.out(&pretty(&ChartListing { schema: "plumb.charts/1", run: record.run, charts })?);
        return Ok(Exit::Fine);
    }
    if charts.is_empty() {
        return Err(CommandError::nothing("this run has no results that can be charted"));
    }
    let mut table = Table::new(vec![TableColumn::left(""), TableColumn::left("").wrapping()]);
    for chart in &charts {
        row(&mut table, &chart.id, &chart.title);
    }
    ui.out(&table.render(ui.width(), ui.terminal().colour));
    ui.out(&format!(
        "\nplumb report {run} --chart NAME draws one; -o FILE.svg writes it; docs/charts.md explains them"
    ));
    Ok(Exit::Fine)
}

/// The document of `--charts --json`.
#[derive(Serialize)]
struct ChartListing<'l> {
    schema: &'static str,
    run: Id,
    charts: Vec<ListedChart<'l>>,
}

/// A chart as `--charts --json` lists it.
#[derive(Serialize)]
struct ListedChart<'l> {
    /// The name that `plumb report --chart` takes.
    id: &'l str,
    title: &'l str,
}

#[derive(Serialize)]
struct Listing<'l> {
    schema: &'static str,
    workloads: &'l [Description],
    plugins: &'l [Description],
}

/// The plug-ins, and why some of them are broken. A keeper is started only if there is a plug-in to ask.
fn found_plugins() -> Result<(Vec<CatalogueEntry>, Vec<String>)> {
    if manifest::on_path(locate::data_home().as_deref()).is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut keeper = Keeper::start(&locate::plumb()?)?;
    Ok(catalogue::all_plugins(&mut keeper))
}

fn row(table: &mut Table, name: &str, text: &str) {
    table.row(vec![TextLine::new(Style::Command, name), TextLine::new(Style::Plain, text)]);
}

fn line(description: &Description) -> String {
    let parameters: Vec<String> = description
        .parameters
        .iter()
        .map(|parameter| format!("{}={}", parameter.name, parameter.show(&parameter.default)))
        .collect();
    let use_with = if description.can_be(Role::Workload) { "" } else { " (with --with)" };
    format!("{}{use_with} [{}]", description.summary, parameters.join(" "))
}
