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

use kernel_work::WithKernelWork;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[
    &WithKernelWork(copy::MemoryCopy),
    &WithKernelWork(latency::MemoryLatency),
    &WithKernelWork(stream::StreamLoops),
    &WithKernelWork(read::MemoryRead),
    &WithKernelWork(write::MemoryWrite),
    &WithKernelWork(loaded::Loaded),
    &WithKernelWork(exchange::LineExchange),
    &WithKernelWork(fault::Fault),
    &WithKernelWork(free::FreeMemory),
];
