//! Streams of events as proptest makes them: any order that the engine may choose.

use std::collections::BTreeMap;

use plumb_model::{
    ClockKind, ClockSource, Compared, Decision, Event, Flag, FlagKind, Histogram, Id,
    InvocationEnd, Look, Missing, Outcome, Ready, Role, Samples, SharedStart, Stamped, StopReason,
    Target, Usage, UsageSource, Verdict,
};
use proptest::prelude::{Just, Strategy, any, prop, prop_oneof};

use crate::events::{Script, environment, id, target};

/// One step of a run; numbers are taken modulo what there is.
#[derive(Debug, Clone)]
pub enum Op {
    Start { point: usize, role: Role, seed: u64, ready: Box<Ready> },
    Batch { which: usize, columns: Columns, usage: Usage, flags: Vec<Flag> },
    End { which: usize, end: InvocationEnd },
    Decide(Decision),
    Say(Event),
    Resume { interrupted: bool },
}

/// Rows of (start, elapsed, iterations, cpu, value, histogram).
pub type Columns = Vec<(u64, u64, u64, i32, f64, Histogram)>;

fn text() -> impl Strategy<Value = String> {
    "[a-z \"'\\\\é\u{1F600}\n]{0,12}"
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![prop::num::f64::NORMAL, Just(0.0), Just(4096.0), Just(1.0 / 3.0)]
}

fn flags() -> impl Strategy<Value = Vec<Flag>> {
    let kind = prop_oneof![
        Just(FlagKind::Cached),
        Just(FlagKind::WarmUp),
        Just(FlagKind::Other("mine".into()))
    ];
    prop::collection::vec((kind, text()).prop_map(|(flag, why)| Flag { flag, why }), 0..3)
}

fn ready() -> impl Strategy<Value = Ready> {
    let clock = ClockSource {
        id: "simulated".into(),
        unit: "ns".into(),
        resolution_ns: 1,
        overhead_ns: 2,
        kind: ClockKind::Virtual,
    };
    let map = || prop::collection::btree_map(text(), text(), 0..2);
    (
        prop::option::of(Just(clock)),
        prop::collection::btree_map(
            prop_oneof![Just("bandwidth".to_owned()), Just("latency".to_owned()), text()],
            number(),
            0..3,
        ),
        (map(), map()),
        prop::collection::vec(text(), 0..2),
        flags(),
        any::<u64>(),
    )
        .prop_map(|(clock, work, (endpoints, versions), notes, flags, bytes_on_disk)| Ready {
            clock,
            work,
            endpoints,
            versions,
            notes,
            flags,
            bytes_on_disk,
            fixed_iterations: false,
            least_iterations: None,
            shortest_sample_ns: None,
            supply: None,
            paused_ns: None,
            shared_start: (bytes_on_disk % 2 == 0).then_some(SharedStart {
                at_ns: bytes_on_disk,
                ahead_ns: -7,
                error_ns: 90_000,
            }),
            without: Vec::new(),
            start_up: None,
        })
}

fn usage() -> impl Strategy<Value = Usage> {
    let source = prop_oneof![Just(UsageSource::Wait4), Just(UsageSource::Own)];
    (source, any::<[u64; 8]>(), any::<Option<u64>>(), any::<Option<u64>>()).prop_map(
        |(source, n, device_read_bytes, device_written_bytes)| Usage {
            source,
            wall_ns: n[0],
            user_ns: n[1],
            system_ns: n[2],
            iowait_ns: n[3],
            minor_faults: n[4],
            major_faults: n[5],
            voluntary_switches: n[6],
            involuntary_switches: n[7],
            device_read_bytes,
            device_written_bytes,
        },
    )
}

fn end() -> impl Strategy<Value = InvocationEnd> {
    let outcome = prop_oneof![
        Just(Outcome::Done),
        text().prop_map(Outcome::Failed),
        (text(), text()).prop_map(|(why, fix)| Outcome::Unsupported { why, fix }),
    ];
    (outcome, 0..9_usize, text(), any::<u32>(), any::<u64>(), text()).prop_map(
        |(outcome, steady_start, warmup, method, peak_memory_bytes, log)| InvocationEnd {
            outcome,
            steady_start,
            warmup,
            method,
            peak_memory_bytes,
            log,
        },
    )
}

fn decision() -> impl Strategy<Value = Decision> {
    let maybe = || prop::option::of(number());
    let look = (number(), maybe(), maybe(), number())
        .prop_map(|(estimate, low, high, level)| Look { estimate, low, high, level });
    let compared = (
        any::<u16>(),
        prop::option::of(prop::sample::select(&Verdict::ALL[..])),
        any::<Option<u16>>(),
    )
        .prop_map(|(pairs, verdict, pairs_needed)| Compared {
            pairs: pairs.into(),
            verdict,
            pairs_needed: pairs_needed.map(usize::from),
        });
    (
        0..2_usize,
        any::<u16>(),
        any::<u32>(),
        prop::option::of(look),
        prop::option::of(prop::sample::select(&StopReason::ALL[..])),
        maybe(),
        any::<Option<u64>>(),
        prop::option::of(compared),
    )
        .prop_map(
            |(point, invocations, samples, look, stop, wanted, remaining_ns, compared)| Decision {
                point,
                invocations: invocations.into(),
                samples: samples as usize,
                look,
                stop,
                wanted,
                remaining_ns,
                compared,
                outlook: None,
            },
        )
}

fn columns() -> impl Strategy<Value = Columns> {
    let histogram = prop_oneof![
        text().prop_map(Histogram::Hdr),
        prop::collection::vec(any::<(u64, u64)>(), 0..3).prop_map(Histogram::Sparse),
    ];
    let row = (any::<u64>(), 1..=u64::MAX, 1..=u64::MAX, any::<i32>(), number(), histogram);
    prop::collection::vec(row, 0..6)
}

fn say() -> impl Strategy<Value = Event> {
    prop_oneof![
        text().prop_map(|text| Event::Log { text }),
        (0..2_usize, text(), text()).prop_map(|(point, why, fix)| Event::Unsupported(Missing {
            point,
            why,
            fix
        })),
        (text(), any::<u64>(), prop::collection::vec(text(), 0..2)).prop_map(
            |(key, bytes_on_disk, notes)| Event::FixtureReady {
                workload: "disk.read".into(),
                key,
                bytes_on_disk,
                notes,
                start_up: None,
            }
        ),
        Just(Event::RoundStarted { round: 1, points: vec![0] }),
        "[a-c]".prop_map(|kernel| Event::TargetReady {
            target: 0,
            description: Target { environment: environment(&kernel), ..target("epyc") }.into(),
        }),
        "[a-c]".prop_map(|cpu| Event::TargetReady { target: 1, description: target(&cpu).into() }),
    ]
}

pub fn op() -> impl Strategy<Value = Op> {
    let role = prop_oneof![3 => Just(Role::Workload), 1 => Just(Role::Load)];
    let start = (0..2_usize, role, any::<u64>(), ready()).prop_map(|(point, role, seed, ready)| {
        Op::Start { point, role, seed, ready: Box::new(ready) }
    });
    let batch = (any::<usize>(), columns(), usage(), flags())
        .prop_map(|(which, columns, usage, flags)| Op::Batch { which, columns, usage, flags });
    prop_oneof![
        3 => start,
        6 => batch,
        2 => (any::<usize>(), end()).prop_map(|(which, end)| Op::End { which, end }),
        1 => decision().prop_map(Op::Decide),
        2 => say().prop_map(Op::Say),
        1 => any::<bool>().prop_map(|interrupted| Op::Resume { interrupted }),
    ]
}

/// The events of a run that takes these steps; `ended` when it comes to its end.
pub fn play(run: Id, ops: &[Op], ended: bool) -> Vec<Stamped> {
    let labels = [("host", "a")];
    let mut script = Script::new(run, 1_000_000_000 + run.as_u128() as i64 % 1000, &labels);
    let mut open: Vec<(Id, bool)> = Vec::new();
    let mut segment = 0;
    for (n, op) in ops.iter().enumerate() {
        match op {
            Op::Start { point, role, seed, ready } => {
                let invocation = id((run.as_u128() as u64 & 0xff) << 8 | (n as u64 + 1));
                open.push((invocation, n % 2 == 0));
                script.say(Event::InvocationStarted {
                    invocation,
                    point: if *role == Role::Workload { *point } else { 0 },
                    role: *role,
                    round: 3,
                    position: n as u32,
                    segment,
                    target: 0,
                    seed: *seed,
                    ready: ready.clone(),
                });
            }
            Op::Batch { which, columns, usage, flags } if !open.is_empty() => {
                let (invocation, reports) = open[which % open.len()];
                script.say(Event::Batch {
                    invocation,
                    samples: Box::new(samples(columns, reports)),
                    usage: usage.clone(),
                    flags: flags.clone(),
                });
            }
            Op::End { which, end } if !open.is_empty() => {
                let (invocation, _) = open.remove(which % open.len());
                script.say(Event::InvocationEnded { invocation, end: Box::new(end.clone()) });
            }
            Op::Decide(decision) => script.say(Event::Decided(Box::new(decision.clone()))),
            Op::Say(event) => script.say(event.clone()),
            Op::Resume { interrupted } => {
                if *interrupted {
                    script = script.end(true);
                }
                segment += 1;
                open.clear();
                script = script.segment(segment, 2_000_000_000, "epyc");
            }
            Op::Batch { .. } | Op::End { .. } => {}
        }
    }
    if ended { script.end(false).events } else { script.events }
}

fn samples(columns: &Columns, reports: bool) -> Samples {
    let mut samples = Samples::default();
    for (start, elapsed, iterations, cpu, ..) in columns {
        samples.start_ns.push(*start);
        samples.elapsed_ns.push(*elapsed);
        samples.iterations.push(*iterations);
        samples.cpu.push(*cpu);
    }
    if reports && !columns.is_empty() {
        let values = columns.iter().map(|row| row.4).collect();
        let histograms = columns.iter().map(|row| row.5.clone()).collect();
        samples.values = BTreeMap::from([("queue".to_owned(), values)]);
        samples.histograms = BTreeMap::from([("spread".to_owned(), histograms)]);
    }
    samples
}
