//! The family `network`: streams and echoes over loopback.

use plumb_protocol::Workload;

mod echo;
mod icmp;
mod tcp;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&tcp::Tcp, &icmp::Icmp];
