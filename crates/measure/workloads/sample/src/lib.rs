//! The family `sample`.

use plumb_protocol::Workload;

mod sum;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&sum::Sum];
