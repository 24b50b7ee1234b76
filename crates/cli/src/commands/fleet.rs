//! `plumb fleet`: commands that ran on several machines.

use clap::{Args, Subcommand as ClapSubcommand};
use plumb_model::FleetRecord;
use plumb_report::{fleets_card, fleets_json};

use crate::commands::subcommand::{Context, Subcommand};
use crate::error::{CommandError, Exit, Result};
use crate::fleet::show::show_fleet;
use crate::reading::runs;

/// Show what several machines measured for one command (`--on`)
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:
  plumb fleet show                     the last command on several machines
  plumb fleet show 0193f2 --json       plumb.fleet/1 of another one
  plumb fleet list                     all of them, with the number of machines that measured

`plumb run --on HOST,…` and `plumb exec --on HOST,…` measure on other machines (docs/fleet.md).")]
pub struct FleetArgs {
    #[command(subcommand)]
    action: FleetAction,
}

#[derive(Debug, ClapSubcommand)]
enum FleetAction {
    /// Show the results and outcomes of all machines
    Show {
        /// The id of the fleet, or its beginning [default: the last one]
        fleet: Option<String>,
        /// Show every result of every machine, also of more than eight
        #[arg(long)]
        full: bool,
    },
    /// List all commands that ran on several machines
    List,
}

impl Subcommand for FleetArgs {
    fn run(&self, context: &Context<'_>) -> Result<Exit> {
        let store = runs::open(context.store)?;
        let fleets = store.fleets()?;
        match &self.action {
            FleetAction::Show { fleet, full } => {
                show_fleet(&store, named(&fleets, fleet.as_deref())?, *full, context.ui)?;
            }
            FleetAction::List => list(&fleets, context)?,
        }
        Ok(Exit::Fine)
    }
}

/// The fleet of this id, or the last one.
fn named<'f>(fleets: &'f [FleetRecord], id: Option<&str>) -> Result<&'f FleetRecord> {
    let none = || {
        CommandError::usage("no command has run on other machines yet")
            .hint("plumb run first-look --on HOST    measures on another machine by ssh")
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
