//! `plumb plugin check`: talks to a plug-in as plumb would, and says what is wrong with it.

mod check;
mod checklist;
mod command;
mod outcomes;
mod roles;
mod workload;

pub use command::PluginArgs;
