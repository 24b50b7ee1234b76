//! A record told as the events that leave it behind.

use plumb_model::{
    Counter, CounterKind, Event, InvocationRecord, Reading, Readings, RunRecord, Stamped, Trace,
};

/// Counters that a monitor has read beside every invocation, and how often.
const COUNTERS: [(&str, &str, u64, u64); 10] = [
    ("stat.user", "tick", 100, 2),
    ("stat.system", "tick", 3, 2),
    ("stat.iowait", "tick", 1, 2),
    ("stat.context_switches", "", 900, 12),
    ("vmstat.pgfault", "", 400, 2),
    ("vmstat.pgmajfault", "", 1, 2),
    ("psi.cpu.some", "us", 2_000, 12),
    ("worker.minor_faults", "", 120, 2),
    ("worker.voluntary_switches", "", 9, 2),
    ("worker.involuntary_switches", "", 2, 2),
];

/// The events of a run on one target, in one segment; with `monitors`, a few counters beside each invocation.
#[must_use]
pub fn events(record: &RunRecord, monitors: bool) -> Vec<Stamped> {
    let mut all = begin(record);
    for invocation in &record.invocations {
        all.extend(of_invocation(invocation, monitors));
    }
    all.extend(record.decisions.iter().map(|decision| Event::Decided(Box::new(decision.clone()))));
    all.extend(
        record.unsupported.iter().map(|unsupported| Event::Unsupported(unsupported.clone())),
    );
    let interrupted = record.status != plumb_model::RunStatus::Complete;
    all.extend(
        record.ended_unix_ns.map(|ended_unix_ns| Event::RunEnded { ended_unix_ns, interrupted }),
    );
    all.into_iter().zip(0..).map(|(event, at_ns)| Stamped { at_ns, event }).collect()
}

fn begin(record: &RunRecord) -> Vec<Event> {
    let first = &record.segments[0];
    let mut all = vec![
        Event::RunStarted {
            run: record.run,
            started_unix_ns: record.started_unix_ns,
            plumb: record.plumb.clone(),
            command: record.command.clone(),
            plan: Box::new(record.plan.clone()),
        },
        Event::SegmentStarted {
            run: record.run,
            segment: 0,
            started_unix_ns: first.started_unix_ns,
            monotonic_ns: first.monotonic_ns,
            owner: first.owner.clone(),
        },
    ];
    let target = |(target, description): (u32, &plumb_model::Target)| Event::TargetReady {
        target,
        description: Box::new(description.clone()),
    };
    all.extend((0..).zip(&record.targets).map(target));
    all
}

fn of_invocation(record: &InvocationRecord, monitors: bool) -> Vec<Event> {
    let invocation = record.invocation;
    let mut all = vec![
        Event::InvocationStarted {
            invocation,
            point: record.point,
            role: record.role,
            round: record.round,
            position: record.position,
            segment: record.segment,
            target: record.target,
            seed: record.seed,
            ready: Box::new(record.ready.clone()),
        },
        Event::Batch {
            invocation,
            samples: Box::new(record.samples.clone()),
            usage: record.usage.first().cloned().unwrap_or_default(),
            flags: record.flags.clone(),
        },
    ];
    if monitors || !record.interference.is_empty() {
        let traces = if monitors { traces(record) } else { Vec::new() };
        let readings = Box::new(Readings { traces, lines: Vec::new(), gaps: Vec::new() });
        all.push(Event::Monitored {
            invocation,
            readings,
            interference: record.interference.clone(),
        });
    }
    all.extend(record.excluded_by.clone().map(|by| Event::Excluded { invocation, by }));
    all.extend(
        record.end.clone().map(|end| Event::InvocationEnded { invocation, end: Box::new(end) }),
    );
    all
}

/// What monitors read: the same for the same invocation.
fn traces(record: &InvocationRecord) -> Vec<Trace> {
    let start_ns = record.samples.start_ns.first().copied().unwrap_or(0);
    let length_ns: u64 = record.samples.elapsed_ns.iter().sum();
    let trace = |(name, unit, step, times): &(&str, &str, u64, u64)| {
        let varied = step + record.seed % 7 + length_ns % 5;
        let reading =
            |n: u64| Reading { at_ns: start_ns + length_ns * n / times, value: 1_000 + varied * n };
        let counter = Counter {
            name: (*name).to_owned(),
            unit: (*unit).to_owned(),
            kind: CounterKind::Counter,
        };
        Trace { counter, readings: (0..*times).map(reading).collect() }
    };
    COUNTERS.iter().map(trace).collect()
}
