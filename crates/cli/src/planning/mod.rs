//! From what was typed to a plan: names, suites, plug-ins, preparations.

pub mod arguments;
pub mod builds;
pub mod catalogue;
pub mod command;
pub mod dry_run;
pub mod kept;
pub mod knobs;
pub mod monitors;
mod other_machines;
pub mod plan;
pub mod points;
pub mod prepare;
pub mod proof;
pub mod secrets;
pub mod setting_commands;
mod several_suites;
pub mod shell_syntax;
