//! The subcommands: one file or folder each, with arguments, help and code. A command exists only if `ALL` lists it.

mod ab;
mod baseline;
mod check;
mod compare;
mod completions;
mod crosscheck;
mod doctor;
mod exec;
pub mod explain;
mod export;
mod history;
mod import;
mod internal;
mod list;
mod man;
mod peer;
mod plugin;
mod report;
mod run;
mod serve;
mod show;
pub mod start;
mod store;
pub mod subcommand;
mod suite;
mod tune;

use subcommand::Entry;

/// All subcommands, in the order of `plumb --help`.
pub const ALL: &[Entry] = &[
    Entry::of::<run::RunArgs>("run"),
    Entry::of::<exec::ExecArgs>("exec"),
    Entry::of::<ab::AbArgs>("ab"),
    Entry::of::<compare::CompareArgs>("compare"),
    Entry::of::<baseline::BaselineArgs>("baseline"),
    Entry::of::<check::CheckArgs>("check"),
    Entry::of::<crosscheck::CrosscheckArgs>("crosscheck"),
    Entry::of::<doctor::DoctorArgs>("doctor"),
    Entry::of::<tune::TuneArgs>("tune").without_restoring(),
    Entry::of::<history::HistoryArgs>("history"),
    Entry::of::<list::ListArgs>("list"),
    Entry::of::<suite::SuiteArgs>("suite"),
    Entry::of::<explain::ExplainArgs>("explain"),
    Entry::of::<show::ShowArgs>("show"),
    Entry::of::<report::ReportArgs>("report"),
    Entry::of::<serve::ServeArgs>("serve"),
    Entry::of::<peer::PeerArgs>("peer"),
    Entry::of::<export::ExportArgs>("export"),
    Entry::of::<import::ImportArgs>("import"),
    Entry::of::<plugin::PluginArgs>("plugin"),
    Entry::of::<store::StoreArgs>("store"),
    Entry::of::<completions::CompletionsArgs>("completions"),
    Entry::of::<man::ManArgs>("man"),
    Entry::internal::<internal::KeeperArgs>("keeper"),
    Entry::internal::<internal::WorkerArgs>("worker"),
    Entry::internal::<internal::MediumArgs>("medium"),
    Entry::internal::<internal::OrphanedArgs>("orphaned"),
    Entry::internal::<internal::TargetArgs>("target"),
    Entry::internal::<internal::ReachArgs>("reach"),
    Entry::internal::<internal::SshSinkArgs>("ssh-sink"),
];
