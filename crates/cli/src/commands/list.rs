//! `plumb list`: what can be measured.

use std::fs;

use clap::Args;
use plumb_keeper::Keeper;
use plumb_model::{Description, Role};
use plumb_plugins::manifest;
use plumb_suite as suite;
use plumb_text::{Column, Line, Style, Table};
use serde::Serialize;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{Exit, Result};
use crate::locate;
use crate::planning::catalogue::{self, Entry};
use crate::reading::output::pretty;
use crate::ui::Ui;

/// The family of tools that others wrote.
const CLASSIC: &str = "classic";

/// List the suites, workloads and plug-ins
#[derive(Debug, Args)]
pub struct ListArgs {
    /// Also list the classic tools that plumb drives as workloads, for `plumb crosscheck`
    #[arg(long)]
    classic: bool,
}

impl Subcommand for ListArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        list(self.classic, context.ui)
    }
}

/// Lists suites, built-in workloads and plug-ins.
fn list(classic: bool, ui: &Ui) -> Result<Exit> {
    let builtin = plumb_workloads::builtin().into_iter().map(|workload| workload.describe());
    let builtin: Vec<Description> =
        builtin.filter(|description| classic || description.family() != CLASSIC).collect();
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
    let mut table = Table::new(vec![Column::left(""), Column::left("").wrapping()]);
    for (name, text) in suite::BUILTIN {
        let summary = suite::parse(text).map(|suite| suite.summary).unwrap_or_default();
        row(&mut table, name, &format!("suite: {summary}"));
    }
    for (name, path) in manifest::suites(locate::data_home().as_deref()) {
        let summary = fs::read_to_string(&path).ok().and_then(|text| suite::parse(&text).ok());
        let summary = summary.map(|suite| suite.summary).unwrap_or_default();
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

#[derive(Serialize)]
struct Listing<'l> {
    schema: &'static str,
    workloads: &'l [Description],
    plugins: &'l [Description],
}

/// A keeper is only started when there is a plug-in to be asked.
fn found_plugins() -> Result<(Vec<Entry>, Vec<String>)> {
    if manifest::on_path(locate::data_home().as_deref()).is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let mut keeper = Keeper::start(&locate::plumb()?)?;
    Ok(catalogue::all_plugins(&mut keeper))
}

fn row(table: &mut Table, name: &str, text: &str) {
    table.row(vec![Line::new(Style::Command, name), Line::new(Style::Plain, text)]);
}

fn line(description: &Description) -> String {
    let parameters: Vec<String> = description
        .parameters
        .iter()
        .map(|parameter| format!("{}={}", parameter.name, parameter.show(&parameter.default)))
        .collect();
    let beside = if description.can_be(Role::Workload) { "" } else { " (with --with)" };
    format!("{}{beside} [{}]", description.summary, parameters.join(" "))
}
