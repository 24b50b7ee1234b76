//! The flag `generator-busy`: clients of a closed loop that were busy rather than waiting for their server limit the rate themselves.

use plumb_model::{Flag, FlagKind};

/// Clients that use this share of their CPU time or more may be the limit.
const BUSY: f64 = 0.7;

/// The flag of clients that used so much CPU time in a sample of this length, in as many threads on as many CPUs; None if they
/// waited for their server.
pub(crate) fn generator_busy(
    cpu_s: f64,
    elapsed_s: f64,
    threads: usize,
    cpus: usize,
) -> Option<Flag> {
    if elapsed_s <= 0.0 {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "few threads")]
    let busy = cpu_s / elapsed_s / threads.min(cpus.max(1)) as f64;
    if busy < BUSY {
        return None;
    }
    let share = busy * 100.0;
    let why = format!("the clients used {share:.0} % of the CPU time that their threads could use");
    Some(Flag::new(FlagKind::GeneratorBusy, why))
}
