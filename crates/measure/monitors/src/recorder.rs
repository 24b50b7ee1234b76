//! Reads monitors from its own threads, next to one invocation after the other.
//!
//! One thread reads what is quick, a second one what may take long. Each waits for orders between
//! invocations and reads nothing then. At the beginning and at the end of an invocation every monitor is
//! read once, whatever its rate, so that short invocations have differences too; in between each is read
//! at its own pace. The quick thread has read everything before `begin` returns, so that no first
//! reading falls into a timed batch; the slow one is not waited for, and is a gap if it can't keep up.
//!
//! The threads are kept on the last CPU that plumb may use: a workload of one thread has the others.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use plumb_machine::{Root, now};
use plumb_model::{Gap, Readings};
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use crate::counter_buffer::CounterBuffer;
use crate::monitor::CounterSource;
use crate::wanted::PacedMonitor;

/// The slow thread may take this long over the end of an invocation.
const SLOW_TIMEOUT: Duration = Duration::from_millis(50);
/// The quick thread never takes this long, unless the machine stands still.
const QUICK_TIMEOUT: Duration = Duration::from_secs(10);
/// A long time without anything to do.
const IDLE: Duration = Duration::from_secs(3600);

/// The cost of reading a monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonitorCost {
    /// Name of the monitor.
    pub monitor: &'static str,
    /// How often it was read.
    pub reads: u64,
    /// CPU time of the thread that read it, in nanoseconds.
    pub cpu_ns: u64,
}

/// The threads that read.
#[derive(Debug)]
pub struct MonitorThreads {
    quick: Option<ReaderThread>,
    slow: Option<ReaderThread>,
    unsupported: Vec<Gap>,
}

impl MonitorThreads {
    /// Opens these monitors; those that this machine does not have are left out.
    #[must_use]
    pub fn start(root: &Root, wanted: &[PacedMonitor]) -> Self {
        let mut quick = Vec::new();
        let mut slow = Vec::new();
        let mut unsupported = Vec::new();
        for &PacedMonitor { monitor, hz } in wanted {
            match (monitor.open)(root) {
                Ok(source) => {
                    // Slow monitors have their own thread: they would delay the readings of the others.
                    let list = if monitor.slow { &mut slow } else { &mut quick };
                    list.push(Watched::new(monitor.name, hz, source));
                }
                Err(why) => unsupported.push(Gap { monitor: monitor.name.to_owned(), why }),
            }
        }
        let mut recorder = Self { quick: None, slow: None, unsupported };
        recorder.quick = recorder.reader("plumb-monitors", quick);
        recorder.slow = recorder.reader("plumb-slow", slow);
        recorder
    }

    fn reader(&mut self, name: &str, watched: Vec<Watched>) -> Option<ReaderThread> {
        if watched.is_empty() {
            return None;
        }
        let names: Vec<_> = watched.iter().map(|watched| watched.monitor.to_owned()).collect();
        let reader = ReaderThread::start(name, watched);
        if let Err(why) = &reader {
            for monitor in names {
                let why = format!("can't start a thread: {why}");
                self.unsupported.push(Gap { monitor, why });
            }
        }
        reader.ok()
    }

    /// The monitors that this machine does not have, and why.
    #[must_use]
    pub fn unsupported(&self) -> &[Gap] {
        &self.unsupported
    }

    /// An invocation begins; the process that is measured, if it is known.
    pub fn begin(&mut self, worker: Option<u32>) {
        // The slow one first: it works while the quick one is waited for.
        for reader in [&mut self.slow, &mut self.quick].into_iter().flatten() {
            reader.order(ReaderOrder::Begin(worker));
        }
        if let Some(quick) = &mut self.quick {
            quick.answer(QUICK_TIMEOUT);
        }
    }

    /// Its samples are taken: all that was read next to it.
    pub fn end(&mut self) -> Readings {
        // Both get the order before either is waited for, so that they read at the same time.
        for reader in [&mut self.slow, &mut self.quick].into_iter().flatten() {
            reader.order(ReaderOrder::End);
        }
        let mut all = Readings::default();
        for (reader, timeout) in [(&mut self.quick, QUICK_TIMEOUT), (&mut self.slow, SLOW_TIMEOUT)]
        {
            let Some(reader) = reader else { continue };
            match reader.answer(timeout) {
                Some(readings) => {
                    all.traces.extend(readings.traces);
                    all.lines.extend(readings.lines);
                    all.gaps.extend(readings.gaps);
                }
                None => all.gaps.push(Gap {
                    monitor: reader.names.join(", "),
                    why: format!("still reading after {} ms", timeout.as_millis()),
                }),
            }
        }
        all
    }

    /// Ends the threads: what each monitor has cost.
    #[must_use]
    pub fn finish(mut self) -> Vec<MonitorCost> {
        let readers = [self.quick.take(), self.slow.take()];
        readers.into_iter().flatten().flat_map(ReaderThread::finish).collect()
    }
}

/// An order to a thread.
enum ReaderOrder {
    Begin(Option<u32>),
    End,
}

/// A thread that reads, seen from outside. Answers carry the number of their order, so that one that
/// came too late is not taken for the next.
#[derive(Debug)]
struct ReaderThread {
    names: Vec<&'static str>,
    orders: Sender<(u64, ReaderOrder)>,
    answers: Receiver<(u64, Readings)>,
    thread: JoinHandle<Vec<MonitorCost>>,
    last: u64,
}

impl ReaderThread {
    fn start(name: &str, watched: Vec<Watched>) -> std::io::Result<Self> {
        let names = watched.iter().map(|watched| watched.monitor).collect();
        let (orders, taken) = channel();
        let (given, answers) = channel();
        let builder = std::thread::Builder::new().name(name.to_owned());
        let thread = builder.spawn(move || {
            stand_aside();
            ReaderLoop { watched, orders: taken, answers: given, failed: Vec::new() }.run()
        })?;
        Ok(Self { names, orders, answers, thread, last: 0 })
    }

    fn order(&mut self, order: ReaderOrder) {
        self.last += 1;
        // A thread that is gone gives no answer, which is a gap.
        let _ = self.orders.send((self.last, order));
    }

    /// The answer to the last order.
    fn answer(&mut self, timeout: Duration) -> Option<Readings> {
        let until_ns = now().monotonic_ns + u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        loop {
            let left = Duration::from_nanos(until_ns.saturating_sub(now().monotonic_ns));
            let (number, readings) = self.answers.recv_timeout(left).ok()?;
            // An answer that came too late belongs to an earlier order.
            if number == self.last {
                return Some(readings);
            }
        }
    }

    fn finish(self) -> Vec<MonitorCost> {
        drop(self.orders);
        self.thread.join().unwrap_or_default()
    }
}

/// Keeps this thread off the CPUs that a workload uses, as far as there is another one.
fn stand_aside() {
    let tid = gettid();
    let Ok(allowed) = sched_getaffinity(Some(tid)) else { return };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    match cpus.as_slice() {
        [] => {}
        // Late readings are better than taking time from the workload.
        [_] => drop(setpriority_process(Some(tid), 19)),
        [.., last] => {
            let mut only = CpuSet::new();
            only.set(*last);
            let _ = sched_setaffinity(Some(tid), &only);
        }
    }
}

/// An opened monitor with its pace.
struct Watched {
    monitor: &'static str,
    source: Box<dyn CounterSource>,
    buffer: CounterBuffer,
    every_ns: u64,
    due_ns: u64,
    reads: u64,
    cpu_ns: u64,
}

impl Watched {
    fn new(monitor: &'static str, hz: f64, source: Box<dyn CounterSource>) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0.1 to 100 Hz"
        )]
        let every_ns = (1e9 / hz) as u64;
        let buffer = CounterBuffer::new(monitor);
        Self { monitor, source, buffer, every_ns, due_ns: 0, reads: 0, cpu_ns: 0 }
    }

    fn read(&mut self) -> Result<(), String> {
        let began_ns = thread_cpu_ns();
        let at_ns = now().monotonic_ns;
        self.buffer.turn(at_ns);
        let read = self.source.read(&mut self.buffer);
        // Counted from this reading: after a stall there is no burst of readings to catch up.
        self.due_ns = at_ns + self.every_ns;
        self.reads += 1;
        self.cpu_ns += thread_cpu_ns().saturating_sub(began_ns);
        read
    }
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

/// The loop of a thread.
struct ReaderLoop {
    watched: Vec<Watched>,
    orders: Receiver<(u64, ReaderOrder)>,
    answers: Sender<(u64, Readings)>,
    /// The monitors that failed since the invocation began.
    failed: Vec<Gap>,
}

impl ReaderLoop {
    fn run(mut self) -> Vec<MonitorCost> {
        let mut under_way = false;
        loop {
            let pause = if under_way { self.until_due() } else { IDLE };
            match self.orders.recv_timeout(pause) {
                Ok((number, ReaderOrder::Begin(worker))) => {
                    self.begin(worker);
                    under_way = true;
                    let _ = self.answers.send((number, Readings::default()));
                }
                Ok((number, ReaderOrder::End)) => {
                    let readings = self.end();
                    let _ = self.answers.send((number, readings));
                    under_way = false;
                }
                Err(RecvTimeoutError::Timeout) if under_way => self.read_due(now().monotonic_ns),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.watched
            .into_iter()
            .map(|watched| MonitorCost {
                monitor: watched.monitor,
                reads: watched.reads,
                cpu_ns: watched.cpu_ns,
            })
            .collect()
    }

    fn until_due(&self) -> Duration {
        let due = self.watched.iter().map(|watched| watched.due_ns).min().unwrap_or(0);
        Duration::from_nanos(due.saturating_sub(now().monotonic_ns))
    }

    fn begin(&mut self, worker: Option<u32>) {
        self.failed.clear();
        for index in 0..self.watched.len() {
            let watched = &mut self.watched[index];
            // What was read before the invocation is not its own.
            watched.buffer.finish();
            let attached = watched.source.attach(worker);
            self.note(index, attached);
        }
        // All of them, due or not: a counter says something only as a difference to its value before the work.
        self.read_due(u64::MAX);
    }

    /// Reads what is due at a moment; nothing that has failed next to this invocation is tried again.
    fn read_due(&mut self, at_ns: u64) {
        for index in 0..self.watched.len() {
            let it = &mut self.watched[index];
            if it.due_ns > at_ns {
                continue;
            }
            if self.failed.iter().any(|gap| gap.monitor == it.monitor) {
                // Its time moves on all the same: with a time in the past this thread would spin.
                it.due_ns = now().monotonic_ns + it.every_ns;
                continue;
            }
            let read = it.read();
            self.note(index, read);
        }
    }

    fn note(&mut self, index: usize, result: Result<(), String>) {
        if let Err(why) = result {
            self.failed.push(Gap { monitor: self.watched[index].monitor.to_owned(), why });
        }
    }

    fn end(&mut self) -> Readings {
        self.read_due(u64::MAX);
        let mut readings =
            Readings { gaps: std::mem::take(&mut self.failed), ..Readings::default() };
        for it in &mut self.watched {
            let (traces, lines) = it.buffer.finish();
            readings.traces.extend(traces);
            readings.lines.extend(lines);
        }
        readings
    }
}

#[cfg(test)]
mod tests {
    use super::{MonitorThreads, thread_cpu_ns};
    use crate::counter_buffer::{CounterBuffer, CounterField};
    use crate::monitor::{CounterSource, Monitor};
    use crate::monitors::find;
    use crate::wanted::{PacedMonitor, wanted};
    use plumb_machine::Root;
    use std::time::Duration;

    #[test]
    fn what_happens_beside_an_invocation_is_read_and_what_happened_before_is_not() {
        let only = wanted(&["none".into(), "stat".into(), "worker=100".into(), "tree".into()]);
        let mut recorder = MonitorThreads::start(&Root::default(), &only.unwrap());
        for _ in 0..2 {
            recorder.begin(Some(std::process::id()));
            let mut x = 0_u64;
            // Time on the CPU: how long that takes depends on what else runs.
            let began_ns = thread_cpu_ns();
            while thread_cpu_ns() - began_ns < 100_000_000 {
                x = std::hint::black_box(x.wrapping_add(1));
            }
            let readings = recorder.end();
            let user = readings.amount("worker.user") + readings.amount("worker.system");
            assert!((5..200).contains(&user), "{user} ticks in 100 ms: {readings:?}");
            let trace = readings.trace("stat.user").unwrap();
            assert!(trace.duration_ns() >= 100_000_000, "{}", trace.duration_ns());
            assert!(readings.trace("worker.threads").unwrap().readings.len() > 3);
        }
        let costs = recorder.finish();
        assert!(costs.iter().all(|cost| cost.reads >= 4 && cost.cpu_ns > 0), "{costs:?}");
    }

    /// Counts its readings, and fails or dawdles as its name says.
    struct Strange {
        reads: u64,
        fails: bool,
    }

    impl CounterSource for Strange {
        fn read(&mut self, buffer: &mut CounterBuffer) -> Result<(), String> {
            self.reads += 1;
            buffer.put(CounterField::counter("reads", ""), self.reads);
            if !self.fails {
                std::thread::sleep(Duration::from_millis(400));
            }
            if self.fails && self.reads > 1 { Err("it broke".into()) } else { Ok(()) }
        }
    }

    const BROKEN: Monitor = Monitor {
        name: "broken",
        summary: "",
        manual: "",
        default_hz: None,
        slow: false,
        parsers: &[],
        open: |_| Ok(Box::new(Strange { reads: 0, fails: true })),
    };
    const SLOW: Monitor = Monitor {
        name: "slow",
        slow: true,
        open: |_| Ok(Box::new(Strange { reads: 0, fails: false })),
        ..BROKEN
    };
    const ABSENT: Monitor =
        Monitor { name: "absent", open: |_| Err("no such thing here".into()), ..BROKEN };

    #[test]
    fn one_that_fails_is_a_gap_and_one_that_is_slow_holds_nobody_up() {
        let monitors: [&'static Monitor; 4] = [&BROKEN, &SLOW, &ABSENT, find("stat").unwrap()];
        let wanted = monitors.map(|monitor| PacedMonitor { monitor, hz: 10.0 });
        let mut recorder = MonitorThreads::start(&Root::default(), &wanted);
        assert_eq!(recorder.unsupported().len(), 1);
        let began = std::time::Instant::now();
        recorder.begin(None);
        let readings = recorder.end();
        assert!(began.elapsed() < Duration::from_millis(350), "{:?}", began.elapsed());
        let gaps: Vec<_> = readings.gaps.iter().map(|gap| gap.monitor.as_str()).collect();
        assert_eq!(gaps, ["broken", "slow"]);
        assert!(readings.trace("stat.procs_running").is_some());
    }
}
