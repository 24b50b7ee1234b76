//! `plumb run`: suites, workloads and plug-ins, now or at fixed times.

mod command;
mod schedule;
mod tool_arguments;

pub use command::RunArgs;
