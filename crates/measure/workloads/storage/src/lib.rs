//! The family `storage`: blocks of a file, read and written; logs; many files, and passes of bonnie++.

use plumb_protocol::Workload;

mod account;
mod blocks;
mod bonnie;
mod device;
mod engine;
mod extents;
mod file;
mod files;
mod lane;
mod log;
mod method;
mod names;
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
pub const ALL: &[&dyn Workload] = &[
    &sequential::Sequential,
    &random::Random,
    &oneblock::OneBlock,
    &log::StorageLog,
    &files::StorageFiles,
    &bonnie::StorageBonnie,
];
