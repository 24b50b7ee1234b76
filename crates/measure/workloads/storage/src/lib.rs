//! The family `storage`: blocks of a laid-out file, read and written; many small files.

use plumb_protocol::Workload;

mod blocks;
mod bonnie;
mod device;
mod engine;
mod file;
mod files;
mod folder;
mod log;
mod method;
mod names;
mod offsets;
mod oneblock;
mod queue;
mod random;
mod sequential;
mod settings;
mod stamp;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[
    &sequential::Sequential,
    &random::Random,
    &oneblock::OneBlock,
    &files::Files,
    &log::Log,
    &bonnie::Bonnie,
];
