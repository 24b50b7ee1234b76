//! The family `process`.

use plumb_protocol::Workload;

mod command;
mod fork;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&fork::Fork, &command::Command];
