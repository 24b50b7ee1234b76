//! `plumb run`: suites, workloads and plug-ins, now or at fixed times.

mod command;
mod on_nodes;
mod schedule;
mod tool_arguments;

pub use command::RunArgs;
pub use on_nodes::work_for_nodes;
