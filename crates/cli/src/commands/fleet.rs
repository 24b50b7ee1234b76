//! `plumb fleet`: commands that ran on several machines.

use clap::{Args, Subcommand as ClapSubcommand};
use plumb_model::{FleetRecord, SlurmFleet};
use plumb_report::{fleets_card, fleets_json};
use plumb_store::{Store, short};

use crate::commands::run::work_for_nodes;
use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::show::show_fleet;
use crate::fleet::slurm::arguments::{CollectArgs, SlurmFleetArgs, SlurmRunArgs};
use crate::fleet::slurm::cancel::cancel;
use crate::fleet::slurm::collect::collect;
use crate::fleet::slurm::status;
use crate::fleet::slurm::submit::submit_fleet;
use crate::locate;
use crate::reading::runs;

/// Show results of several machines, or measure on a Slurm cluster
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb fleet show                     the last command on several machines
  plumb fleet show 0193f2 --json       another fleet, as JSON (plumb.fleet/1)
  plumb fleet list                     all fleets, with the number of machines measured
  plumb fleet run first-look --slurm '-p main' --every
                                       measure each node of a Slurm partition
  plumb fleet status                   progress of the Slurm jobs
  plumb fleet collect                  store the results so far

`plumb run --on HOST,…` and `plumb exec --on HOST,…` measure over ssh (docs/fleet.md), `plumb fleet run` through Slurm \
(docs/slurm.md).")]
pub struct FleetArgs {
    #[command(subcommand)]
    action: FleetAction,
}

#[derive(Debug, ClapSubcommand)]
enum FleetAction {
    Run(SlurmRunArgs),
    /// Show the progress of Slurm jobs
    Status(SlurmFleetArgs),
    /// Store new results, resubmit lost jobs, and submit waiting jobs
    Collect(CollectArgs),
    /// Cancel a fleet's Slurm jobs that have not ended
    Cancel(SlurmFleetArgs),
    /// Show the results and outcomes of all machines
    Show {
        /// Fleet id or prefix [default: the last fleet]
        fleet: Option<String>,
        /// Show every result of every machine instead of a summary per kind
        #[arg(long)]
        full: bool,
    },
    /// List all commands that ran on other machines
    List,
}

impl Subcommand for FleetArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        match &self.action {
            FleetAction::Run(args) => run(args, context),
            FleetAction::Status(args) => show_status(args, context),
            FleetAction::Collect(args) => {
                let store = written_store(context)?;
                let (record, _) = submitted(&store, args.which.fleet.as_deref())?;
                collect(&store, record.fleet, args.wait, context.ui)
            }
            FleetAction::Cancel(args) => {
                let store = written_store(context)?;
                let (record, slurm) = submitted(&store, args.fleet.as_deref())?;
                cancel(&store, &record, slurm, context.ui)?;
                Ok(Exit::Fine)
            }
            FleetAction::Show { fleet, full } => {
                let store = runs::open(context.store)?;
                show_fleet(&store, named(&store.fleets()?, fleet.as_deref())?, *full, context.ui)?;
                Ok(Exit::Fine)
            }
            FleetAction::List => {
                list(&runs::open(context.store)?.fleets()?, context)?;
                Ok(Exit::Fine)
            }
        }
    }
}

/// Submits a fleet to Slurm, and shows it.
fn run(args: &SlurmRunArgs, context: &Context<'_>) -> Result<Exit> {
    let work = work_for_nodes(&args.names, &args.words)?;
    let Some((fleet, exit)) = submit_fleet(args, &work, context.store, context.ui)? else {
        return Ok(Exit::Fine);
    };
    let store = written_store(context)?;
    let (record, slurm) = submitted(&store, Some(&fleet.to_string()))?;
    status::show(&record, &slurm, &store, context.ui)?;
    Ok(exit)
}

/// Asks Slurm about a fleet, and shows it.
fn show_status(args: &SlurmFleetArgs, context: &Context<'_>) -> Result<Exit> {
    let store = written_store(context)?;
    let (record, mut slurm) = submitted(&store, args.fleet.as_deref())?;
    status::refresh(&store, &mut slurm)?;
    status::show(&record, &slurm, &store, context.ui)?;
    Ok(Exit::Fine)
}

/// The store, if there is one. What Slurm answers is kept, so it is written.
fn written_store(context: &Context<'_>) -> Result<Store> {
    let path = locate::store(context.store)?;
    if !locate::holds_store(&path) {
        return Err(runs::no_store(&path));
    }
    Ok(Store::open(path)?)
}

/// The fleet of this id, or the last one, if Slurm carries it out.
fn submitted(store: &Store, id: Option<&str>) -> Result<(FleetRecord, SlurmFleet)> {
    let mut fleets = store.fleets()?;
    let mut slurm_fleets = store.slurm_fleets()?;
    let id = id.filter(|id| *id != "last");
    if id.is_none() {
        fleets.retain(|record| slurm_fleets.iter().any(|slurm| slurm.fleet == record.fleet));
        if fleets.is_empty() {
            return Err(CommandError::usage("no fleet has been submitted to Slurm yet")
                .hint("plumb fleet run first-look --slurm '' --every    measures each node"));
        }
    }
    let record = named(&fleets, id)?.clone();
    match slurm_fleets.iter().position(|slurm| slurm.fleet == record.fleet) {
        Some(index) => Ok((record, slurm_fleets.swap_remove(index))),
        None => Err(CommandError::usage(format!(
            "fleet {} was not submitted to Slurm",
            short(record.fleet)
        ))
        .hint(format!("plumb fleet show {}", short(record.fleet)))),
    }
}

/// The fleet of this id, or the last one.
fn named<'f>(fleets: &'f [FleetRecord], id: Option<&str>) -> Result<&'f FleetRecord> {
    let none = || {
        CommandError::usage("no command has run on other machines yet")
            .hint("plumb run first-look --on HOST    measures on another machine over ssh")
    };
    let Some(id) = id.filter(|id| *id != "last") else { return fleets.last().ok_or_else(none) };
    let digits = id.replace('-', "").to_lowercase();
    let mut found =
        fleets.iter().filter(|fleet| fleet.fleet.simple().to_string().starts_with(&digits));
    match (found.next(), found.next()) {
        (Some(fleet), None) => Ok(fleet),
        (Some(_), Some(_)) => Err(CommandError::usage(format!("several fleets begin with `{id}`"))
            .hint("plumb fleet list    shows longer ids")),
        (None, _) => Err(CommandError::usage(format!("no fleet begins with `{id}`"))
            .hint("plumb fleet list    shows all of them")),
    }
}

fn list(fleets: &[FleetRecord], context: &Context<'_>) -> Result<()> {
    let ui = context.ui;
    if ui.wants_json() {
        let document = fleets_json(fleets);
        ui.out(&document.map_err(|error| CommandError::bug(error.to_string()))?);
    } else if fleets.is_empty() {
        ui.say("no command has run on other machines yet");
    } else {
        ui.out(&fleets_card(fleets, &ui.terminal()));
    }
    Ok(())
}
