//! The family `storage`: blocks of a laid-out file, read and written.

use plumb_protocol::Workload;

mod blocks;
mod device;
mod engine;
mod file;
mod method;
mod offsets;
mod queue;
mod random;
mod sequential;
mod settings;
mod stamp;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&sequential::Sequential, &random::Random];
