//! The family `datastore`.

use plumb_protocol::Workload;

mod batch;
mod contents;
mod file;
mod table;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&batch::BatchOfEntities];
