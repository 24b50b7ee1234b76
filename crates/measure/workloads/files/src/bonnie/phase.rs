//! The twelve phases, and what each leaves: rate, CPU share, longest operation.

use plumb_protocol::{Failure, now_ns};
use rustix::time::{ClockId, clock_gettime};

/// What a phase needs to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The large file, which every pass has.
    File,
    /// Bytes to move one by one.
    Bytes,
    /// Seeks.
    Seeks,
    /// Many files.
    Files,
}

/// A phase, as its three metrics are called.
#[derive(Debug)]
pub struct Phase {
    /// Of rate, CPU share and longest operation.
    pub names: [&'static str; 3],
    /// What it does.
    pub summary: &'static str,
    /// Whether its rate counts bytes, or operations.
    pub counts_bytes: bool,
    /// Whether it is run.
    pub needs: Needs,
}

macro_rules! phase {
    ($name:literal, $needs:ident, $bytes:literal, $summary:literal) => {
        Phase {
            names: [$name, concat!($name, "_cpu"), concat!($name, "_latency")],
            summary: $summary,
            counts_bytes: $bytes,
            needs: Needs::$needs,
        }
    };
}

/// In the order in which a pass has them; with the names of imported results.
pub const PHASES: [Phase; 12] = [
    phase!("write_byte", Bytes, true, "writes byte by byte, each with a call of write"),
    phase!("write_block", File, true, "writes the file in blocks, fsync included"),
    phase!("rewrite", File, true, "reads, changes and writes each block; the size counts once"),
    phase!("read_byte", Bytes, true, "reads byte by byte, each with a call of read"),
    phase!("read_block", File, true, "reads the file in blocks, through the page cache"),
    phase!("seek", Seeks, false, "reads random blocks, and writes every tenth back"),
    phase!("create_sequential", Files, false, "creates files in order, sync(2) included"),
    phase!("stat_sequential", Files, false, "looks at files in the folder's order"),
    phase!("delete_sequential", Files, false, "deletes files in that order, sync(2) included"),
    phase!("create_random", Files, false, "creates files in random order, sync(2) included"),
    phase!("stat_random", Files, false, "looks at files in random order"),
    phase!("delete_random", Files, false, "deletes files in random order, sync(2) included"),
];

/// What a phase leaves.
#[derive(Debug, Clone, Copy)]
pub struct PhaseResult {
    /// Bytes or operations.
    pub work: u64,
    /// From the first operation to the last, in nanoseconds.
    pub elapsed_ns: u64,
    /// User and system time of the process, in nanoseconds.
    pub cpu_ns: u64,
    /// Of the longest operation.
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

    /// In nanoseconds.
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
