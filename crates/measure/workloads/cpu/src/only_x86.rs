//! Instructions and data of the assembly loops.

use plumb_protocol::StartError;

/// Loops of assembly are written for one architecture.
pub(super) fn only_x86(id: &str) -> Result<(), StartError> {
    if cfg!(target_arch = "x86_64") {
        return Ok(());
    }
    Err(StartError::unsupported(
        format!("{id} does not support {}", std::env::consts::ARCH),
        "use cpu.sieve, cpu.hash or cpu.syscall, which run everywhere",
    ))
}
