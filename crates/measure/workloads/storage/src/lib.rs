//! The family `storage`: blocks of a file, read and written; logs.

use plumb_protocol::Workload;

mod account;
mod blocks;
mod device;
mod engine;
mod extents;
mod file;
mod lane;
mod log;
mod method;
mod nfs;
mod offsets;
mod oneblock;
mod queue;
mod random;
mod sequential;
mod settings;
mod share;
mod stamp;
mod workers;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] =
    &[&sequential::Sequential, &random::Random, &oneblock::OneBlock, &log::Log];
