//! `plumb store info`: where the store is, what it holds, and whether it is intact.

use std::path::Path;

use clap::{Args, Subcommand as Commands};
use plumb_model::Id;
use plumb_store::{StoreInfo, short};
use plumb_text::time;
use plumb_units::quantity;

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{Exit, Result};
use crate::locate;
use crate::reading::runs::no_store;
use crate::ui::Ui;

/// The number of hosts that are named; the others are counted.
const SHOWN_HOSTS: usize = 8;

/// Manage the store
#[derive(Debug, Args)]
pub struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Debug, Commands)]
enum StoreCommand {
    /// Show where the store is, what it holds, and whether it is intact
    Info,
}

impl Subcommand for StoreArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        match self.command {
            StoreCommand::Info => info(context.store, context.ui),
        }
    }
}

/// Prints the state of the store; a store with problems is exit code 6.
fn info(store: Option<&Path>, ui: &Ui) -> Result<Exit> {
    let path = locate::store(store)?;
    if !locate::holds_store(&path) {
        return Err(no_store(&path));
    }
    let info = plumb_store::info(&path)?;
    ui.out(&if ui.wants_json() { document(&info) } else { lines(&info) });
    Ok(if info.problems.is_empty() { Exit::Fine } else { Exit::Store })
}

fn lines(info: &StoreInfo) -> String {
    let runs = info.complete + info.running + info.interrupted;
    let state = if info.problems.is_empty() {
        "intact".to_owned()
    } else {
        format!("DAMAGED: {}", info.problems.join("; "))
    };
    format!(
        "store     {}\nsize      {} (schema {}, journal {}, {} free)\nruns      {runs}: {} complete, {} running, {} interrupted\nsamples   {}\nhosts     {}\noldest    {}\nnewest    {}\nstate     {state}\n",
        info.path.display(),
        size(info.bytes),
        info.schema,
        info.journal,
        size(info.free_bytes),
        info.complete,
        info.running,
        info.interrupted,
        info.samples,
        hosts(&info.hosts),
        run_with_date(info.oldest),
        run_with_date(info.newest),
    )
}

/// A run and when it began, in nanoseconds since 1970.
fn run_with_date(run: Option<(Id, i64)>) -> String {
    run.map_or("none".to_owned(), |(id, began)| format!("{} on {}", short(id), time::date(began)))
}

#[expect(clippy::cast_precision_loss, reason = "sizes for people")]
fn size(bytes: u64) -> String {
    quantity(bytes as f64, "B")
}

/// The hosts with the number of their runs, and how many hosts are not named.
fn hosts(hosts: &[(Option<String>, u64)]) -> String {
    let mut shown: Vec<String> = hosts
        .iter()
        .take(SHOWN_HOSTS)
        .map(|(host, runs)| format!("{} ({runs})", host.as_deref().unwrap_or("unknown")))
        .collect();
    if hosts.len() > SHOWN_HOSTS {
        shown.push(format!("{} more", hosts.len() - SHOWN_HOSTS));
    }
    if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
}

fn document(info: &StoreInfo) -> String {
    serde_json::json!({
        "schema": "plumb.store/1",
        "path": info.path,
        "bytes": info.bytes,
        "version": info.schema,
        "journal": info.journal,
        "runs": { "complete": info.complete, "running": info.running, "interrupted": info.interrupted },
        "samples": info.samples,
        "hosts": info.hosts.iter().map(|(host, runs)| serde_json::json!({ "host": host, "runs": runs })).collect::<Vec<_>>(),
        "oldest": info.oldest.map(|(id, _)| id),
        "newest": info.newest.map(|(id, _)| id),
        "problems": info.problems,
        "free_bytes": info.free_bytes,
    })
    .to_string()
}
