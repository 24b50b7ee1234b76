//! `scheduler.wakeup`: a thread wakes workers at a fixed rate, whatever became of earlier wake-ups.
//!
//! The messenger is the caller's thread. It and the workers know when each wake-up was due, was sent and was seen from
//! a table with a row a wake-up: the messenger writes the first two, the worker the third. A worker takes its wake-ups
//! in order; a count a worker says how many were sent to it.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::thread::{self, JoinHandle, Thread};

use plumb_model::{
    AuditClass, Better, Description, Flag, FlagKind, Parameter, ParameterType, Ready,
};
use plumb_protocol::{
    ArrivalSchedule, Arrivals, BOUND_SHARE, Batch, Distribution, Failure, Instance, Start,
    StartError, StartedWorkload, Workload, current_cpu, now_ns,
};
use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare::{
    between, choice, distribution, integer, reported_share, workload,
};
use plumb_workload_kit::limits::room_for_tasks;
use plumb_workload_kit::placement::{Placement, in_words, placement};
use rustix::thread::{current_timer_slack, set_current_timer_slack};

use crate::counters::{self, TaskCounters};
use crate::latency::{self, percentiles};
use plumb_workload_kit::sleep::sleep_until;

/// The workload `scheduler.wakeup`: its parameters and metrics, and how it starts.
pub(crate) struct Wakeup;

/// Names of what every sample reports, in the order of the metrics.
const VALUE_NAMES: [&str; 6] = [
    latency::NAMES[0],
    latency::NAMES[1],
    latency::NAMES[2],
    "in_time",
    counters::NAMES[0],
    counters::NAMES[1],
];

/// Size of a worker's stack.
const STACK_BYTES: usize = 64 << 10;

impl Workload for Wakeup {
    fn describe(&self) -> Description {
        let mut metrics = latency::metrics("delay from a wake-up's due time until the worker runs");
        metrics.push(reported_share(
            "in_time",
            Better::Higher,
            "share of wake-ups sent within 100 µs of their due time",
        ));
        metrics.extend(counters::metrics("wake-up"));
        metrics.push(distribution("latency", "the same for each wake-up"));
        metrics
            .push(distribution("wakeup", "time from the call that wakes a worker until it runs"));
        let workers = between(1, 10_000, integer("workers", "threads", 1, "threads woken in turn"));
        let rate = between(
            1,
            1_000_000,
            integer("rate", "wake-ups", 1000, "wake-ups due per second, all workers together"),
        );
        Description {
            parameters: vec![
                Parameter { kind: ParameterType::Threads, ..workers },
                Parameter { kind: ParameterType::Rate, ..rate },
                choice("arrivals", &["fixed", "poisson"], "due times: equally spaced, or random"),
                placement(),
            ],
            metrics,
            audit_class: Some(AuditClass::Scheduler),
            ..workload(
                "scheduler.wakeup",
                "how late workers run when a thread wakes them at a fixed rate",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("wakeup.md")
    }

    #[expect(clippy::cast_precision_loss, reason = "rates are far below 2^53")]
    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let workers = start.size("workers");
        let rate = start.size("rate");
        let schedule = ArrivalSchedule::new(arrivals(start), rate as f64, start.seed)?;
        let placed = Placement::of(start)?.cpus(workers + 1, &start.facts)?;
        room_for_tasks(workers as u64)?;
        let note = placed.as_deref().map_or_else(|| "not pinned".into(), in_words);
        let before = CpuSet::current()?;
        let crew = WokenThreads::start(workers, placed.as_deref())?;
        if let Some(cpus) = &placed {
            CpuSet::only(cpus[0]).apply()?;
        }
        let counters = TaskCounters::of(&[]);
        let mut ready = Ready::default();
        ready.notes.push(format!("messenger and {workers} workers {note}"));
        counters.describe(&mut ready);
        let wakeups = Wakeups {
            crew,
            schedule,
            sent: 0,
            latency: ["latency", "wakeup"].map(Distribution::of),
            names: counters.names(&VALUE_NAMES),
            counters,
            before,
        };
        Ok(StartedWorkload { instance: Box::new(wakeups), ready })
    }
}

/// How wake-ups are due, from the parameter `arrivals`.
fn arrivals(start: &Start) -> Arrivals {
    match start.text("arrivals") {
        "poisson" => Arrivals::Poisson,
        _ => Arrivals::Fixed,
    }
}

/// One wake-up: when it was due, was sent, and was seen by its worker; 0 for not yet.
#[derive(Default)]
struct WakeupTimes {
    due_ns: AtomicU64,
    sent_ns: AtomicU64,
    ran_ns: AtomicU64,
}

impl WakeupTimes {
    /// From when it was due, and from when it was sent.
    fn latencies(&self) -> Result<[u64; 2], Failure> {
        let [due, sent, ran] =
            [&self.due_ns, &self.sent_ns, &self.ran_ns].map(|time| time.load(Ordering::Relaxed));
        if due == 0 || sent < due || ran < sent {
            return Err(Failure(format!(
                "a wake-up was due at {due} ns, sent at {sent} ns and seen at {ran} ns"
            )));
        }
        Ok([ran - due, ran - sent])
    }
}

/// What messenger and workers share.
struct WakeupBoard {
    /// Wake-up number n has row n modulo their number, and goes to worker n modulo theirs.
    rows: RwLock<Vec<WakeupTimes>>,
    /// How many were sent to each worker.
    sent: Vec<AtomicU64>,
    /// How many were seen by all.
    seen: AtomicU64,
    /// The messenger waits until so many are.
    awaited: AtomicU64,
    messenger: Mutex<Thread>,
    ended: AtomicBool,
}

impl WakeupBoard {
    fn rows(&self) -> RwLockReadGuard<'_, Vec<WakeupTimes>> {
        self.rows.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn row<'r>(&self, rows: &'r [WakeupTimes], number: u64) -> &'r WakeupTimes {
        &rows[usize::try_from(number % rows.len() as u64).unwrap_or(0)]
    }

    /// A worker's whole life.
    fn serve(&self, index: usize) {
        let workers = self.sent.len() as u64;
        let mut taken = 0;
        loop {
            while self.sent[index].load(Ordering::Acquire) == taken {
                if self.ended.load(Ordering::Acquire) {
                    return;
                }
                thread::park();
            }
            // First of all: what follows is not part of the latency.
            let now = now_ns();
            let number = taken * workers + index as u64;
            self.row(&self.rows(), number).ran_ns.store(now, Ordering::Relaxed);
            taken += 1;
            // Sequentially consistent on both sides: either this worker sees what is awaited, or the messenger sees
            // that all were seen. With weaker orders both could miss it, and the messenger would sleep for ever.
            let seen = self.seen.fetch_add(1, Ordering::SeqCst) + 1;
            if seen >= self.awaited.load(Ordering::SeqCst) {
                self.messenger.lock().unwrap_or_else(PoisonError::into_inner).unpark();
            }
        }
    }
}

/// The workers, waiting.
struct WokenThreads {
    shared: Arc<WakeupBoard>,
    threads: Vec<JoinHandle<()>>,
}

impl WokenThreads {
    fn start(workers: usize, cpus: Option<&[usize]>) -> Result<Self, Failure> {
        let shared = Arc::new(WakeupBoard {
            rows: RwLock::default(),
            sent: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            seen: AtomicU64::new(0),
            awaited: AtomicU64::new(u64::MAX),
            messenger: Mutex::new(thread::current()),
            ended: AtomicBool::new(false),
        });
        let mut crew = Self { shared, threads: Vec::with_capacity(workers) };
        for index in 0..workers {
            let shared = Arc::clone(&crew.shared);
            // The first CPU is the messenger's.
            let set = cpus.map(|cpus| CpuSet::only(cpus[index + 1]));
            let builder =
                thread::Builder::new().name(format!("worker-{index}")).stack_size(STACK_BYTES);
            let why = "starting a thread (raise `ulimit -u` or pids.max)";
            let thread = builder.spawn(move || {
                // If that is refused, the messenger's own placement is refused as well.
                let _ = set.map(|set| set.apply());
                shared.serve(index);
            });
            crew.threads.push(thread.map_err(|error| Failure::io(why, &error))?);
        }
        Ok(crew)
    }
}

impl Drop for WokenThreads {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            thread.thread().unpark();
            drop(thread.join());
        }
    }
}

/// The messenger's sleeps end when they are to, not up to 50 µs later as the kernel allows itself for ordinary threads.
struct NoTimerSlack(Option<NonZeroU64>);

impl NoTimerSlack {
    fn new() -> Self {
        let usual = current_timer_slack().ok().and_then(NonZeroU64::new);
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        Self(usual)
    }
}

impl Drop for NoTimerSlack {
    fn drop(&mut self) {
        let _ = set_current_timer_slack(self.0);
    }
}

struct Wakeups {
    crew: WokenThreads,
    schedule: ArrivalSchedule,
    /// Wake-ups so far, of all samples.
    sent: u64,
    latency: [Distribution; 2],
    counters: TaskCounters,
    names: &'static [&'static str],
    before: CpuSet,
}

impl Wakeups {
    fn make_room(&self, most: u64) {
        let shared = &self.crew.shared;
        let most = usize::try_from(most).unwrap_or(0).max(1);
        let mut rows = shared.rows.write().unwrap_or_else(PoisonError::into_inner);
        rows.resize_with(most, WakeupTimes::default);
        *shared.messenger.lock().unwrap_or_else(PoisonError::into_inner) = thread::current();
    }

    /// Puts the latencies of the last `k` wake-ups where they belong.
    fn collect(&mut self, k: u64) -> Result<(), Failure> {
        let shared = &self.crew.shared;
        let rows = shared.rows();
        for number in self.sent - k..self.sent {
            let latencies = shared.row(&rows, number).latencies()?;
            for (distribution, latency) in self.latency.iter_mut().zip(latencies) {
                distribution.record(latency);
            }
        }
        self.latency.iter_mut().for_each(Distribution::end_sample);
        Ok(())
    }
}

impl Instance for Wakeups {
    /// Sends wake-ups when they are due, and waits until all were seen.
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let shared = &self.crew.shared;
        let rows = shared.rows();
        let workers = self.crew.threads.len() as u64;
        shared.awaited.store(u64::MAX, Ordering::SeqCst);
        for number in self.sent..self.sent + iterations {
            let worker = usize::try_from(number % workers).unwrap_or(0);
            let row = shared.row(&rows, number);
            row.ran_ns.store(0, Ordering::Relaxed);
            sleep_until(self.schedule.due_ns());
            let now = now_ns();
            row.due_ns.store(self.schedule.sent(now), Ordering::Relaxed);
            row.sent_ns.store(now, Ordering::Relaxed);
            shared.sent[worker].fetch_add(1, Ordering::Release);
            self.crew.threads[worker].thread().unpark();
        }
        self.sent += iterations;
        shared.awaited.store(self.sent, Ordering::SeqCst);
        while shared.seen.load(Ordering::SeqCst) < self.sent {
            thread::park();
        }
        Ok(())
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.names
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latency
    }

    /// One schedule for the whole batch: a stall delays what is due after it, in later samples, too.
    #[expect(clippy::cast_precision_loss, reason = "counts of one sample stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.make_room(iterations.iter().copied().max().unwrap_or(0));
        let _punctual = NoTimerSlack::new();
        self.counters.begin();
        self.schedule.begin(now_ns());
        for (index, &k) in iterations.iter().enumerate() {
            let start_ns = now_ns();
            self.run(k)?;
            let elapsed_ns = now_ns() - start_ns;
            batch.record(start_ns, elapsed_ns, k, current_cpu());
            let (counted, told) = self.counters.since(k as f64);
            self.collect(k)?;
            batch.record_values(&percentiles(self.latency[0].sample(index)));
            batch.record_values(&[self.schedule.share_in_time()]);
            batch.record_values(&counted[..told]);
        }
        let in_time = self.schedule.share_in_time();
        if in_time < BOUND_SHARE {
            let why = format!(
                "{:.0} % of the wake-ups were sent over 100 µs after they were due: latencies include timer delays",
                (1.0 - in_time) * 100.0
            );
            batch.flag(Flag::new(FlagKind::ClientBound, why));
        }
        Ok(())
    }
}

impl Drop for Wakeups {
    fn drop(&mut self) {
        let _ = self.before.apply();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::WakeupTimes;

    #[test]
    fn a_wake_up_that_nobody_saw_is_found() {
        let row = WakeupTimes::default();
        row.due_ns.store(5, Ordering::Relaxed);
        row.sent_ns.store(7, Ordering::Relaxed);
        let failure = row.latencies().unwrap_err().0;
        assert_eq!(failure, "a wake-up was due at 5 ns, sent at 7 ns and seen at 0 ns");
        row.ran_ns.store(10, Ordering::Relaxed);
        assert_eq!(row.latencies().unwrap(), [5, 3]);
    }
}
