//! `plumb run`: suites, workloads and plug-ins, now or at fixed times.

mod command;
mod schedule;

pub use command::RunArgs;
