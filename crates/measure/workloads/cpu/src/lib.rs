//! The family `cpu`.

use plumb_protocol::Workload;

mod answers;
mod branch;
mod dhrystone;
mod float;
#[cfg(target_arch = "x86_64")]
mod float_loops;
mod frequency;
mod gaps;
mod hash;
mod integer;
#[cfg(target_arch = "x86_64")]
mod integer_loops;
mod kernel_counters;
mod known_loop;
mod linpack;
mod only_x86;
mod power;
mod share;
mod sieve;
mod syscall;
mod whetstone;

/// The workloads of this family.
pub const ALL: &[&dyn Workload] = &[
    &sieve::Sieve,
    &dhrystone::Dhrystone,
    &whetstone::Whetstone,
    &linpack::Linpack,
    &frequency::Frequency,
    &integer::Integer,
    &float::Float,
    &branch::Branch,
    &syscall::Syscall,
    &hash::Hash,
    &share::CpuShare,
    &answers::KnownAnswers,
];
