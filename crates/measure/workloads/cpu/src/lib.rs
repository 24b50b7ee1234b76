//! The family `cpu`.

use plumb_protocol::{StartError, Workload};

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
mod power;
mod share;
mod sieve;
mod syscall;
mod whetstone;

use power::power;

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
    &share::Share,
];

/// Loops of assembly are written for one architecture.
fn only_x86(id: &str) -> Result<(), StartError> {
    if cfg!(target_arch = "x86_64") {
        return Ok(());
    }
    Err(StartError::unsupported(
        format!("the loops of {id} are not written for {}", std::env::consts::ARCH),
        "measure cpu.sieve, cpu.hash or cpu.syscall, which run everywhere",
    ))
}
