//! The family `scheduler`.

use plumb_protocol::Workload;

mod hackbench;
mod messaging;
mod pipe;
mod r#yield;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&messaging::Messaging, &pipe::Pipe, &r#yield::Yield];
