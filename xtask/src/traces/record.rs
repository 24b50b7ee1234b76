//! Records this machine: how long fixed work takes, chunk after chunk, for minutes.
//!
//! The first part is one stretch of chunks back to back, long enough to hold ten minutes if the recording is; the
//! rest goes through all patterns in turns of some seconds, so that they meet the same minutes.

use std::hint::{black_box, spin_loop};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use plumb_simulate::recording::{Block, CHUNKS, Recording, TrafficPattern};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::headtohead::neighbour::{Neighbour, NeighbourKind};

/// The word that starts this binary as the short command.
pub const ROLE: &str = "--chunks";

/// Target length of a chunk.
const CHUNK: Duration = Duration::from_millis(1);
/// Iterations that calibration times at once.
const TRIAL_ITERATIONS: u64 = 100_000;
/// How often calibration times them; the fastest time counts.
const TRIALS: usize = 60;
/// Chunks of a command.
const OF_A_COMMAND: u64 = 3;
/// The share of the time for the one long stretch.
const LONG_STRETCH_SHARE: f64 = 0.6;
/// Length of the turn of a pattern, in the part after the long stretch.
const TURN: Duration = Duration::from_secs(6);
/// Pause between chunks, which `Sleep` sleeps and `Spin` spins.
const GAP: Duration = Duration::from_millis(10);

/// The work of a command: this binary, started again.
pub fn chunks(iterations: u64) {
    (0..OF_A_COMMAND).for_each(|_| work(iterations));
}

/// A chain of dependent steps in registers: xorshift by Marsaglia.
fn work(iterations: u64) {
    // Without this the compiler could compute the result; without the last line it could leave out the loop.
    let mut x = black_box(88_172_645_463_325_252_u64);
    for _ in 0..iterations {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    black_box(x);
}

/// Records for so many minutes while this neighbour runs, if there is one.
///
/// # Errors
/// When the neighbour or a command can't be started, or the CPUs are not known.
pub fn record(minutes: f64, beside: Option<NeighbourKind>) -> Result<Recording, String> {
    let mut recorder = TraceRecorder::new()?;
    let _beside = beside.map(|kind| Neighbour::start(kind, 1)).transpose()?;
    let mut blocks = Vec::new();
    let whole = Duration::from_secs_f64(60.0 * minutes);
    let begun = Instant::now();
    while begun.elapsed() < whole.mul_f64(LONG_STRETCH_SHARE) {
        blocks.push(recorder.block(TrafficPattern::Stay)?);
    }
    for pattern in TrafficPattern::ALL.into_iter().cycle() {
        let turn = Instant::now();
        while turn.elapsed() < TURN {
            blocks.push(recorder.block(pattern)?);
        }
        recorder.anywhere()?;
        if begun.elapsed() > whole {
            break;
        }
    }
    let about = format!(
        "machine: {}\ndate: {}\nbeside: {}\nminutes: {minutes}",
        crate::host::hardware(),
        crate::host::today(),
        beside.map_or("what ran anyway", NeighbourKind::word),
    );
    Ok(Recording { about, blocks })
}

struct TraceRecorder {
    /// Iterations of a chunk.
    iterations: u64,
    /// Where it may run at all.
    cpus: CpuSet,
    /// How many blocks were taken with the pattern that changes the CPU.
    moved: usize,
    me: PathBuf,
    met: DisturbanceCounters,
}

/// Counters since the machine or the thread started.
#[derive(Clone, Copy)]
struct DisturbanceCounters {
    steal: u32,
    switches: u32,
}

impl TraceRecorder {
    fn new() -> Result<Self, String> {
        let fastest = (0..TRIALS).map(|_| time_of(TRIAL_ITERATIONS)).min().unwrap_or(CHUNK);
        let iterations =
            (CHUNK.as_nanos() * u128::from(TRIAL_ITERATIONS) / fastest.as_nanos().max(1)) as u64;
        let me = std::env::current_exe().map_err(|error| format!("this binary: {error}"))?;
        let cpus = sched_getaffinity(None).map_err(|error| format!("CPUs: {error}"))?;
        Ok(Self { iterations, cpus, moved: 0, me, met: met()? })
    }

    fn block(&mut self, pattern: TrafficPattern) -> Result<Block, String> {
        if pattern == TrafficPattern::Move {
            self.move_on()?;
        }
        let mut micros = [0; CHUNKS];
        let mut off_cpu = [0; CHUNKS];
        for (micros, off_cpu) in micros.iter_mut().zip(&mut off_cpu) {
            if pattern.is_of_commands() {
                *micros = self.command()?;
                between(pattern);
            } else {
                (*micros, *off_cpu) = self.chunk();
            }
        }
        let before = std::mem::replace(&mut self.met, met()?);
        if !pattern.is_of_commands() {
            between(pattern);
        }
        let steal = self.met.steal.saturating_sub(before.steal);
        let switches = self.met.switches.saturating_sub(before.switches);
        Ok(Block { pattern, micros, off_cpu, steal, switches })
    }

    /// Microseconds of a chunk, and those of them that it was not on a CPU.
    fn chunk(&self) -> (u32, u32) {
        // The CPU clock is read first and last: it encloses the wall clock, so no time on the CPU seems to be off it.
        let cpu_before = on_cpu();
        let begun = Instant::now();
        work(self.iterations);
        let wall = begun.elapsed();
        let cpu = on_cpu().saturating_sub(cpu_before);
        (micros(wall), micros(wall.saturating_sub(cpu)))
    }

    fn command(&self) -> Result<u32, String> {
        let mut command = Command::new(&self.me);
        command.args(["traces", ROLE, &self.iterations.to_string()]).stdin(Stdio::null());
        let begun = Instant::now();
        let ended = command.status();
        let wall = begun.elapsed();
        ended.map_err(|error| format!("the command: {error}")).map(|_| micros(wall))
    }

    /// To the next CPU, before every other block.
    fn move_on(&mut self) -> Result<(), String> {
        if self.moved.is_multiple_of(2) {
            let all = (0..CpuSet::MAX_CPU).filter(|&cpu| self.cpus.is_set(cpu));
            let turn = self.moved / 2 % (self.cpus.count() as usize).max(1);
            let mut one = CpuSet::new();
            all.skip(turn).take(1).for_each(|cpu| one.set(cpu));
            sched_setaffinity(None, &one).map_err(|error| format!("CPUs: {error}"))?;
        }
        self.moved += 1;
        Ok(())
    }

    /// On any CPU again.
    fn anywhere(&mut self) -> Result<(), String> {
        self.moved = 0;
        sched_setaffinity(None, &self.cpus).map_err(|error| format!("CPUs: {error}"))
    }
}

/// How long so much work takes once.
fn time_of(iterations: u64) -> Duration {
    let begun = Instant::now();
    work(iterations);
    begun.elapsed()
}

fn micros(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

fn between(pattern: TrafficPattern) {
    match pattern {
        TrafficPattern::Sleep | TrafficPattern::CommandsSleep => std::thread::sleep(GAP),
        TrafficPattern::Spin | TrafficPattern::CommandsSpin => {
            let begun = Instant::now();
            while begun.elapsed() < GAP {
                spin_loop();
            }
        }
        TrafficPattern::Stay | TrafficPattern::Move | TrafficPattern::Commands => {}
    }
}

/// Time of this thread on CPUs.
fn on_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn met() -> Result<DisturbanceCounters, String> {
    let stat = read("/proc/stat")?;
    let status = read("/proc/thread-self/status")?;
    Ok(DisturbanceCounters { steal: steal(&stat), switches: switches(&status) })
}

fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {path}: {error}"))
}

/// Ticks of steal on all CPUs, in /proc/stat: the eighth number of its first line.
fn steal(stat: &str) -> u32 {
    let word = stat.lines().next().and_then(|line| line.split_whitespace().nth(8));
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}

/// Involuntary switches, in the status of a thread.
fn switches(status: &str) -> u32 {
    let word = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    word.and_then(|word| word.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use plumb_simulate::recording::TrafficPattern;

    use super::{TraceRecorder, steal, switches};

    #[test]
    fn a_block_is_about_what_its_work_takes() {
        let mut recorder = TraceRecorder::new().unwrap();
        let block = recorder.block(TrafficPattern::Stay).unwrap();
        let fastest = block.micros.into_iter().min().unwrap();
        assert!((500..5000).contains(&fastest), "{:?}", block.micros);
        let beyond = block.micros.iter().zip(block.off_cpu).filter(|(wall, off)| off > *wall);
        assert_eq!(beyond.count(), 0);
    }

    #[test]
    fn counters_are_found_in_their_files() {
        assert_eq!(steal("cpu  1 2 3 4 5 6 7 89 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"), 89);
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t42\n";
        assert_eq!(switches(status), 42);
        assert_eq!((steal(""), switches("")), (0, 0));
    }
}
