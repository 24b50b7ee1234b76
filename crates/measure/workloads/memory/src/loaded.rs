//! `memory.loaded`: the latency of memory while other CPUs keep it busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plumb_model::{AuditClass, Better, CurveKind, Description, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload, now_ns};
use plumb_workload_kit::declare;
use plumb_workload_kit::mapping::{Mapping, Pages};
use plumb_workload_kit::placement::{Placement, in_words};
use plumb_workload_kit::threads::{Member, Team};
use plumb_workload_kit::vector::Width;

use crate::arrays::{checked, mapped};
use crate::cycle::{LINE_BYTES, PointerCycle, UNROLLED};
use crate::kernels::{FillKernel, Stores, SumKernel};
use crate::node::{self, MemoryNode};
use crate::place;

/// Loads of one iteration.
const LOADS: u64 = 1024;

/// Words of a piece that an injector reads or writes between two pauses: a page of 4 KiB.
const PIECE_WORDS: usize = 512;

/// A sample is many times as long as waking the injectors takes.
const SHORTEST_SAMPLE_NS: u64 = 20_000_000;

/// The workload `memory.loaded`: its parameters and metrics, and how it starts.
pub(super) struct Loaded;

impl Workload for Loaded {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                declare::curve(
                    CurveKind::Knee,
                    declare::time_bound("pause", 0, "time that an injector waits after each 4 KiB"),
                ),
                declare::choice("load", &["read", "write"], "whether injectors read or write"),
                declare::bytes("size", 64 << 20, "size of the cycle and of each injector's array"),
                node::parameter(),
            ],
            metrics: vec![
                declare::time("latency", "time of one dependent load while the injectors run"),
                declare::reported(
                    "bandwidth",
                    "B/s",
                    Better::Neither,
                    "bytes read or written per second by all injectors",
                ),
            ],
            timeout_s: Some(declare::LONG_TIMEOUT_S),
            audit_class: Some(AuditClass::Memory),
            ..declare::workload(
                "memory.loaded",
                "follows a random cycle of pointers while other CPUs read or write memory",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("loaded.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let size = start.integer("size");
        let facts = &start.facts;
        if facts.cpus.len() < 2 {
            return Err(StartError::unsupported(
                "plumb is limited to one CPU; memory.loaded needs two, one for latency and one for load",
                "give plumb two CPUs (taskset, cpuset, a larger machine)",
            ));
        }
        let needed = size.saturating_mul(facts.cpus.len() as u64);
        place::check(size, needed + size / (LINE_BYTES as u64 / 4), facts)?;
        // The waiting thread has the last CPU: the first tends to serve interrupts.
        let cpus = Placement::Cross.cpus(facts.cpus.len(), facts)?.unwrap_or_default();
        let node = MemoryNode::of(start)?;
        let mut ready = ready(start, &cpus);
        ready.notes.extend(node.map(MemoryNode::note));
        Ok(StartedWorkload { instance: Box::new(UnderLoad::new(start, cpus, node)?), ready })
    }
}

fn ready(start: &Start, cpus: &[usize]) -> Ready {
    let size = start.integer("size");
    let mut ready = Ready { work: declare::work(&[("latency", LOADS)]), ..Ready::default() };
    if let [own, injectors @ ..] = cpus {
        let where_all = format!("loads {}, injectors {}", in_words(&[*own]), in_words(injectors));
        ready.notes.push(where_all);
    }
    ready.notes.push(format!("injectors: {}", Width::widest().note()));
    place::describe(size, size, &start.facts, &mut ready);
    ready
}

/// The loop of a thread: the first waits for loads, the others load memory.
enum LoadedThread {
    Waits(Waiter),
    Injects(Injector),
}

impl LoadedThread {
    fn new(
        index: usize,
        start: &Start,
        node: Option<MemoryNode>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, StartError> {
        if index == 0 {
            let cycle = PointerCycle::new(start.size("size"), Pages::Small, node, start.seed)?;
            return Ok(Self::Waits(Waiter { checked_place: cycle.place(), cycle, loads: 0, stop }));
        }
        Injector::new(start, node, start.seed ^ index as u64, stop).map(Self::Injects)
    }
}

impl Member for LoadedThread {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        match self {
            Self::Waits(waiter) => waiter.run(iterations),
            Self::Injects(injector) => injector.run(),
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        match self {
            Self::Waits(waiter) => waiter.verify(),
            Self::Injects(injector) => injector.verify(),
        }
    }
}

/// The walk along a cycle; its end stops the injectors.
struct Waiter {
    cycle: PointerCycle,
    checked_place: u64,
    loads: u64,
    stop: Arc<AtomicBool>,
}

impl Waiter {
    fn run(&mut self, iterations: u64) {
        self.cycle.walk(iterations * (LOADS / UNROLLED));
        self.stop.store(true, Ordering::Relaxed);
        self.loads += iterations * LOADS;
    }

    fn verify(&mut self) -> Result<(), Failure> {
        let expected = (self.checked_place + self.loads) % self.cycle.nodes();
        let place = self.cycle.place();
        if place != expected {
            return Err(Failure(format!(
                "memory.loaded: after {} loads the walk is at position {place}, not {expected}",
                self.loads
            )));
        }
        (self.checked_place, self.loads) = (place, 0);
        Ok(())
    }
}

/// A thread that reads or writes an array, a piece at a time.
struct Injector {
    array: Mapping,
    work: InjectorWork,
    pause_ns: u64,
    /// Pieces so far, and until the last check; the array begins again behind its last.
    pieces: u64,
    checked: u64,
    /// Bytes of the last sample.
    bytes: u64,
    stop: Arc<AtomicBool>,
}

/// How injectors load memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    /// They read, which moves each byte once.
    Read,
    /// They write with ordinary stores, which move each byte twice.
    Write,
}

impl Load {
    /// Reads the parameter `load`.
    fn of(start: &Start) -> Self {
        match start.text("load") {
            "write" => Self::Write,
            _ => Self::Read,
        }
    }
}

/// The work of an injector on a piece.
enum InjectorWork {
    /// Adds it to the sum since the last check.
    Read { kernel: SumKernel, sum: u64 },
    /// Fills it with the number of pieces before it.
    Write { kernel: FillKernel },
}

impl Injector {
    fn new(
        start: &Start,
        node: Option<MemoryNode>,
        seed: u64,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, StartError> {
        let mut array = mapped(start.size("size"), node)?;
        for (at, word) in (0_u64..).zip(array.words_mut()) {
            *word = at.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed);
        }
        let array = checked(array, node)?;
        let width = Width::widest();
        let work = match Load::of(start) {
            Load::Write => InjectorWork::Write { kernel: FillKernel::new(Stores::Regular, width) },
            Load::Read => InjectorWork::Read { kernel: SumKernel::new(width), sum: 0 },
        };
        let pause_ns = start.integer("pause");
        Ok(Self { array, work, pause_ns, pieces: 0, checked: 0, bytes: 0, stop })
    }

    /// Piece after piece until the walk has ended.
    fn run(&mut self) {
        self.bytes = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let words = self.array.words_mut();
            let all = words.len().div_ceil(PIECE_WORDS) as u64;
            // Below the number of pieces, which is a length in memory.
            let first = (self.pieces % all) as usize * PIECE_WORDS;
            let end = words.len().min(first + PIECE_WORDS);
            let piece = &mut words[first..end];
            match &mut self.work {
                InjectorWork::Read { kernel, sum } => *sum = sum.wrapping_add(kernel.run(piece)),
                InjectorWork::Write { kernel } => kernel.run(piece, self.pieces),
            }
            self.bytes += size_of_val(piece) as u64;
            self.pieces += 1;
            wait(self.pause_ns, &self.stop);
        }
    }

    /// What was read since the last check adds up, or what was written is there.
    fn verify(&mut self) -> Result<(), Failure> {
        let words = self.array.words();
        let all = words.len().div_ceil(PIECE_WORDS) as u64;
        let mut expected = 0_u64;
        for (place, piece) in (0..).zip(words.chunks(PIECE_WORDS)) {
            let times = times_at(place, self.pieces, all);
            match &self.work {
                InjectorWork::Read { .. } => {
                    let sum = piece.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word));
                    let since = times - times_at(place, self.checked, all);
                    expected = expected.wrapping_add(sum.wrapping_mul(since));
                }
                InjectorWork::Write { .. } if times > 0 => {
                    let word = (times - 1) * all + place;
                    if piece.iter().any(|found| *found != word) {
                        return Err(Failure(format!(
                            "memory.loaded: block {place} of an injector does not contain {word}"
                        )));
                    }
                }
                InjectorWork::Write { .. } => {}
            }
        }
        if let InjectorWork::Read { sum, .. } = &mut self.work {
            if *sum != expected {
                let pieces = self.pieces - self.checked;
                return Err(Failure(format!(
                    "memory.loaded: {pieces} blocks of an injector add up to {sum:#018x}, not {expected:#018x}"
                )));
            }
            *sum = 0;
        }
        self.checked = self.pieces;
        Ok(())
    }
}

/// Reads the clock until so much time is over, or there is no more to do.
fn wait(pause_ns: u64, stop: &AtomicBool) {
    if pause_ns > 0 {
        let end = now_ns() + pause_ns;
        while now_ns() < end && !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }
}

/// The team, and how long its last sample took.
struct UnderLoad {
    team: Team<LoadedThread>,
    stop: Arc<AtomicBool>,
    elapsed_ns: u64,
}

/// How often one of the first `count` pieces was the one at `place`, of so many that are taken in turn.
fn times_at(place: u64, count: u64, pieces: u64) -> u64 {
    (count + pieces - 1 - place) / pieces
}

impl UnderLoad {
    fn new(start: &Start, cpus: Vec<usize>, node: Option<MemoryNode>) -> Result<Self, StartError> {
        let stop = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&stop);
        let start = start.clone();
        let team = Team::on_cpus(cpus, move |index| {
            LoadedThread::new(index, &start, node, Arc::clone(&shared))
        })?;
        Ok(Self { team, stop, elapsed_ns: 1 })
    }
}

impl Instance for UnderLoad {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        // Before the threads begin: the walk of the sample before left it set.
        self.stop.store(false, Ordering::Relaxed);
        let start = now_ns();
        let result = self.team.run(iterations);
        self.elapsed_ns = (now_ns() - start).max(1);
        result
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.team.verify()
    }

    fn value_names(&self) -> &'static [&'static str] {
        &["bandwidth"]
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "bytes and times of a sample stay far below 2^53"
    )]
    fn values(&mut self, out: &mut [f64]) {
        let mut bytes = 0;
        self.team.each(|part| {
            if let LoadedThread::Injects(injector) = part {
                bytes += injector.bytes;
            }
        });
        out[0] = bytes as f64 * 1e9 / self.elapsed_ns as f64;
    }

    fn shortest_sample_ns(&self) -> u64 {
        SHORTEST_SAMPLE_NS
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use plumb_workload_testing::TestPoint;

    use super::{Injector, LoadedThread, Waiter};

    /// An injector that has worked for a while.
    fn worked(load: &str) -> Injector {
        // No whole number of pieces.
        let settings = [("size", "100KiB"), ("load", load)];
        let point = TestPoint::new(crate::ALL, "memory.loaded", &settings);
        let stop = Arc::new(AtomicBool::new(false));
        let mut injector = Injector::new(&point.start, None, 1, Arc::clone(&stop)).unwrap();
        let mut rounds = 0;
        // On a busy machine a thread may be told to stop before it begins.
        while rounds < 2 || injector.pieces == 0 {
            rounds += 1;
            stop.store(false, Ordering::Relaxed);
            std::thread::scope(|scope| {
                scope.spawn(|| injector.run());
                std::thread::sleep(std::time::Duration::from_millis(30));
                stop.store(true, Ordering::Relaxed);
            });
            injector.verify().unwrap();
        }
        injector
    }

    #[test]
    fn a_piece_that_was_not_read_or_not_written_is_found() {
        let mut reader = worked("read");
        assert!(reader.bytes > 0 && reader.bytes <= reader.pieces * 4096);
        reader.pieces += 1;
        let failure = reader.verify().unwrap_err();
        assert!(failure.0.contains("1 blocks of an injector add up to"), "{failure}");
        let mut writer = worked("write");
        writer.array.words_mut()[3] ^= 1;
        let failure = writer.verify().unwrap_err();
        assert!(failure.0.contains("block 0 of an injector does not contain"), "{failure}");
    }

    #[test]
    fn a_walk_that_skipped_loads_is_found() {
        let point = TestPoint::new(crate::ALL, "memory.loaded", &[("size", "100KiB")]);
        let part = LoadedThread::new(0, &point.start, None, Arc::default()).unwrap();
        let LoadedThread::Waits(mut waiter) = part else { panic!("the first waits") };
        Waiter::run(&mut waiter, 2);
        assert!(waiter.stop.load(Ordering::Relaxed), "its end stops the injectors");
        waiter.verify().unwrap();
        waiter.loads = 1;
        assert!(waiter.verify().unwrap_err().0.contains("after 1 loads"));
    }
}
