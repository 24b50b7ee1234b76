//! One file a subcommand.

mod ab;
mod baseline;
mod check;
pub mod compare;
mod doctor;
mod exec;
mod explain;
mod export;
mod history;
mod import;
mod internal;
mod list;
mod plugin;
mod report;
mod run;
pub mod serve;
pub mod show;
mod start;
mod store;
mod tune;

use crate::cli::{Arguments, Command, PluginCommand, StoreCommand};
use crate::error::{CommandError, Exit, Result};
use crate::ui::Ui;

/// A document for machines, as text for people to look at, too.
fn pretty(document: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string_pretty(document).map_err(|error| CommandError::bug(error.to_string()))
}

/// Carries the command out.
pub fn dispatch(arguments: Arguments, ui: &Ui) -> Result<Exit> {
    let store = arguments.global.store.as_deref();
    match arguments.command {
        None => start::bare(store, ui),
        Some(Command::Run(args)) => run::command::run(&args, store, ui),
        Some(Command::Exec(args)) => exec::exec(&args, store, ui),
        Some(Command::Ab(args)) => ab::ab(&args, store, ui),
        Some(Command::Compare(args)) => compare::compare(&args, store, ui),
        Some(Command::Baseline(command)) => baseline::baseline(&command, store, ui),
        Some(Command::Check(args)) => check::check(&args, store, ui),
        Some(Command::Doctor(args)) => doctor::audit::doctor(&args, store, ui),
        Some(Command::History(args)) => history::history(&args, store, ui),
        Some(Command::Tune(args)) => tune::tune(&args, ui),
        Some(Command::List) => list::list(ui),
        Some(Command::Explain(args)) => explain::explain(&args, ui),
        Some(Command::Show(args)) => show::command::show(&args, store, ui),
        Some(Command::Report(args)) => report::charts::report(&args, store, ui),
        Some(Command::Serve(args)) => serve::serve(&args, store, ui),
        Some(Command::Export(args)) => export::export(&args, store, ui),
        Some(Command::Import(args)) => import::import(&args, store, ui),
        Some(Command::Plugin(PluginCommand::Check { path })) => plugin::check::check(&path, ui),
        Some(Command::Store(StoreCommand::Info)) => store::info(store, ui),
        Some(Command::Keeper) => internal::keeper(),
        Some(Command::Worker { id }) => internal::worker(&id),
        Some(Command::Orphaned) => Ok(internal::orphaned()),
        Some(Command::SshSink) => internal::ssh_sink(),
    }
}
