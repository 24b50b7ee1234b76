//! The family `cpu`.

use plumb_protocol::Workload;

pub(crate) mod declare;
mod dhrystone;
mod linpack;
pub(crate) mod primes;
pub(crate) mod sieve;
pub(crate) mod team;
mod whetstone;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] =
    &[&sieve::Sieve, &dhrystone::Dhrystone, &whetstone::Whetstone, &linpack::Linpack];
