//! The family `process`.

use plumb_protocol::Workload;

mod ballast;
mod cold_files;
mod command;
mod elf;
mod exec;
mod fork;
mod lean;
mod library;
mod loader;
mod mapped_files;
mod static_program;
mod thread;
mod tracee;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[
    &fork::Fork,
    &exec::Exec,
    &thread::ThreadCreation,
    &command::ProcessCommand,
    &library::Library,
];
