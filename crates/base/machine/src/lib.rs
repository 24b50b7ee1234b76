//! Reads a machine: which one it is and in what state, what workloads are told of it, what is wrong with
//! it for measuring, its clocks and control groups.
//!
//! Files of the kernel are read under a [`Root`], so that a captured tree can stand in for them.

pub mod cgroup;
mod clock;
pub mod doctor;
mod energy;
mod facts;
mod fingerprint;
mod hash;
mod id;
mod links;
mod memory_channels;
mod network_link;
mod root;
mod target;
mod time;

pub use clock::{ClockDrift, ClockGrain, ClockMark, clock_grain};
pub use energy::{EnergyMeter, EnergyZone};
pub use facts::facts;
pub use fingerprint::{Mount, chosen, container, disk_below, environment, holding, host, machine};
pub use hash::with_fact;
pub use id::{fresh_id, fresh_ids};
pub use links::{DiskLink, disk_link};
pub use memory_channels::{MemoryChannels, memory_channels};
pub use network_link::{NetworkLink, network_link};
pub use root::Root;
pub use target::{target, with_far_ends};
pub use time::{Moment, boot_id, is_alive, now, owner};
