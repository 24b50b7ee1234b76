//! `plumb run`: suites, workloads and plug-ins, now or at fixed times.

pub mod command;
mod schedule;
