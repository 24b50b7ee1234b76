//! The family `compression`.

use plumb_protocol::Workload;

mod block;
mod generator;
mod lz;
mod seven_zip;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&seven_zip::SevenZip, &lz::Lz];
