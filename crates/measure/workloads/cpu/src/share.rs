//! `cpu.share`: what each of two CPUs keeps of its speed while the other runs the same loop.
//!
//! The caller's thread is on the first CPU, a helper on the second. For every window in which the helper works the caller
//! tells it when that begins. Both sleep until shortly before, and the one without work until after it, so that it leaves
//! its CPU alone; the one with work counts what it has done when the window ends.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use plumb_model::{AuditClass, Better, Description, Facts, Ready};
use plumb_protocol::{Failure, Instance, Start, StartError, StartedWorkload, Workload, now_ns};

use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare;
use plumb_workload_kit::placement::TasksInTurn;
use plumb_workload_kit::sleep::sleep_until;

use super::known_loop::CONSTANTS;
use super::only_x86::only_x86;
use super::power::power;

/// The workload `cpu.share`: its parameters and metrics, and how it starts.
pub(super) struct CpuShare;

/// How long a window lasts. On one CPU for both, either has it for some milliseconds in turn.
const WINDOW_NS: u64 = 10_000_000;

/// From the word to the beginning of a window, and how much of that a thread does not sleep.
const LEAD_NS: u64 = 1_000_000;
const AWAKE_NS: u64 = 150_000;

/// A piece of work: so many passes over eight chains of multiplications, about ten microseconds.
const PASSES: u64 = 256;
const PRODUCTS_OF_A_CHAIN: u64 = 16 * PASSES;
const PRODUCTS: u64 = 8 * PRODUCTS_OF_A_CHAIN;
const FACTOR: u64 = 0xd134_2543_de82_ef95;

/// The values of each sample.
const NAMES: [&str; 5] = ["kept", "kept_first", "kept_second", "alone_first", "alone_second"];

impl Workload for CpuShare {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![declare::text(
                "pair",
                "first",
                "two CPUs, such as 0-1; first: the first two that plumb may use",
            )],
            metrics: vec![
                declare::reported_share(
                    "kept",
                    Better::Higher,
                    "throughput of both CPUs together, divided by the sum of each alone; 1: two full CPUs",
                ),
                declare::reported_share(
                    "kept_first",
                    Better::Higher,
                    "the first CPU's throughput with both busy, divided by its throughput alone",
                ),
                declare::reported_share(
                    "kept_second",
                    Better::Higher,
                    "the same for the second CPU of the pair",
                ),
                declare::reported(
                    "alone_first",
                    "ops/s",
                    Better::Higher,
                    "multiplications per second on the first CPU while the second sleeps",
                ),
                declare::reported(
                    "alone_second",
                    "ops/s",
                    Better::Higher,
                    "the same for the second CPU of the pair",
                ),
            ],
            audit_class: Some(AuditClass::Cpu),
            ..declare::workload("cpu.share", "throughput that two CPUs keep when both are busy")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("share.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        only_x86("cpu.share")?;
        let pair = pair(start.text("pair"), &start.facts)?;
        let ready = Ready { notes: vec![in_words(pair, &start.facts)], ..Ready::default() };
        let helper = Helper::start(pair[1])?;
        let mut own_place = TasksInTurn::new(&[pair[0]])?;
        own_place.go_to_next()?;
        let instance = Windows {
            helper,
            own: Products::new(),
            rounds: 0,
            alone: [0; 2],
            together: [0; 2],
            windows: 0,
            right: true,
            _own_place: own_place,
        };
        Ok(StartedWorkload { instance: Box::new(instance), ready })
    }
}

/// The two CPUs, which may be the same.
fn pair(text: &str, facts: &Facts) -> Result<[usize; 2], StartError> {
    let allowed: Vec<usize> =
        facts.cpus.iter().filter_map(|cpu| usize::try_from(*cpu).ok()).collect();
    if text == "first" {
        return match *allowed {
            [first, second, ..] => Ok([first, second]),
            _ => Err(StartError::unsupported(
                "plumb is limited to one CPU; this workload needs two",
                "give plumb two CPUs (taskset, cpuset, a larger machine)",
            )),
        };
    }
    let cpus = text.split_once('-').and_then(|(first, second)| {
        Some([first.trim().parse::<usize>().ok()?, second.trim().parse().ok()?])
    });
    let cpus = cpus.ok_or_else(|| {
        StartError::Failed(format!("`{text}` is not a pair of CPUs; write one like pair=0-1"))
    })?;
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(cpus),
        Some(cpu) => {
            let listed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            Err(StartError::unsupported(
                format!("plumb is not allowed to run on CPU {cpu}"),
                format!("set pair to two of these CPUs: {}", listed.join(", ")),
            ))
        }
    }
}

/// The pair, and what the kernel says of it.
fn in_words([first, second]: [usize; 2], facts: &Facts) -> String {
    if first == second {
        return format!("both threads run on CPU {first}, so each gets half of it");
    }
    let says = match (core(first, facts), core(second, facts)) {
        (Some(one), Some(other)) if one == other => "reports one core",
        (Some(_), Some(_)) => "reports two cores",
        _ => "does not report whether that is one core or two",
    };
    format!("CPUs {first} and {second}; the kernel {says}")
}

/// Node and core of a CPU; None if the kernel does not report them.
fn core(cpu: usize, facts: &Facts) -> Option<(u32, u32)> {
    let place = facts.places.iter().find(|place| usize::try_from(place.cpu) == Ok(cpu))?;
    Some((place.node, place.core))
}

/// Multiplications that keep the port of the multiplier busy, and where they must stand.
struct Products {
    state: [u64; 8],
    pieces: u64,
}

impl Products {
    fn new() -> Self {
        Self { state: Self::at(0), pieces: 0 }
    }

    /// Where the chains stand after so many pieces.
    fn at(pieces: u64) -> [u64; 8] {
        let product = power(FACTOR, PRODUCTS_OF_A_CHAIN * pieces);
        [1_u64, 3, 5, 7, 9, 11, 13, 15].map(|start| start.wrapping_mul(product))
    }

    fn is_right(&self) -> bool {
        self.state == Self::at(self.pieces)
    }

    /// Works from `begin` to `end` and counts the pieces that ended within.
    fn work(&mut self, begin: u64, end: u64) -> u64 {
        sleep_until(begin - AWAKE_NS);
        while now_ns() < begin {
            std::hint::spin_loop();
        }
        let mut done = 0;
        loop {
            multiply(&mut self.state, &[FACTOR; CONSTANTS], PASSES);
            self.pieces += 1;
            if now_ns() > end {
                return done;
            }
            done += 1;
        }
    }
}

#[cfg(target_arch = "x86_64")]
use super::integer_loops::mul_independent as multiply;

/// Never called: the workload refuses to start.
#[cfg(not(target_arch = "x86_64"))]
fn multiply(_: &mut [u64], _: &[u64; CONSTANTS], _: u64) {}

/// What the helper did in a window.
struct WindowResult {
    pieces: u64,
    right: bool,
}

/// The thread on the second CPU. Both channels have room for one message, allocated once.
struct Helper {
    /// Beginning and end of a window; none once it is to end.
    orders: Option<SyncSender<[u64; 2]>>,
    done: Receiver<WindowResult>,
    thread: Option<JoinHandle<()>>,
}

impl Helper {
    fn start(cpu: usize) -> Result<Self, StartError> {
        let (orders, received) = sync_channel::<[u64; 2]>(1);
        let (answer, done) = sync_channel(1);
        let (pinned, placed) = sync_channel(1);
        let builder = Builder::new().name("second-cpu".into());
        let thread = builder.spawn(move || {
            let place = CpuSet::only(cpu).apply();
            let is_placed = place.is_ok();
            // Answered at once, so that a refusal is an error of the start and not of the first window.
            drop(pinned.send(place));
            let mut products = Products::new();
            while let (true, Ok([begin, end])) = (is_placed, received.recv()) {
                let pieces = products.work(begin, end);
                if answer.send(WindowResult { pieces, right: products.is_right() }).is_err() {
                    return;
                }
            }
        });
        let thread = thread.map_err(|error| {
            StartError::unsupported(
                format!("a second thread could not be created: {error}"),
                "raise `ulimit -u` and the cgroup's pids.max",
            )
        })?;
        let helper = Self { orders: Some(orders), done, thread: Some(thread) };
        placed.recv().map_err(|_| Self::gone())??;
        Ok(helper)
    }

    fn gone() -> Failure {
        Failure("cpu.share: the thread on the second CPU has ended".into())
    }

    fn order(&self, begin: u64) -> Result<(), Failure> {
        let orders = self.orders.as_ref().ok_or_else(Self::gone)?;
        orders.send([begin, begin + WINDOW_NS]).map_err(|_| Self::gone())
    }

    fn wait(&self) -> Result<WindowResult, Failure> {
        self.done.recv().map_err(|_| Self::gone())
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // Without a sender the thread's loop ends.
        self.orders = None;
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Who works in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WindowCpus {
    First,
    Second,
    Both,
}

/// Windows in turn, and what was done in those of the sample under way.
struct Windows {
    helper: Helper,
    own: Products,
    /// Rounds of three windows so far: each begins with another.
    rounds: usize,
    alone: [u64; 2],
    together: [u64; 2],
    windows: u64,
    right: bool,
    _own_place: TasksInTurn,
}

impl Windows {
    fn round(&mut self) -> Result<(), Failure> {
        let mut order = [WindowCpus::First, WindowCpus::Second, WindowCpus::Both];
        // Each kind of window is first, second and third equally often: a drift of the frequency cancels.
        order.rotate_left(self.rounds % 3);
        for cpus in order {
            self.window(cpus)?;
        }
        self.rounds += 1;
        self.windows += 1;
        Ok(())
    }

    fn window(&mut self, cpus: WindowCpus) -> Result<(), Failure> {
        let begin = now_ns() + LEAD_NS;
        if cpus != WindowCpus::First {
            self.helper.order(begin)?;
        }
        let first =
            if cpus == WindowCpus::Second { 0 } else { self.own.work(begin, begin + WINDOW_NS) };
        let second = if cpus == WindowCpus::First { 0 } else { self.waited_for()? };
        let into = if cpus == WindowCpus::Both { &mut self.together } else { &mut self.alone };
        into[0] += first;
        into[1] += second;
        Ok(())
    }

    fn waited_for(&mut self) -> Result<u64, Failure> {
        let done = self.helper.wait()?;
        self.right &= done.right;
        Ok(done.pieces)
    }
}

impl Instance for Windows {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        (self.alone, self.together, self.windows) = ([0; 2], [0; 2], 0);
        (0..iterations).try_for_each(|_| self.round())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        if self.right && self.own.is_right() {
            return Ok(());
        }
        Err(Failure("cpu.share: a chain of multiplications has a wrong result".into()))
    }

    fn value_names(&self) -> &'static [&'static str] {
        &NAMES
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of a sample stay far below 2^53")]
    fn values(&mut self, out: &mut [f64]) {
        let Self { alone, together, .. } = *self;
        let seconds = (self.windows.max(1) * WINDOW_NS) as f64 / 1e9;
        let values = [
            kept(together.iter().sum(), alone.iter().sum()),
            kept(together[0], alone[0]),
            kept(together[1], alone[1]),
            (alone[0] * PRODUCTS) as f64 / seconds,
            (alone[1] * PRODUCTS) as f64 / seconds,
        ];
        out.copy_from_slice(&values);
    }
}

/// The share of its speed that a CPU kept; one that did nothing alone counts as one piece, so that it stays finite.
#[expect(clippy::cast_precision_loss, reason = "counts of a sample stay far below 2^53")]
fn kept(together: u64, alone: u64) -> f64 {
    together as f64 / alone.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::{Products, in_words, now_ns, pair};
    use plumb_model::{CpuPlace, Facts};
    use plumb_protocol::StartError;

    #[test]
    fn products_are_counted_within_the_window_and_checked() {
        let mut products = Products::new();
        let begin = now_ns() + 300_000;
        let done = products.work(begin, begin + 2_000_000);
        assert!(now_ns() >= begin + 2_000_000);
        assert_eq!(products.pieces, done + 1);
        assert!(products.is_right());
        products.state[7] ^= 1 << 40;
        assert!(!products.is_right());
    }

    #[test]
    fn pairs_are_two_cpus_that_may_be_used() {
        let facts = Facts { cpus: vec![1, 3, 4], ..Facts::default() };
        assert_eq!(pair("first", &facts).unwrap(), [1, 3]);
        assert_eq!(pair("4-1", &facts).unwrap(), [4, 1]);
        assert_eq!(pair("3-3", &facts).unwrap(), [3, 3]);
        let Err(StartError::Unsupported { why, fix }) = pair("1-2", &facts) else { panic!() };
        assert!(why.ends_with("CPU 2") && fix.ends_with("1, 3, 4"), "{why}; {fix}");
        let Err(StartError::Failed(why)) = pair("both", &facts) else { panic!() };
        assert!(why.contains("pair=0-1"), "{why}");
        let one = Facts { cpus: vec![0], ..Facts::default() };
        assert!(matches!(pair("first", &one), Err(StartError::Unsupported { .. })));
    }

    #[test]
    fn notes_say_what_the_kernel_reports() {
        let place = |cpu, core| CpuPlace { cpu, core, node: 0 };
        let places = vec![place(0, 0), place(1, 0), place(2, 2)];
        let facts = Facts { places, ..Facts::default() };
        assert_eq!(in_words([0, 1], &facts), "CPUs 0 and 1; the kernel reports one core");
        assert_eq!(in_words([0, 2], &facts), "CPUs 0 and 2; the kernel reports two cores");
        assert!(in_words([0, 9], &facts).contains("does not report"));
        assert!(in_words([2, 2], &facts).contains("each gets half"));
    }
}
