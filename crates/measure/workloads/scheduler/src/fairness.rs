//! `scheduler.fairness`: threads that want the CPU all the time, and how much of it each gets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use plumb_model::{AuditClass, Better, Description, Facts, Ready};
use plumb_protocol::{
    Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload, current_cpu, now_ns,
};
use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::declare::{between, integer, reported, text, workload};
use plumb_workload_kit::limits::room_for_tasks;
use plumb_workload_kit::placement::{Placement, in_words, placement_or};
use plumb_workload_kit::threads::{Member, Team};
use rustix::process::{getpriority_process, setpriority_process};
use rustix::time::{ClockId, clock_gettime};

use crate::counters::{self, TaskCounters};
use crate::weights::{self, Claim};
use plumb_workload_kit::sleep::sleep_until;

/// The workload `scheduler.fairness`: its parameters and metrics, and how it starts.
pub(crate) struct Fairness;

/// Names of what every sample reports, in the order of the metrics.
const VALUE_NAMES: [&str; 6] =
    ["deviation", "fairness", "least", "most", counters::NAMES[0], counters::NAMES[1]];

/// An iteration, in nanoseconds.
const ITERATION_NS: u64 = 1_000_000;
/// The shortest sample worth taking: many slices of each thread.
const SHORTEST_SAMPLE_NS: u64 = 400_000_000;
/// In a shorter sample not every thread has its turn.
const LEAST_ITERATIONS: u64 = 20;
/// How often a thread counts between two looks at the clock.
const SPINS: u64 = 1000;

impl Workload for Fairness {
    fn describe(&self) -> Description {
        let mut metrics = vec![
            reported(
                "deviation",
                "",
                Better::Lower,
                "largest relative difference between a thread's CPU time and its share by weight",
            ),
            reported(
                "fairness",
                "",
                Better::Higher,
                "Jain's index of the ratios of CPU time to share",
            ),
            reported("least", "", Better::Higher, "the smallest of these ratios"),
            reported("most", "", Better::Lower, "the largest of these ratios"),
        ];
        metrics.extend(counters::metrics("millisecond"));
        Description {
            parameters: vec![
                between(1, 10_000, integer("threads", "threads", 4, "busy threads")),
                text(
                    "nice",
                    "0",
                    "nice levels relative to the worker: one per thread, separated by commas, or one for \
                     the second half",
                ),
                placement_or("same-cpu"),
            ],
            metrics,
            audit_class: Some(AuditClass::Scheduler),
            ..workload(
                "scheduler.fairness",
                "how close busy threads on one CPU come to their fair shares",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("fairness.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads");
        let base = getpriority_process(None).unwrap_or(0);
        weights::check_class()?;
        let levels = weights::levels(start.text("nice"), threads, base)?;
        let placed = Placement::of(start)?.cpus(threads, &start.facts)?;
        room_for_tasks(threads as u64)?;
        let claims = weights::claims(&levels, placed.as_deref(), start.facts.cpus.len());
        let mut ready = Ready::default();
        let place = placed.as_deref().map_or_else(|| "not pinned".into(), in_words);
        ready.notes.push(format!("{threads} threads {place}"));
        ready.notes.push(weights::in_words(&claims));
        let end_ns = Arc::new(AtomicU64::new(0));
        let team = team(threads, levels, placed, &end_ns)?;
        let counters = TaskCounters::of(&[]);
        counters.describe(&mut ready);
        let contest = Contest {
            team,
            end_ns,
            used: vec![0; threads],
            claims,
            names: counters.names(&VALUE_NAMES),
            counters,
        };
        Ok(StartedWorkload { instance: Box::new(contest), ready })
    }
}

/// The threads, each at its nice level and on its CPU, and the caller, who only waits.
fn team(
    threads: usize,
    levels: Vec<i32>,
    placed: Option<Vec<usize>>,
    end_ns: &Arc<AtomicU64>,
) -> Result<Team<Contender>, StartError> {
    let end_ns = Arc::clone(end_ns);
    // Nobody polls: the caller has to leave the CPU.
    Team::start(threads + 1, &Facts::default(), move |index: usize| {
        let end_ns = Arc::clone(&end_ns);
        let Some(thread) = index.checked_sub(1) else {
            return Ok(Contender { thread: None, end_ns, used_ns: 0 });
        };
        if let Some(cpus) = &placed {
            CpuSet::only(cpus[thread]).apply()?;
        }
        let level = levels[thread];
        // Of the calling thread alone, on Linux.
        setpriority_process(None, level).map_err(|error| {
            StartError::unsupported(
                format!("can't set nice level {level}: {}", std::io::Error::from(error)),
                "run as root, raise `ulimit -e`, or set levels of 0 and above",
            )
        })?;
        Ok(Contender { thread: Some(thread), end_ns, used_ns: 0 })
    })
}

/// A thread that computes until the end of a sample, or the one that sleeps until then.
struct Contender {
    /// Which of the threads it is; None for who sleeps.
    thread: Option<usize>,
    end_ns: Arc<AtomicU64>,
    /// CPU time in the last sample.
    used_ns: u64,
}

impl Member for Contender {
    fn run(&mut self, _: u64) -> Result<(), Failure> {
        let end_ns = self.end_ns.load(Ordering::Acquire);
        if self.thread.is_none() {
            sleep_until(end_ns);
            return Ok(());
        }
        let before = own_cpu_ns();
        while now_ns() < end_ns {
            spin(SPINS);
        }
        self.used_ns = own_cpu_ns() - before;
        Ok(())
    }

    /// The sum of all CPU times is checked after each sample.
    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Computes for a while, in registers.
#[inline(never)]
fn spin(times: u64) {
    for count in 0..times {
        std::hint::black_box(count);
    }
}

/// CPU time of the calling thread so far.
fn own_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

struct Contest {
    team: Team<Contender>,
    end_ns: Arc<AtomicU64>,
    /// The CPU time of each thread in one sample.
    used: Vec<u64>,
    claims: Vec<Claim>,
    counters: TaskCounters,
    names: &'static [&'static str],
}

impl Contest {
    /// What the sample just taken comes to.
    fn values(&mut self) -> Result<[f64; 4], Failure> {
        let used = &mut self.used;
        self.team.each(|member| {
            if let Some(thread) = member.thread {
                used[thread] = member.used_ns;
            }
        });
        weights::judge(used, &self.claims)
    }
}

impl Instance for Contest {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.end_ns.store(now_ns() + iterations * ITERATION_NS, Ordering::Release);
        self.team.run(iterations)
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.names
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of one sample stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.counters.begin();
        for &k in iterations {
            let start_ns = now_ns();
            self.run(k)?;
            let elapsed_ns = now_ns() - start_ns;
            batch.record(start_ns, elapsed_ns, k, current_cpu());
            let (counted, told) = self.counters.since(k as f64);
            batch.record_values(&self.values()?);
            batch.record_values(&counted[..told]);
        }
        Ok(())
    }

    fn shortest_sample_ns(&self) -> u64 {
        SHORTEST_SAMPLE_NS
    }

    fn least_iterations(&self) -> u64 {
        LEAST_ITERATIONS
    }
}
