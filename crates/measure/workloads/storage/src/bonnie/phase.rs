//! Which phases a pass has, what each leaves (rate, CPU share, longest operation), and which one is under way.

use plumb_classics::bonnie::{PHASES, Phase, Requires};
use plumb_protocol::{Batch, Failure, now_ns};
use rustix::time::{ClockId, clock_gettime};

/// The phases that a pass has, in their order.
pub fn phases_of(is_asked_for: impl Fn(Requires) -> bool) -> Vec<&'static Phase> {
    PHASES.iter().filter(|phase| is_asked_for(phase.requires)).collect()
}

/// Says which phase begins, before its time does.
#[derive(Debug)]
pub struct PhaseProgress<'a, 'p> {
    phases: &'a [&'static Phase],
    begun: usize,
    batch: &'a mut Batch<'p>,
}

impl<'a, 'p> PhaseProgress<'a, 'p> {
    /// Before the first of these phases.
    pub fn new(phases: &'a [&'static Phase], batch: &'a mut Batch<'p>) -> Self {
        Self { phases, begun: 0, batch }
    }

    /// The next phase begins: `phase 3 of 12: rewrite`.
    pub fn next(&mut self) {
        if let Some(phase) = self.phases.get(self.begun) {
            self.begun += 1;
            let number = self.begun;
            let count = self.phases.len();
            self.batch.progress(&format!("phase {number} of {count}: {}", phase.name));
        }
    }
}

/// What a phase leaves.
#[derive(Debug, Clone, Copy)]
pub struct PhaseResult {
    /// Bytes or operations that it did.
    pub work: u64,
    /// From the first operation to the last, in nanoseconds.
    pub elapsed_ns: u64,
    /// User and system time of the process, in nanoseconds.
    pub cpu_ns: u64,
    /// The longest operation, in nanoseconds.
    pub longest_ns: u64,
}

impl PhaseResult {
    /// Rate, CPU share and longest operation, in SI units.
    #[expect(clippy::cast_precision_loss, reason = "times and bytes stay far below 2^53")]
    pub fn values(&self) -> [f64; 3] {
        let elapsed = self.elapsed_ns.max(1) as f64;
        [
            self.work as f64 / elapsed * 1e9,
            self.cpu_ns as f64 / elapsed,
            self.longest_ns as f64 * 1e-9,
        ]
    }
}

/// The longest of operations that follow each other, with one reading of the clock for each.
#[derive(Debug)]
pub struct Longest {
    longest_ns: u64,
    /// When the last one ended.
    last_ns: u64,
}

impl Longest {
    /// The first operation begins now.
    pub fn begin() -> Self {
        Self { longest_ns: 0, last_ns: now_ns() }
    }

    /// The next operation begins now, not when the last one ended.
    pub fn again(&mut self) {
        self.last_ns = now_ns();
    }

    /// An operation has ended, and the next one begins.
    pub fn ended(&mut self) {
        let now = now_ns();
        self.longest_ns = self.longest_ns.max(now - self.last_ns);
        self.last_ns = now;
    }

    /// The longest operation so far, in nanoseconds.
    pub fn ns(&self) -> u64 {
        self.longest_ns
    }
}

/// Times a phase of so much work.
///
/// # Errors
/// Those of the work.
pub fn timed(
    work: u64,
    phase: impl FnOnce(&mut Longest) -> Result<(), Failure>,
) -> Result<PhaseResult, Failure> {
    let cpu = cpu_ns();
    let begun = now_ns();
    let mut longest = Longest::begin();
    phase(&mut longest)?;
    let elapsed_ns = now_ns() - begun;
    Ok(PhaseResult { work, elapsed_ns, cpu_ns: cpu_ns() - cpu, longest_ns: longest.ns() })
}

/// CPU time of all threads of this process so far, in nanoseconds.
pub fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec);
    let ns = u64::try_from(time.tv_nsec);
    seconds.unwrap_or(0) * 1_000_000_000 + ns.unwrap_or(0)
}
