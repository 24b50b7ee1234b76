//! The family `memory`.

use plumb_protocol::Workload;

mod arrays;
mod chains;
mod copy;
mod cycle;
mod exchange;
mod fault;
mod free;
mod kernel_work;
mod kernels;
mod latency;
mod loaded;
mod methods;
mod node;
mod place;
mod read;
mod stream;
mod write;

use kernel_work::Noted;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[
    &Noted(copy::Copy),
    &Noted(latency::Latency),
    &Noted(stream::StreamLoops),
    &Noted(read::Read),
    &Noted(write::Write),
    &Noted(loaded::Loaded),
    &Noted(exchange::Exchange),
    &Noted(fault::Fault),
    &Noted(free::Free),
];
