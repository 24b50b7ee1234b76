//! Clients of a closed loop that are busy are flagged, and no others.

use std::thread::sleep;
use std::time::{Duration, Instant};

use plumb_model::{Facts, FlagKind, Role};
use plumb_protocol::{ArrivalSchedule, Arrivals, Failure, Start, now_ns, take};
use plumb_workload_ends::cpu_time::CpuTimes;
use plumb_workload_ends::timed_threads::{ThreadJob, TimedResult, TimedThreads};

/// How long each client takes, and what it does meanwhile.
const TAKES: Duration = Duration::from_millis(2);

/// A client that computes, or waits for its server.
#[derive(Clone, Copy)]
enum BusyOrWaiting {
    Computes,
    Waits,
}

impl ThreadJob<1> for BusyOrWaiting {
    fn once(&mut self) -> Result<TimedResult<1>, Failure> {
        let begun_ns = now_ns();
        match self {
            Self::Computes => {
                let begun = Instant::now();
                while begun.elapsed() < TAKES {}
            }
            Self::Waits => sleep(TAKES),
        }
        let ended_ns = now_ns();
        Ok(TimedResult { ended_ns, numbers: [ended_ns - begun_ns] })
    }
}

fn threads(client: BusyOrWaiting) -> TimedThreads<BusyOrWaiting, 1> {
    let start = Start {
        role: Role::Workload,
        params: [].into(),
        dir: "/".into(),
        scratch: String::new(),
        seed: 42,
        endpoints: [].into(),
        facts: Facts { cpus: vec![0, 1], ..Facts::default() },
        extra_work: None,
    };
    let cpus = CpuTimes::of(&start);
    TimedThreads::start(1, &start, move || client, cpus, (&["near_cpu"], |_, _| {}))
        .unwrap_or_else(|error| panic!("{error:?}"))
}

fn is_flagged(mut threads: TimedThreads<BusyOrWaiting, 1>) -> bool {
    let (_, flags) = take(&mut threads, &[50]).unwrap_or_else(|error| panic!("{error:?}"));
    flags.iter().any(|flag| flag.flag == FlagKind::GeneratorBusy)
}

#[test]
fn busy_clients_of_a_server_are_flagged() {
    // Other tests may use the CPU meanwhile.
    assert!((0..20).any(|_| is_flagged(threads(BusyOrWaiting::Computes))));
    assert!(!is_flagged(threads(BusyOrWaiting::Waits)));
    let schedule = ArrivalSchedule::new(Arrivals::Fixed, 500.0, 42).unwrap();
    assert!(!is_flagged(threads(BusyOrWaiting::Computes).on_schedule(Some(schedule))));
    // Without a server the work of the threads is what is measured.
    assert!(!is_flagged(threads(BusyOrWaiting::Computes).without_server()));
}
