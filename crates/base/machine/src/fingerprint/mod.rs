//! Which machine this is, and in what state.
//!
//! A file a theme; the list of all facts is `plumb_model::FACTS`. Only what stays from run to run is a
//! fact: free space, temperatures and loads would make every run another environment, and monitors read
//! them. Files that cannot be read are facts that are missing, which is no difference to anybody.

mod cpu;
mod disks;
mod firmware;
mod host;
mod identity;
mod kernel;
mod limits;
mod memory;
mod mount;
mod network;
mod recorded;
mod settings;
mod tools;
mod topology;

pub use cpu::{idle, policies};
pub use disks::{below as disk_below, chosen};
pub use firmware::power;
pub use host::host;
pub use identity::{environment, machine};
pub use kernel::{config, has};
#[cfg(test)]
pub use memory::device as firmware_memory_device;
pub use memory::{MemoryModule, memory_modules};
pub use mount::{Mount, holding};
pub use tools::container;
pub use topology::{count_cpus, numa_nodes, virtualisation};
