//! Code shared by workloads of several families.
//!
//! A family uses this crate and the protocol, never another family.

pub mod affinity;
pub mod child;
pub mod declare;
pub mod device;
pub mod ended;
pub mod filesystem;
pub mod folder;
pub mod framed_stream;
pub mod installed_server;
pub mod keys;
mod library_functions;
pub mod limits;
pub mod link;
pub mod listening;
pub mod loop_device;
pub mod loopback;
pub mod mapping;
pub mod memory_floor;
pub mod mounts;
pub mod placement;
pub mod primes;
pub mod processes;
pub mod sleep;
pub mod spawn;
pub mod ssh;
pub mod switches;
pub mod threads;
pub mod tool;
pub mod users;
pub mod vector;
