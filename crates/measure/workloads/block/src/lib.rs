//! The family `block`: a remote disk, behind a link that is slow on purpose.
//!
//! Server and client speak NBD (<https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>) over a socket of this
//! machine. The server delays requests and replies as the link of `kit` says. `remote` asks it itself; for `mkfs` and
//! `copy`, nbdfuse and a loop device make a disk of it.

use plumb_protocol::Workload;

mod address;
mod client;
mod copy;
mod disk;
mod encrypted;
mod mkfs;
mod nbd;
mod queue;
mod relay;
mod remote;
mod report;
mod server;
mod settings;
mod tunnel;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&remote::Remote, &mkfs::Mkfs, &copy::Copy];
