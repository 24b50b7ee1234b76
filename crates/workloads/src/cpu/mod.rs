//! The family `cpu`.

use plumb_protocol::Workload;

pub(crate) mod declare;
pub(crate) mod primes;
pub(crate) mod sieve;
pub(crate) mod team;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&sieve::Sieve];
