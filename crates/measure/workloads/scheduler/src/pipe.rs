//! `scheduler.pipe`: two tasks hand a number back and forth through two pipes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use plumb_model::{AuditClass, Description, Ready, Rung};
use plumb_protocol::{
    Batch, Distribution, Failure, Instance, Start, StartError, StartedWorkload, Workload,
    current_cpu, now_ns,
};

use plumb_workload_kit::affinity::CpuSet;
use plumb_workload_kit::child::{Child, close_in_child};
use plumb_workload_kit::declare::{distribution, rate, rung, rung_if, time, workload};
use plumb_workload_kit::placement::{Placement, in_words, placement_or};

use crate::counters::{self, TaskCounters};
use crate::task_mode::TaskMode;

/// Threads share an address space, which the kernel then need not switch; on one CPU no other CPU has to be woken.
fn rungs() -> Vec<Rung> {
    let threads = rung("threads", "scheduler.pipe", "time", &[("mode", "thread")]);
    let same_cpu =
        rung("both tasks on one CPU", "scheduler.pipe", "time", &[("placement", "same-cpu")]);
    vec![
        rung_if(&[("placement", "same-cpu"), ("mode", "process")], threads),
        rung_if(&[("placement", "cross-cpu")], same_cpu.clone()),
        rung_if(&[("placement", "siblings")], same_cpu.clone()),
        rung_if(&[("placement", "spread")], same_cpu),
    ]
}

/// The workload `scheduler.pipe`: its parameters and metrics, and how it starts.
pub(crate) struct Pipe;

impl Workload for Pipe {
    fn describe(&self) -> Description {
        let mut metrics = vec![
            time("time", "time of one round trip: 2 messages and at least 2 context switches"),
            rate("rate", "ops/s", "round trips per second"),
            distribution("latency", "time of each round trip"),
        ];
        metrics.extend(counters::metrics("round trip"));
        Description {
            parameters: vec![
                placement_or("same-cpu"),
                TaskMode::parameter("type of the two tasks"),
            ],
            metrics,
            version: 2,
            audit_class: Some(AuditClass::Scheduler),
            rungs: rungs(),
            ..workload(
                "scheduler.pipe",
                "two tasks wake each other through pipes, one round trip at a time",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("pipe.md")
    }

    fn start(&self, start: &Start) -> Result<StartedWorkload, StartError> {
        let before = CpuSet::current()?;
        let placed = Placement::of(start)?.cpus(2, &start.facts)?;
        let note = placed.as_deref().map_or_else(|| "not pinned".into(), in_words);
        let [own_set, partner_set] =
            [0, 1].map(|index| placed.as_ref().map(|cpus: &Vec<usize>| CpuSet::only(cpus[index])));
        let (requests, to_partner) = pipe()?;
        let (from_partner, answers) = pipe()?;
        let partner = match TaskMode::of(start) {
            TaskMode::Thread => Partner::thread(requests, answers, partner_set)?,
            TaskMode::Process => {
                Partner::process(requests, answers, partner_set, (&to_partner, &from_partner))?
            }
        };
        let mut round_trips = RoundTrips {
            to_partner,
            from_partner,
            count: 0,
            partner,
            helpers: Vec::new(),
            before,
            latency: [Distribution::of("latency")],
            counters: TaskCounters::of(&[]),
        };
        // Not before the partner was made, which would inherit this place.
        if let Some(set) = own_set {
            set.apply()?;
        }
        if let Partner::Process(child) = &round_trips.partner {
            round_trips.helpers.push(child.pid());
        }
        round_trips.latency[0].make_room(1, 1);
        round_trips.run(1)?;
        round_trips.counters = TaskCounters::of(&round_trips.helpers);
        let mut ready =
            Ready { notes: vec![format!("worker and partner {note}")], ..Ready::default() };
        round_trips.counters.describe(&mut ready);
        Ok(StartedWorkload { instance: Box::new(round_trips), ready })
    }
}

fn pipe() -> Result<(File, File), Failure> {
    let (reader, writer) = io::pipe().map_err(|e| Failure::io("creating a pipe", &e))?;
    Ok((OwnedFd::from(reader).into(), OwnedFd::from(writer).into()))
}

/// The message that ends the partner, in place of a count.
const STOP: i32 = -1;

/// The task at the other end.
enum Partner {
    Process(Child),
    Thread(Option<JoinHandle<()>>),
}

impl Partner {
    fn process(
        requests: File,
        answers: File,
        set: Option<CpuSet>,
        workers: (&File, &File),
    ) -> Result<Self, Failure> {
        let child = Child::fork(|| {
            // Without the worker's ends, its death is seen as the end of the pipe.
            close_in_child(workers.0);
            close_in_child(workers.1);
            set.as_ref().is_none_or(|set| set.apply().is_ok()) && answer(&requests, &answers)
        })?;
        Ok(Self::Process(child))
    }

    fn thread(requests: File, answers: File, set: Option<CpuSet>) -> Result<Self, Failure> {
        let thread = std::thread::Builder::new()
            .name("partner".into())
            .spawn(move || {
                if set.is_none_or(|set| set.apply().is_ok()) {
                    answer(&requests, &answers);
                }
            })
            .map_err(|e| Failure::io("starting a thread", &e))?;
        Ok(Self::Thread(Some(thread)))
    }
}

/// The partner's whole life: every number comes back one larger.
fn answer(mut requests: &File, mut answers: &File) -> bool {
    let mut message = [0; 4];
    loop {
        if requests.read_exact(&mut message).is_err() {
            return true;
        }
        let count = i32::from_ne_bytes(message);
        if count == STOP {
            return true;
        }
        if answers.write_all(&(count.wrapping_add(1)).to_ne_bytes()).is_err() {
            return false;
        }
    }
}

struct RoundTrips {
    to_partner: File,
    from_partner: File,
    count: i32,
    partner: Partner,
    helpers: Vec<u32>,
    before: CpuSet,
    latency: [Distribution; 1],
    counters: TaskCounters,
}

impl Instance for RoundTrips {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let mut message = [0; 4];
        let mut border = now_ns();
        for _ in 0..iterations {
            let sent = self.to_partner.write_all(&self.count.to_ne_bytes());
            let got = sent.and_then(|()| self.from_partner.read_exact(&mut message));
            got.map_err(|e| Failure::io("exchanging messages with the partner", &e))?;
            let wanted = self.count + 1;
            let count = i32::from_ne_bytes(message);
            if count != wanted {
                return Err(Failure(format!("the partner answered {count} instead of {wanted}")));
            }
            self.count = if count == i32::MAX { 0 } else { count };
            // One reading a round trip: where it ends, the next begins.
            let now = now_ns();
            self.latency[0].record(now - border);
            border = now;
        }
        Ok(())
    }

    fn distributions(&mut self) -> &mut [Distribution] {
        &mut self.latency
    }

    fn value_names(&self) -> &'static [&'static str] {
        self.counters.names(&counters::NAMES)
    }

    /// Asks for switches and migrations after each sample.
    #[expect(clippy::cast_precision_loss, reason = "counts of one sample stay far below 2^53")]
    fn batch(&mut self, iterations: &[u64], batch: &mut Batch) -> Result<(), Failure> {
        self.counters.begin();
        for &k in iterations {
            let start_ns = now_ns();
            self.run(k)?;
            let elapsed_ns = now_ns() - start_ns;
            batch.record(start_ns, elapsed_ns, k, current_cpu());
            self.latency[0].end_sample();
            let (counted, told) = self.counters.since(k as f64);
            batch.record_values(&counted[..told]);
        }
        Ok(())
    }

    fn helpers(&self) -> &[u32] {
        &self.helpers
    }
}

impl Drop for RoundTrips {
    fn drop(&mut self) {
        let _ = self.to_partner.write_all(&STOP.to_ne_bytes());
        match &mut self.partner {
            Partner::Process(child) => drop(child.wait()),
            Partner::Thread(thread) => drop(thread.take().map(JoinHandle::join)),
        }
        let _ = self.before.apply();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use plumb_protocol::{Distribution, Instance};

    use super::{CpuSet, Partner, RoundTrips, TaskCounters, pipe};

    #[test]
    fn a_wrong_answer_is_caught() {
        let (mut requests, to_partner) = pipe().unwrap();
        let (from_partner, mut answers) = pipe().unwrap();
        let echo = std::thread::spawn(move || {
            let mut message = [0; 4];
            requests.read_exact(&mut message).unwrap();
            answers.write_all(&message).unwrap();
        });
        let mut round_trips = RoundTrips {
            to_partner,
            from_partner,
            count: 5,
            partner: Partner::Thread(Some(echo)),
            helpers: Vec::new(),
            before: CpuSet::current().unwrap(),
            latency: [Distribution::of("latency")],
            counters: TaskCounters::of(&[]),
        };
        let failure = round_trips.run(1).unwrap_err();
        assert_eq!(failure.0, "the partner answered 5 instead of 6");
    }
}
