//! The family `cpu`.

use plumb_protocol::Workload;

mod dhrystone;
mod linpack;
mod sieve;
mod whetstone;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] =
    &[&sieve::Sieve, &dhrystone::Dhrystone, &whetstone::Whetstone, &linpack::Linpack];
