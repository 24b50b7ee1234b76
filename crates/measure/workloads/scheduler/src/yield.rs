//! `scheduler.yield`: threads that give up the CPU repeatedly.
//!
//! The first thread yields k times and then raises a flag; the others yield until they see it. So every
//! thread works from the first to the last moment of a sample, as in a benchmark of fixed time, and what
//! each got done in it shows how fairly the scheduler treated them.
#![expect(unsafe_code, reason = "sched_yield has no safe form in std")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use plumb_model::{AuditClass, Better, Description, Ready};
use plumb_protocol::{
    Batch, Failure, Instance, Start, StartError, StartedWorkload, Workload, current_cpu, now_ns,
};

use plumb_workload_kit::declare::{between, integer, reported, reported_time, workload};
use plumb_workload_kit::limits::room_for_tasks;
use plumb_workload_kit::placement::{Placement, in_words, placement_or};
use plumb_workload_kit::switches::own_switches;
use plumb_workload_kit::threads::{Member, Team};

use crate::counters::{self, TaskCounters};

/// The workload `scheduler.yield`: its parameters and metrics, and how it starts.
pub(crate) struct Yield;

/// Names of what every sample reports, in the order of the metrics.
const VALUE_NAMES: [&str; 5] = ["rate", "time", "fairness", counters::NAMES[0], counters::NAMES[1]];

/// A sample is many times as long as the scheduler takes to move threads between CPUs.
const SHORTEST_SAMPLE_NS: u64 = 20_000_000;

impl Workload for Yield {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                between(
                    1,
                    10_000,
                    integer("threads", "threads", 16, "threads that yield at the same time"),
                ),
                placement_or("same-cpu"),
            ],
            metrics: vec![
                reported(
                    "rate",
                    "yields/s",
                    Better::Higher,
                    "yields per second, all threads together",
                ),
                reported_time("time", "CPU time of one yield: wall time × CPUs / yields"),
                reported(
                    "fairness",
                    "",
                    Better::Higher,
                    "Jain's fairness index of the threads' yields: \
                1 if all got the same number",
                ),
                reported("switches", "", Better::Neither, "context switches per yield"),
                reported("migrations", "", Better::Neither, "moves to another CPU per yield"),
            ],
            audit_class: Some(AuditClass::Scheduler),
            ..workload("scheduler.yield", "threads yield the CPU to each other with sched_yield")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("yield.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads");
        room_for_tasks(threads as u64 - 1)?;
        let placed = Placement::of(start)?.cpus(threads, &start.facts)?;
        let note = match &placed {
            Some(cpus) => format!("{threads} threads {}", in_words(cpus)),
            None => format!("{threads} threads on {} CPUs, not pinned", start.facts.cpus.len()),
        };
        // A CPU that stands there twice is one.
        let cpus = placed.map_or(start.facts.cpus.len(), |cpus| BTreeSet::from_iter(cpus).len());
        let mut ready = Ready { notes: vec![note], ..Ready::default() };
        let yielding = Yielding::new(threads, cpus, start)?;
        yielding.counters.describe_migrations(&mut ready);
        Ok(StartedWorkload { instance: Box::new(yielding), ready })
    }
}

/// One thread, with its yields in the last sample.
struct Yielder {
    leads: bool,
    stop: Arc<AtomicBool>,
    yields: u64,
}

impl Member for Yielder {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let mut yields = 0;
        if self.leads {
            while yields < iterations {
                yield_cpu();
                yields += 1;
            }
            self.stop.store(true, Ordering::Relaxed);
        } else {
            while !self.stop.load(Ordering::Relaxed) {
                yield_cpu();
                yields += 1;
            }
        }
        self.yields = yields;
        Ok(())
    }

    /// Whether yielding switches at all is seen from outside.
    fn verify(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

fn yield_cpu() {
    // SAFETY: a system call without arguments, which always succeeds.
    unsafe { libc::sched_yield() };
}

struct Yielding {
    team: Team<Yielder>,
    stop: Arc<AtomicBool>,
    /// CPUs that can be busy at the same time.
    cpus: f64,
    /// Whether threads have to share CPUs.
    shared: bool,
    /// Room for the yields of every thread in one sample.
    yields: Vec<u64>,
    counters: TaskCounters,
}

impl Yielding {
    #[expect(clippy::cast_precision_loss, reason = "numbers of CPUs are small")]
    fn new(threads: usize, cpus: usize, start: &Start) -> Result<Self, StartError> {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let build =
            move |index| Ok(Yielder { leads: index == 0, stop: Arc::clone(&flag), yields: 0 });
        let team = Team::placed(threads, start, build)?;
        let shared = threads > cpus;
        let cpus = threads.min(cpus).max(1) as f64;
        let yields = Vec::with_capacity(threads);
        Ok(Self { team, stop, cpus, shared, yields, counters: TaskCounters::of(&[]) })
    }

    /// What the sample just taken comes to, in the order of [`VALUE_NAMES`].
    #[expect(clippy::cast_precision_loss, reason = "counts of one sample stay far below 2^53")]
    fn values(&mut self, elapsed_ns: u64, switches: u64) -> [f64; VALUE_NAMES.len()] {
        self.yields.clear();
        let yields = &mut self.yields;
        self.team.each(|yielder| yields.push(yielder.yields));
        let total = yields.iter().sum::<u64>() as f64;
        let seconds = elapsed_ns as f64 * 1e-9;
        let (jain, ([_, migrations], _)) = (jain(yields), self.counters.since(total));
        [total / seconds, seconds * self.cpus / total, jain, switches as f64 / total, migrations]
    }
}

/// Jain's index of fairness: the square of the sum over n times the sum of squares. 1 when all shares are
/// equal, 1/n when one has everything (Jain, Chiu and Hawe 1984).
#[expect(clippy::cast_precision_loss, reason = "counts of one sample stay far below 2^53")]
fn jain(shares: &[u64]) -> f64 {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), &share| {
        let share = share as f64;
        (sum + share, squares + share * share)
    });
    sum * sum / (shares.len() as f64 * squares)
}

impl Instance for Yielding {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.stop.store(false, Ordering::Relaxed);
        self.team.run(iterations)
    }

    fn value_names(&self) -> &'static [&'static str] {
        &VALUE_NAMES[..VALUE_NAMES.len() - usize::from(!self.counters.tells_migrations())]
    }

    /// Takes its samples itself, because a rate needs the time of its sample.
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.counters.begin();
        let names = self.value_names().len();
        for &k in iterations {
            let before = own_switches().0;
            let start_ns = now_ns();
            self.run(k)?;
            let elapsed_ns = now_ns() - start_ns;
            batch.record(start_ns, elapsed_ns, k, current_cpu());
            let switches = own_switches().0 - before;
            // In some sandboxes the call does nothing: its speed would then look like a result.
            if self.shared && switches == 0 {
                return Err(Failure(format!(
                    "{k} calls of sched_yield caused no switch although other threads waited: the call has no effect here"
                )));
            }
            batch.record_values(&self.values(elapsed_ns, switches)[..names]);
        }
        Ok(())
    }

    fn shortest_sample_ns(&self) -> u64 {
        SHORTEST_SAMPLE_NS
    }
}

#[cfg(test)]
mod tests {
    use super::jain;

    #[test]
    fn fairness_goes_from_one_nth_to_one() {
        assert!((jain(&[7, 7, 7, 7]) - 1.0).abs() < 1e-12);
        assert!((jain(&[9, 0, 0, 0]) - 0.25).abs() < 1e-12);
        assert!((jain(&[1, 3]) - 0.8).abs() < 1e-12);
    }
}
