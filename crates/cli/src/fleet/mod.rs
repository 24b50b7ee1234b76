//! Commands on other machines: one run per machine, all stored here.

pub mod agent_command;
pub mod arguments;
mod binaries;
pub mod measure_on;
pub mod outcome;
mod progress;
pub mod show;
pub mod slurm;
mod start_barrier;
mod typed_words;
