//! `plumb plugin check`: whether a plug-in does as plumb expects.

mod check;
mod command;

pub use command::PluginArgs;
