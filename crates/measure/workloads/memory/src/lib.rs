//! The family `memory`.

use plumb_protocol::Workload;

mod copy;
mod cycle;
mod latency;
mod methods;
mod place;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&copy::Copy, &latency::Latency];
