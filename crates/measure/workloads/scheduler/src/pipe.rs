//! `scheduler.pipe`: two tasks hand a number back and forth through two pipes.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use plumb_model::{AuditClass, Description, Ready};
use plumb_protocol::{
    Distribution, Failure, Instance, Start, StartError, Started, Workload, now_ns,
};

use plumb_workload_kit::affinity::{CpuSet, share_a_core};
use plumb_workload_kit::child::{Child, close_in_child};
use plumb_workload_kit::declare::{choice, distribution, rate, time, workload};

/// The workload.
pub(crate) struct Pipe;

impl Workload for Pipe {
    fn describe(&self) -> Description {
        Description {
            parameters: vec![
                choice(
                    "placement",
                    &["same-cpu", "cross-cpu", "free"],
                    "both tasks pinned to one CPU, to two CPUs, or not pinned",
                ),
                choice("mode", &["process", "thread"], "what the two tasks are"),
            ],
            metrics: vec![
                time("time", "one round trip: 2 messages, at least 2 context switches"),
                rate("rate", "ops/s", "round trips a second"),
                distribution(
                    "latency",
                    "each round trip, from one reading of the clock to the next",
                ),
            ],
            version: 2,
            audit_class: Some(AuditClass::Scheduler),
            ..workload(
                "scheduler.pipe",
                "two tasks wake each other through pipes, one round trip at a time",
            )
        }
    }

    fn manual(&self) -> &'static str {
        include_str!("pipe.md")
    }

    fn start(&self, start: &Start) -> Result<Started, StartError> {
        let before = CpuSet::current()?;
        let placement = Placement::choose(start.text("placement"), &before.cpus())?;
        let (requests, to_partner) = pipe()?;
        let (from_partner, answers) = pipe()?;
        let partner = if start.text("mode") == "thread" {
            Partner::thread(requests, answers, &placement)?
        } else {
            Partner::process(requests, answers, &placement, (&to_partner, &from_partner))?
        };
        let mut round_trips = RoundTrips {
            to_partner,
            from_partner,
            count: 0,
            partner,
            helpers: Vec::new(),
            before,
            latency: [Distribution::of("latency")],
        };
        if let Some((mine, _)) = placement.cpus {
            CpuSet::only(mine).apply()?;
        }
        if let Partner::Process(child) = &round_trips.partner {
            round_trips.helpers.push(child.pid());
        }
        round_trips.latency[0].make_room(1, 1);
        round_trips.run(1)?;
        let ready = Ready { notes: vec![placement.note], ..Ready::default() };
        Ok(Started { instance: Box::new(round_trips), ready })
    }
}

/// Where the two tasks run: the worker's CPU and the partner's.
struct Placement {
    cpus: Option<(usize, usize)>,
    note: String,
}

impl Placement {
    /// Keeps away from the first CPU where it can, because that one tends to serve interrupts.
    fn choose(placement: &str, allowed: &[usize]) -> Result<Self, StartError> {
        let Some((&mine, others)) = allowed.split_last() else {
            return Err(StartError::Failed("no CPU may be used".into()));
        };
        if placement == "free" {
            return Ok(Self { cpus: None, note: format!("not pinned, {} CPUs", allowed.len()) });
        }
        if placement == "same-cpu" {
            let note = format!("both tasks on CPU {mine}");
            return Ok(Self { cpus: Some((mine, mine)), note });
        }
        let Some(&last) = others.last() else {
            return Err(StartError::unsupported(
                "placement=cross-cpu needs two CPUs, and plumb may use one",
                "give plumb a second CPU (taskset, cpuset, the machine's size)",
            ));
        };
        let other_core = others.iter().rev().copied().find(|&cpu| !share_a_core(mine, cpu));
        let theirs = other_core.unwrap_or(last);
        let how = if other_core.is_some() { "two cores" } else { "two threads of one core" };
        let note = format!("worker on CPU {mine}, partner on CPU {theirs}: {how}");
        Ok(Self { cpus: Some((mine, theirs)), note })
    }
}

fn pipe() -> Result<(File, File), Failure> {
    let (reader, writer) = io::pipe().map_err(|e| Failure::io("making a pipe", &e))?;
    Ok((OwnedFd::from(reader).into(), OwnedFd::from(writer).into()))
}

/// What ends the partner when it comes in place of a count.
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
        placement: &Placement,
        workers: (&File, &File),
    ) -> Result<Self, Failure> {
        let set = placement.cpus.map(|(_, theirs)| CpuSet::only(theirs));
        let child = Child::fork(|| {
            // Without the worker's ends, its death is seen as the end of the pipe.
            close_in_child(workers.0);
            close_in_child(workers.1);
            set.as_ref().is_none_or(|set| set.apply().is_ok()) && answer(&requests, &answers)
        })?;
        Ok(Self::Process(child))
    }

    fn thread(requests: File, answers: File, placement: &Placement) -> Result<Self, Failure> {
        let set = placement.cpus.map(|(_, theirs)| CpuSet::only(theirs));
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
}

impl Instance for RoundTrips {
    fn run(&mut self, iterations: u64) -> Result<(), Failure> {
        let mut message = [0; 4];
        let mut border = now_ns();
        for _ in 0..iterations {
            let sent = self.to_partner.write_all(&self.count.to_ne_bytes());
            let got = sent.and_then(|()| self.from_partner.read_exact(&mut message));
            got.map_err(|e| Failure::io("talking to the partner", &e))?;
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

    use plumb_protocol::{Distribution, Instance, StartError};

    use super::{CpuSet, Partner, Placement, RoundTrips, pipe};

    #[test]
    fn places_are_pinned_as_asked_or_refused() {
        assert_eq!(Placement::choose("free", &[0, 1]).unwrap_or_else(|_| panic!()).cpus, None);
        assert_eq!(
            Placement::choose("same-cpu", &[3]).unwrap_or_else(|_| panic!()).cpus,
            Some((3, 3))
        );
        let two = Placement::choose("cross-cpu", &[4000, 4001]).unwrap_or_else(|_| panic!());
        assert_eq!(two.cpus, Some((4001, 4000)));
        let Err(StartError::Unsupported { why, fix }) = Placement::choose("cross-cpu", &[0]) else {
            panic!("one CPU is not two");
        };
        assert!(why.contains("two CPUs") && fix.contains("second CPU"));
    }

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
        };
        let failure = round_trips.run(1).unwrap_err();
        assert_eq!(failure.0, "the partner answered 5 instead of 6");
    }
}
