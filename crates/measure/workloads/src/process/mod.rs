//! The family `process`.

use plumb_protocol::Workload;

pub(crate) mod declare;
pub(crate) mod spawn;

pub(crate) mod child;
mod command;
pub(crate) mod floor;
mod fork;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&fork::Fork, &command::Command];
