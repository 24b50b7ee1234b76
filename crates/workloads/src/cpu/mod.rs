//! The family `cpu`.

use plumb_protocol::Workload;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[];
