//! The family `memory`.

use plumb_protocol::Workload;

mod arrays;
mod chains;
mod copy;
mod cycle;
mod exchange;
mod fault;
mod free;
mod kernels;
mod latency;
mod loaded;
mod methods;
mod node;
mod place;
mod read;
mod stream;
mod write;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[
    &copy::Copy,
    &latency::Latency,
    &stream::StreamLoops,
    &read::Read,
    &write::Write,
    &loaded::Loaded,
    &exchange::Exchange,
    &fault::Fault,
    &free::Free,
];
