//! The family `ssh`: the installed OpenSSH, on loopback, with keys of its own.

use plumb_protocol::Workload;

mod cipher;
mod processes;
mod session;
mod sink;
mod sshd;
mod tools;
mod user;

pub use sink::ssh_sink;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&cipher::Cipher];
