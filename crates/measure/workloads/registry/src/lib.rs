//! The built-in workloads: a crate per family, a file per workload with its manual next to it.
//!
//! They are registered by hand, here and in each family's `ALL`: what is not listed does not exist.

mod page;

use plumb_protocol::Workload;

pub use page::manual_page;
pub use plumb_workload_ssh::ssh_sink;

/// All built-in workloads, in the order in which scorecards show them.
#[must_use]
pub fn builtin() -> Vec<&'static dyn Workload> {
    [
        plumb_workload_cpu::ALL,
        plumb_workload_memory::ALL,
        plumb_workload_scheduler::ALL,
        plumb_workload_process::ALL,
        plumb_workload_storage::ALL,
        plumb_workload_block::ALL,
        plumb_workload_network::ALL,
        plumb_workload_compression::ALL,
        plumb_workload_crypto::ALL,
        plumb_workload_tls::ALL,
        plumb_workload_ssh::ALL,
        plumb_workload_language::ALL,
        plumb_workload_datastore::ALL,
        plumb_workload_boot::ALL,
        plumb_workload_classic::ALL,
    ]
    .concat()
}

/// The built-in workload of this id.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn Workload> {
    builtin().into_iter().find(|workload| workload.describe().id == id)
}
