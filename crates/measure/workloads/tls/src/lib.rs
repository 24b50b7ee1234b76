//! The family `tls`.

use plumb_protocol::Workload;

mod bulk;
mod certificate;
mod client;
mod handshake;
mod openssl;
mod post_quantum;
mod server;
mod settings;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&handshake::Handshake, &bulk::Bulk];
