//! The subcommands: one file or folder each, with arguments, help and code. A command exists only if `ALL` lists it.

mod ab;
mod agent;
mod baseline;
mod check;
mod compare;
mod completions;
mod crosscheck;
mod doctor;
mod exec;
pub mod explain;
mod export;
mod fleet;
mod history;
mod import;
mod internal;
mod list;
mod man;
mod peer;
mod plugin;
mod reference;
mod report;
mod run;
mod serve;
mod show;
pub mod start;
mod store;
pub mod subcommand;
mod suite;
mod tune;
mod why;

use subcommand::RegisteredCommand;

/// All subcommands, in the order of `plumb --help`.
pub const ALL: &[RegisteredCommand] = &[
    RegisteredCommand::of::<run::RunArgs>("run"),
    RegisteredCommand::of::<exec::ExecArgs>("exec"),
    RegisteredCommand::of::<ab::AbArgs>("ab"),
    RegisteredCommand::of::<why::WhyArgs>("why"),
    RegisteredCommand::of::<compare::CompareArgs>("compare"),
    RegisteredCommand::of::<baseline::BaselineArgs>("baseline"),
    RegisteredCommand::of::<reference::ReferenceArgs>("reference"),
    RegisteredCommand::of::<check::CheckArgs>("check"),
    RegisteredCommand::of::<crosscheck::CrosscheckArgs>("crosscheck"),
    RegisteredCommand::of::<doctor::DoctorArgs>("doctor"),
    RegisteredCommand::of::<tune::TuneArgs>("tune").without_restoring(),
    RegisteredCommand::of::<history::HistoryArgs>("history"),
    RegisteredCommand::of::<list::ListArgs>("list"),
    RegisteredCommand::of::<suite::SuiteArgs>("suite"),
    RegisteredCommand::of::<explain::ExplainArgs>("explain"),
    RegisteredCommand::of::<show::ShowArgs>("show"),
    RegisteredCommand::of::<fleet::FleetArgs>("fleet"),
    RegisteredCommand::of::<report::ReportArgs>("report"),
    RegisteredCommand::of::<serve::ServeArgs>("serve"),
    RegisteredCommand::of::<peer::PeerArgs>("peer"),
    RegisteredCommand::of::<export::ExportArgs>("export"),
    RegisteredCommand::of::<import::ImportArgs>("import"),
    RegisteredCommand::of::<plugin::PluginArgs>("plugin"),
    RegisteredCommand::of::<store::StoreArgs>("store"),
    RegisteredCommand::of::<completions::CompletionsArgs>("completions"),
    RegisteredCommand::of::<man::ManArgs>("man"),
    RegisteredCommand::internal::<agent::AgentArgs>("agent").restoring(),
    RegisteredCommand::internal::<internal::KeeperArgs>("keeper"),
    RegisteredCommand::internal::<internal::WorkerArgs>("worker"),
    RegisteredCommand::internal::<internal::MediumArgs>("medium"),
    RegisteredCommand::internal::<internal::OrphanedArgs>("orphaned"),
    RegisteredCommand::internal::<internal::DescribeTargetArgs>("target"),
    RegisteredCommand::internal::<internal::ReachArgs>("reach"),
    RegisteredCommand::internal::<internal::SshSinkArgs>("ssh-sink"),
];
