//! The family `language`.

use plumb_protocol::Workload;

mod classic_loop;
mod fixture;
mod looping;
mod sieve;
mod toolchain;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] =
    &[&sieve::SieveInLanguages, &looping::LoopInLanguages, &classic_loop::ClassicLoop];
