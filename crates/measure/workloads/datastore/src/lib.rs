//! The family `datastore`.

use plumb_protocol::Workload;

mod batch;
mod client;
mod clients;
mod contents;
mod cycles;
mod engine;
mod engines;
mod file;
mod key_space;
mod keys;
mod mix;
mod server;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&batch::BatchOfEntities, &mix::Mixed];
