//! The family `language`.

use plumb_protocol::Workload;

mod looping;
mod sieve;
mod toolchain;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[&sieve::SieveInLanguages, &looping::LoopInLanguages];
