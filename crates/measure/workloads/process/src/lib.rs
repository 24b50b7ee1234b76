//! The family `process`.

use plumb_protocol::Workload;

mod ballast;
mod command;
mod exec;
mod fork;
mod lean;
mod static_program;
mod thread;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] =
    &[&fork::Fork, &exec::Exec, &thread::ThreadCreation, &command::ProcessCommand];
