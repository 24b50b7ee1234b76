//! Threads that each do one thing after the other and time it, in parts. They draw tickets from one counter until a sample is
//! done, so that none waits for the slowest.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plumb_model::{Flag, FlagKind};
use plumb_protocol::{
    ArrivalSchedule, BOUND_SHARE, Batch, Distribution, Failure, Instance, Start, StartError,
    current_cpu, is_in_time, now_ns,
};
use plumb_workload_kit::sleep::sleep_until;
use plumb_workload_kit::threads::{Member, Team};
use plumb_workload_path as path;
use rustix::thread::set_current_timer_slack;

use crate::cpu_time::{self, CpuTimes};
use crate::generator_busy::generator_busy;
use crate::token;

/// What a thread does repeatedly.
pub trait ThreadJob<const N: usize>: Send + 'static {
    /// Does it once.
    ///
    /// # Errors
    /// If it failed; the invocation then fails.
    fn once(&mut self) -> Result<TimedResult<N>, Failure>;
}

/// What a job did once, in `N` numbers.
#[derive(Debug, Clone, Copy)]
pub struct TimedResult<const N: usize> {
    /// When it ended. What the job checks afterwards is not part of its latency.
    pub ended_ns: u64,
    /// The time of the whole in nanoseconds, then parts of it and amounts.
    pub numbers: [u64; N],
}

/// The fewest of a sample in which a kind may be one in twenty.
const OF_KINDS: u64 = 200;
/// The fewest of a sample for each thread.
const SHARES: u64 = 8;

/// What the threads share.
#[derive(Debug, Default)]
struct TimedThreadsState {
    /// Of the sample that were begun, and one more for each thread that found none left.
    begun: AtomicU64,
    /// Whether the threads only make room.
    makes_room: AtomicBool,
    /// When each is due; unset in a closed loop.
    schedule: OnceLock<Mutex<ArrivalSchedule>>,
    /// Of the sample that were begun in time.
    in_time: AtomicU64,
}

impl TimedThreadsState {
    /// Sleeps until the next one is due, and gives that moment; none in a closed loop.
    fn wait_until_due(&self) -> Option<u64> {
        let schedule = self.schedule.get()?;
        let due_ns = schedule.lock().unwrap_or_else(PoisonError::into_inner).take();
        sleep_until(due_ns);
        self.in_time.fetch_add(u64::from(is_in_time(due_ns, now_ns())), Ordering::Relaxed);
        Some(due_ns)
    }
}

/// A thread with its job.
struct TimedThread<J, const N: usize> {
    job: J,
    shared: Arc<TimedThreadsState>,
    /// Of the last sample.
    done: Vec<[u64; N]>,
}

impl<J: ThreadJob<N>, const N: usize> Member for TimedThread<J, N> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.done.clear();
        if self.shared.makes_room.load(Ordering::Relaxed) {
            // Written to: memory that is only reserved would have its page faults within a sample.
            self.done.resize(usize::try_from(iterations).unwrap_or(0), [1; N]);
            return Ok(());
        }
        while self.shared.begun.fetch_add(1, Ordering::Relaxed) < iterations {
            let due_ns = self.shared.wait_until_due();
            let TimedResult { ended_ns, mut numbers } = self.job.once()?;
            if let Some(due_ns) = due_ns {
                numbers[0] = ended_ns.saturating_sub(due_ns);
            }
            self.done.push(numbers);
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// All that was done in a sample.
#[derive(Debug, Clone, Copy)]
pub struct SampleSums<const N: usize> {
    /// The sums of all numbers.
    pub sums: [f64; N],
    /// How many there are of each.
    pub count: f64,
    /// What the sample took, in nanoseconds.
    pub elapsed_ns: f64,
    /// The share that was begun within 100 µs of when it was due; 1 in a closed loop.
    pub in_time: f64,
}

/// Writes what is reported of a sample behind the CPU time of both ends into the values.
pub type SampleReport<const N: usize> = fn(&SampleSums<N>, &mut [f64]);

/// All threads, as an instance.
pub struct TimedThreads<J, const N: usize> {
    team: Team<TimedThread<J, N>>,
    threads: usize,
    shared: Arc<TimedThreadsState>,
    /// Of all, and then of those of each kind.
    latencies: Vec<Distribution>,
    kind_of: fn(&[u64; N]) -> usize,
    /// Whether the threads are clients of a server, and not what is measured themselves.
    has_server: bool,
    cpus: CpuTimes,
    names: &'static [&'static str],
    report: SampleReport<N>,
    start: Start,
    helpers: Vec<u32>,
}

impl<J: ThreadJob<N>, const N: usize> TimedThreads<J, N> {
    /// So many threads, each with a job; values of these names are reported, of which the first are those of
    /// [`cpu_time::NAMES`] that there are.
    ///
    /// # Errors
    /// When a thread can't be started.
    pub fn start(
        threads: usize,
        start: &Start,
        job: impl Fn() -> J + Send + Sync + 'static,
        cpus: CpuTimes,
        (names, report): (&'static [&'static str], SampleReport<N>),
    ) -> Result<Self, StartError> {
        let shared = Arc::new(TimedThreadsState::default());
        let of_all = Arc::clone(&shared);
        let build = move |_| {
            // By default the kernel may wake a sleeper 50 µs late. Refused, that stays as it is.
            let _ = set_current_timer_slack(NonZeroU64::new(1));
            Ok(TimedThread { job: job(), shared: Arc::clone(&of_all), done: Vec::new() })
        };
        Ok(Self {
            team: Team::start(threads, &start.facts, build)?,
            threads,
            shared,
            latencies: vec![Distribution::of("latency")],
            kind_of: |_| 0,
            has_server: true,
            cpus,
            names,
            report,
            start: start.clone(),
            helpers: token::helpers(start),
        })
    }

    /// The same as an open loop: each begins when it is due, and its whole counts from then.
    #[must_use]
    pub fn on_schedule(self, schedule: Option<ArrivalSchedule>) -> Self {
        if let Some(schedule) = schedule {
            // It was not set before.
            let _ = self.shared.schedule.set(Mutex::new(schedule));
        }
        self
    }

    /// The same with distributions for kinds of what is done, which `kind_of` tells by the index of their names.
    #[must_use]
    pub fn with_kinds(
        mut self,
        names: &'static [&'static str],
        kind_of: fn(&[u64; N]) -> usize,
    ) -> Self {
        self.latencies.extend(names.iter().map(|name| Distribution::of(name)));
        self.kind_of = kind_of;
        self
    }

    /// The same without a server, if what is measured works within these threads.
    #[must_use]
    pub fn without_server(self) -> Self {
        Self { has_server: false, ..self }
    }

    /// Begins the schedule of a batch.
    fn begin_schedule(&self) {
        if let Some(schedule) = self.shared.schedule.get() {
            schedule.lock().unwrap_or_else(PoisonError::into_inner).begin(now_ns());
        }
    }

    /// All that was done in the last sample, which took so long; the wholes go into the latency.
    #[expect(clippy::cast_precision_loss, reason = "times and amounts stay far below 2^53")]
    fn gather(&mut self, elapsed_ns: u64) -> SampleSums<N> {
        let mut sums = [0.0; N];
        let mut count = 0.0;
        let latencies = &mut self.latencies;
        let kind_of = self.kind_of;
        self.team.each(|worker| {
            for one in &worker.done {
                latencies[0].record(one[0]);
                if let Some(of_kind) = latencies.get_mut(1 + kind_of(one)) {
                    of_kind.record(one[0]);
                }
                sums.iter_mut().zip(one).for_each(|(sum, value)| *sum += *value as f64);
                count += 1.0;
            }
        });
        latencies.iter_mut().for_each(Distribution::end_sample);
        let is_open = self.shared.schedule.get().is_some();
        let begun_in_time = self.shared.in_time.load(Ordering::Relaxed) as f64;
        let in_time = if is_open && count > 0.0 { begun_in_time / count } else { 1.0 };
        SampleSums { sums, count, elapsed_ns: elapsed_ns as f64, in_time }
    }

    /// Says if the threads did not keep to the schedule.
    fn flag_late(&self, in_time: f64, batch: &mut Batch) {
        if in_time < BOUND_SHARE {
            let share = in_time * 100.0;
            let why = format!(
                "only {share:.0} % began within 100 µs of when they were due: the threads are too few for this rate"
            );
            batch.flag(Flag::new(FlagKind::ClientBound, why));
        }
    }

    /// Says if the clients of a closed loop, which used so much CPU time, were busy rather than waiting for a server.
    fn flag_busy(&self, cpu_s: f64, elapsed_s: f64, batch: &mut Batch) {
        let is_open = self.shared.schedule.get().is_some();
        if is_open || !self.has_server {
            return;
        }
        let cpus = self.start.facts.cpus.len();
        if let Some(flag) = generator_busy(cpu_s, elapsed_s, self.threads, cpus) {
            batch.flag(flag);
        }
    }
}

impl<J: ThreadJob<N>, const N: usize> Instance for TimedThreads<J, N> {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.shared.begun.store(0, Ordering::Relaxed);
        self.shared.in_time.store(0, Ordering::Relaxed);
        self.team.run(iterations)
    }

    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.shared.makes_room.store(true, Ordering::Relaxed);
        self.team.run(iterations.iter().copied().max().unwrap_or(0))?;
        self.shared.makes_room.store(false, Ordering::Relaxed);
        let carried = path::carried(&self.start)?;
        let told = cpu_time::NAMES.len() - self.cpus.lacking();
        let mut rows = vec![0.0; iterations.len() * (self.names.len() - told)];
        let mut free = rows.as_mut_slice();
        self.cpus.begin()?;
        self.begin_schedule();
        let mut worst_in_time = 1.0_f64;
        let mut elapsed_ns = 0;
        for &k in iterations {
            let start = now_ns();
            self.run(k)?;
            let elapsed = now_ns() - start;
            elapsed_ns += elapsed;
            batch.record(start, elapsed, k, current_cpu());
            let done = self.gather(elapsed);
            worst_in_time = worst_in_time.min(done.in_time);
            let (row, rest) = free.split_at_mut(self.names.len() - told);
            (self.report)(&done, row);
            free = rest;
        }
        self.flag_late(worst_in_time, batch);
        let done: u64 = iterations.iter().sum();
        let cpus = self.cpus.of_each(done)?;
        #[expect(clippy::cast_precision_loss, reason = "times and counts stay far below 2^53")]
        self.flag_busy(cpus[1] * done as f64, elapsed_ns as f64 / 1e9, batch);
        for index in 0..iterations.len() {
            let width = self.names.len() - told;
            batch.record_values(&cpus[self.cpus.lacking()..]);
            batch.record_values(&rows[index * width..(index + 1) * width]);
        }
        path::flag_limit(&self.start, carried, batch)
    }

    fn has_untimed_parts(&self) -> bool {
        self.cpus.asks()
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.names
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latencies
    }

    /// Enough for each thread to have a share, and for each kind to be there.
    fn least_iterations(&self) -> u64 {
        let of_threads = if self.threads > 1 { SHARES * self.threads as u64 } else { 1 };
        let of_kinds = if self.latencies.len() > 1 { OF_KINDS } else { 1 };
        of_threads.max(of_kinds)
    }

    fn shortest_sample_ns(&self) -> u64 {
        self.team.shortest_sample_ns()
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}
