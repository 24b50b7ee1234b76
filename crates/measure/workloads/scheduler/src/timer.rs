//! `scheduler.timer`: how late threads wake that sleep to a moment.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{
    Batch, Distribution, Failure, Instance, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};
use plumb_workload_kit::declare::{between, distribution, threads, time_bound, workload};
use plumb_workload_kit::limits::room_for_tasks;
use plumb_workload_kit::placement::placement_or;
use plumb_workload_kit::threads::{self, Member, Team};
use rustix::thread::current_timer_slack;

use crate::counters::{self, TaskCounters};
use crate::latency::{self, percentiles};
use plumb_workload_kit::sleep::sleep_until;

/// The workload `scheduler.timer`: its parameters and metrics, and how it starts.
pub(crate) struct Timer;

/// Names of what every sample reports, in the order of the metrics.
const VALUE_NAMES: [&str; 5] = [
    latency::NAMES[0],
    latency::NAMES[1],
    latency::NAMES[2],
    counters::NAMES[0],
    counters::NAMES[1],
];

/// The shortest and the longest interval, in nanoseconds.
const INTERVALS: (usize, usize) = (10_000, 10_000_000_000);

impl Workload for Timer {
    fn describe(&self) -> Description {
        let mut metrics = latency::metrics("lateness of a wake-up");
        metrics.extend(counters::metrics("sleep"));
        metrics.push(distribution("latency", "lateness of each wake-up"));
        Description {
            parameters: vec![
                between(
                    INTERVALS.0,
                    INTERVALS.1,
                    time_bound("interval", 1_000_000, "time between wake-ups"),
                ),
                between(1, 10_000, threads("threads that sleep and wake independently")),
                placement_or("spread"),
            ],
            metrics,
            audit_class: Some(AuditClass::Scheduler),
            ..workload("scheduler.timer", "how late threads wake from sleeps until absolute times")
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("timer.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let threads = start.size("threads");
        let interval_ns = start.size("interval") as u64;
        room_for_tasks(threads as u64 - 1)?;
        let lateness: Vec<Lateness> = (0..threads).map(|_| Lateness::default()).collect();
        let own = lateness.clone();
        let build =
            move |index: usize| Ok(Sleeper { interval_ns, lateness: Arc::clone(&own[index]) });
        let team = Team::placed(threads, start, build)?;
        let counters = TaskCounters::of(&[]);
        let mut ready = Ready::default();
        threads::describe(threads, start, &mut ready)?;
        if let Ok(slack) = current_timer_slack() {
            ready.notes.push(format!("timer slack {slack} ns (none for realtime classes)"));
        }
        counters.describe(&mut ready);
        let sleeps = TimerSleeps {
            team,
            lateness,
            latency: [Distribution::of("latency")],
            names: counters.names(&VALUE_NAMES),
            counters,
        };
        Ok(StartedWorkload { instance: Box::new(sleeps), ready })
    }
}

/// How late a thread woke each time in the last sample, in nanoseconds. Its room is made before a batch.
type Lateness = Arc<Mutex<Vec<u64>>>;

fn locked(lateness: &Lateness) -> MutexGuard<'_, Vec<u64>> {
    lateness.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One thread, and how late it woke in the last sample.
struct Sleeper {
    interval_ns: u64,
    lateness: Lateness,
}

impl Member for Sleeper {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let mut late = locked(&self.lateness);
        late.clear();
        let mut due_ns = now_ns();
        for _ in 0..iterations {
            // From the last due time and not from now: one late wake-up must not shift all that follow.
            due_ns += self.interval_ns;
            sleep_until(due_ns);
            let now = now_ns();
            // Never grows here: an allocation would make the next sleep begin late.
            if late.len() < late.capacity() {
                // A wake-up before its time is not a time: it shows as the largest there is.
                late.push(now.wrapping_sub(due_ns));
            }
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Failure> {
        check(&locked(&self.lateness))
    }
}

/// Refuses a wake-up before its time.
fn check(lateness: &[u64]) -> Result<(), Failure> {
    match lateness.iter().find(|late| **late > i64::MAX.unsigned_abs()) {
        Some(early) => Err(Failure(format!("a sleep ended {} ns too early", early.wrapping_neg()))),
        None => Ok(()),
    }
}

struct TimerSleeps {
    team: Team<Sleeper>,
    lateness: Vec<Lateness>,
    latency: [Distribution; 1],
    counters: TaskCounters,
    names: &'static [&'static str],
}

impl TimerSleeps {
    /// Puts what all threads noted of `k` sleeps each into the distribution.
    fn collect(&mut self, k: u64) -> Result<(), Failure> {
        for lateness in &self.lateness {
            let late = locked(lateness);
            if late.len() as u64 != k {
                return Err(Failure(format!("a thread recorded {} of {k} sleeps", late.len())));
            }
            check(&late)?;
            late.iter().for_each(|late| self.latency[0].record(*late));
        }
        self.latency[0].end_sample();
        Ok(())
    }
}

impl Instance for TimerSleeps {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        self.team.run(iterations)
    }

    fn verify(&mut self) -> Result<(), Failure> {
        self.team.verify()
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.names
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latency
    }

    fn values_per_iteration(&self) -> u64 {
        self.lateness.len() as u64
    }

    #[expect(clippy::cast_precision_loss, reason = "counts of one sample stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        let most = usize::try_from(iterations.iter().copied().max().unwrap_or(0)).unwrap_or(0);
        for lateness in &self.lateness {
            let mut room = locked(lateness);
            room.clear();
            room.resize(most, 1);
        }
        self.counters.begin();
        for (index, &k) in iterations.iter().enumerate() {
            let start_ns = now_ns();
            self.run(k)?;
            let elapsed_ns = now_ns() - start_ns;
            batch.record(start_ns, elapsed_ns, k, current_cpu());
            let (counted, told) = self.counters.since(k as f64 * self.lateness.len() as f64);
            self.collect(k)?;
            batch.record_values(&percentiles(self.latency[0].sample(index)));
            batch.record_values(&counted[..told]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_sleep_that_ends_early_is_found() {
        check(&[0, 5, 70_000]).unwrap();
        let failure = check(&[5, 100_u64.wrapping_sub(107)]).unwrap_err().0;
        assert_eq!(failure, "a sleep ended 7 ns too early");
    }
}
