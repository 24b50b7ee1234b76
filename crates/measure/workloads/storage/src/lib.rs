//! The family `storage`: blocks of a laid-out file, read and written; logs.

use plumb_protocol::Workload;

mod blocks;
mod device;
mod engine;
mod file;
mod log;
mod method;
mod offsets;
mod oneblock;
mod queue;
mod random;
mod sequential;
mod settings;
mod stamp;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] =
    &[&sequential::Sequential, &random::Random, &oneblock::OneBlock, &log::Log];
