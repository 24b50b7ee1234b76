//! The built-in workloads: a folder a family, a file each with its manual beside it.
//!
//! They are registered by hand, here and in each family's `ALL`: what is not listed does not exist.

use plumb_protocol::Workload;

mod compression;
mod cpu;
mod crypto;
mod datastore;
mod language;
mod memory;
mod network;
mod process;
mod scheduler;
mod ssh;
mod storage;

pub use ssh::ssh_sink;

/// All built-in workloads, in the order in which scorecards show them.
#[must_use]
pub fn builtin() -> Vec<&'static dyn Workload> {
    [
        cpu::ALL,
        memory::ALL,
        scheduler::ALL,
        process::ALL,
        storage::ALL,
        network::ALL,
        compression::ALL,
        crypto::ALL,
        ssh::ALL,
        language::ALL,
        datastore::ALL,
    ]
    .concat()
}

/// The built-in workload of this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn Workload> {
    builtin().into_iter().find(|workload| workload.describe().id == id)
}
