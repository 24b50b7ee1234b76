//! The family `ssh`: the installed OpenSSH, with its own keys, on loopback, over a path or to another machine.

use plumb_protocol::Workload;

mod cipher;
mod copy;
mod fixture;
mod login;
mod parts;
mod session;
mod sink;

pub use sink::ssh_sink;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&cipher::Cipher, &copy::SshCopy, &login::Login];
