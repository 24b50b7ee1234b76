//! Event streams to store, and what they say, folded in memory.

use std::collections::BTreeMap;

use plumb_model::{
    Better, Companion, Counter, CounterKind, Decision, Description, Environment, Event,
    FixtureRecord, Flag, FlagKind, Goal, Histogram, Host, Id, Interference, InvocationEnd,
    InvocationRecord, Look, Machine, MappedFile, Metric, MetricSource, Missing, Outcome, Owner,
    Plan, PlannedPoint, Point, PreparationRecord, PreparationSlot, Prepared, Program, QuantityKind,
    Reading, Readings, Ready, Role, RunRecord, RunStatus, Samples, Segment, Settings, Stamped,
    StartUp, StopReason, StoppingRules, Target, Trace, Usage, Value,
};

/// An identity that is the same in every test run.
pub fn id(n: u64) -> Id {
    Id::from_u64_pair(0x0193_2c5f_0000_7000 | n << 16, 0x8000_0000_0000_0000 | n)
}

pub fn metric(name: &str, unit: &str, source: MetricSource) -> Metric {
    Metric::new(name, unit, Better::Higher, source, "")
}

pub fn planned(workload: &str, key: &str, metrics: Vec<Metric>) -> PlannedPoint {
    let description = Description {
        roles: vec![Role::Workload, Role::Load],
        metrics,
        ..Description::new(workload, "what it is")
    };
    let mut settings = Settings::new();
    if let Some((name, value)) = key.split_once('=') {
        settings.insert(name.into(), Value::Text(value.into()));
    }
    let workload = workload.into();
    let key = key.into();
    let conditions = Vec::new();
    let point = Point { workload, settings, key, conditions };
    let program = Program { argv: vec!["plumb".into(), "worker".into()] };
    PlannedPoint::new(point, description, program)
}

/// Two points and a load: `memory.copy` by rate, `disk.read` by time with a value and a histogram.
pub fn plan(seed: u64, labels: &[(&str, &str)]) -> Plan {
    let copy =
        planned("memory.copy", "method=libc", vec![metric("bandwidth", "B/s", MetricSource::Rate)]);
    let read = planned(
        "disk.read",
        "",
        vec![
            metric("latency", "s", MetricSource::Time),
            metric("queue", "", MetricSource::Value),
            Metric { kind: QuantityKind::Histogram, ..metric("spread", "s", MetricSource::Value) },
        ],
    );
    Plan {
        suite: Some("first-look".into()),
        points: vec![copy.clone(), read],
        companions: vec![Companion {
            role: Role::Load,
            point: copy,
            slot: PreparationSlot::Run,
            of_points: false,
        }],
        goal: Goal::Rules(StoppingRules::precision(0.03)),
        budget_ns: Some(60_000_000_000),
        spread_ns: None,
        seed,
        dir: "/data".into(),
        labels: labels.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect(),
        against_first: false,
        expectations: Vec::new(),
        preparation: Vec::new(),
        monitors: Vec::new(),
        on_interference: plumb_model::OnInterference::Keep,
        hides_secrets: false,
    }
}

fn facts(name: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(name.into(), value.into())])
}

pub fn environment(kernel: &str) -> Environment {
    Environment { fingerprint: format!("env1:{kernel}"), facts: facts("kernel", kernel) }
}

pub fn target(cpu: &str) -> Target {
    Target {
        name: "local".into(),
        host: Host::default(),
        machine: Machine { fingerprint: format!("fp1:{cpu}"), facts: facts("cpu", cpu) },
        environment: environment("6.1"),
    }
}

/// A process that is gone.
pub fn owner() -> Owner {
    Owner { pid: 7, start_ticks: 12, boot_id: "a boot long ago".into() }
}

/// `n` samples back to back, a microsecond each, without reported values.
pub fn batch(start_ns: u64, n: usize) -> Samples {
    Samples {
        start_ns: (0..n as u64).map(|i| start_ns + i * 1000).collect(),
        elapsed_ns: (0..n as u64).map(|i| 1000 + i % 7).collect(),
        iterations: vec![10; n],
        cpu: vec![1; n],
        ..Samples::default()
    }
}

pub fn done(steady_start: usize) -> Box<InvocationEnd> {
    Box::new(InvocationEnd {
        outcome: Outcome::Done,
        steady_start,
        warmup: "warm-up".into(),
        method: 1,
        peak_memory_bytes: 1 << 20,
        log: String::new(),
    })
}

/// The events of a run, one after the other, a microsecond apart.
pub struct Script {
    pub run: Id,
    pub events: Vec<Stamped>,
}

impl Script {
    /// Started, its first segment begun, its target ready.
    pub fn new(run: Id, started_unix_ns: i64, labels: &[(&str, &str)]) -> Self {
        let mut script = Self { run, events: Vec::new() };
        script.say(Event::RunStarted {
            run,
            started_unix_ns,
            plumb: "0.1.0".into(),
            command: vec!["plumb".into(), "run".into()],
            plan: Box::new(plan(u64::MAX, labels)),
        });
        script.segment(0, started_unix_ns, "epyc")
    }

    pub fn say(&mut self, event: Event) {
        let at_ns = self.events.len() as u64 * 1000;
        self.events.push(Stamped { at_ns, event });
    }

    pub fn segment(mut self, segment: u32, started_unix_ns: i64, cpu: &str) -> Self {
        let run = self.run;
        self.say(Event::SegmentStarted {
            run,
            segment,
            started_unix_ns,
            monotonic_ns: 5,
            owner: owner(),
        });
        self.say(Event::TargetReady { target: 0, description: Box::new(target(cpu)) });
        self
    }

    pub fn start(&mut self, invocation: Id, point: usize, role: Role, ready: Ready) {
        let round = self.events.len() as u32;
        self.say(Event::InvocationStarted {
            invocation,
            point,
            role,
            round,
            position: 0,
            segment: 0,
            target: 0,
            seed: u64::MAX - 1,
            ready: Box::new(ready),
        });
    }

    pub fn batch(&mut self, invocation: Id, samples: Samples) {
        let usage = Usage { wall_ns: 9, device_read_bytes: Some(u64::MAX), ..Usage::default() };
        self.say(Event::Batch { invocation, samples: Box::new(samples), usage, flags: Vec::new() });
    }

    /// A whole invocation of `memory.copy`.
    pub fn copy(mut self, invocation: Id, n: usize) -> Self {
        self.start(invocation, 0, Role::Workload, work("bandwidth", 4096.0));
        self.batch(invocation, batch(1_000_000, n));
        self.say(Event::InvocationEnded { invocation, end: done(n / 10) });
        self
    }

    pub fn end(mut self, interrupted: bool) -> Self {
        self.say(Event::RunEnded { ended_unix_ns: 2_000_000_000, interrupted });
        self
    }
}

pub fn work(metric: &str, work: f64) -> Ready {
    Ready { work: BTreeMap::from([(metric.into(), work)]), ..Ready::default() }
}

/// A counter that was read on the way, a gauge, and what followed from them.
pub fn monitored(invocation: Id) -> Event {
    Event::Monitored {
        invocation,
        readings: Box::new(Readings {
            traces: vec![
                trace(
                    "stat.user",
                    "tick",
                    CounterKind::Counter,
                    &[u64::MAX - 9, u64::MAX - 7, u64::MAX],
                ),
                trace("meminfo.free", "kB", CounterKind::Gauge, &[100, 200]),
            ],
            ..Readings::default()
        }),
        interference: vec![Interference {
            rule: "steal".into(),
            first: 1,
            last: 2,
            evidence: "3 % of the CPU time".into(),
        }],
    }
}

fn trace(name: &str, unit: &str, kind: CounterKind, values: &[u64]) -> Trace {
    let counter = Counter { name: name.into(), unit: unit.into(), kind };
    let reading = |(n, &value): (u64, &u64)| Reading { at_ns: 5 + n * 1_000_000_000, value };
    Trace { counter, readings: (0..).zip(values).map(reading).collect() }
}

/// A run in which everything happens once.
pub fn eventful(run: Id, invocation: Id) -> Vec<Stamped> {
    let mut script = Script::new(run, 1_000_000_000, &[("host", "a"), ("try", "1")]);
    script.say(Event::Unsupported(Missing { point: 1, why: "no disk".into(), fix: "one".into() }));
    script.say(Event::FixtureReady {
        workload: "disk.read".into(),
        key: "size=1GiB".into(),
        bytes_on_disk: 1 << 30,
        notes: vec!["laid out".into()],
        start_up: Some(Box::new(StartUp {
            files: vec![MappedFile { path: "/lib/a.so".into(), bytes: 9, relocations: None }],
            ..StartUp::default()
        })),
    });
    let thp = |became: &str| Prepared {
        setting: "thp".into(),
        was: "madvise".into(),
        became: became.into(),
    };
    script.say(Event::Prepared(thp("always")));
    script.say(Event::RoundStarted { round: 0, points: vec![0, 1] });
    script.say(Event::Prepared(thp("never")));
    script.say(Event::Restored { setting: "thp".into() });
    let known = Flag::new(FlagKind::Tmpfs, "the folder lies in memory");
    script.start(
        invocation,
        1,
        Role::Workload,
        Ready { flags: vec![known], notes: vec!["O_DIRECT".into()], ..work("latency", 0.1 + 0.2) },
    );
    let changed = Target { environment: environment("6.2"), ..target("epyc") };
    script.say(Event::TargetReady { target: 0, description: Box::new(changed) });
    let mut samples = batch(u64::MAX / 2, 3);
    samples.values.insert("queue".into(), vec![1.0 / 3.0, -1e300, 5.0]);
    samples.values.insert("undeclared".into(), vec![1.0, 2.0, 3.0]);
    samples.values.insert("undeclared too".into(), vec![0.1, 2.0, 3.0]);
    samples.histograms.insert(
        "spread".into(),
        vec![
            Histogram::Hdr("SGlzdG9ncmFt".into()),
            Histogram::Sparse(vec![(u64::MAX, 1)]),
            Histogram::Sparse(Vec::new()),
        ],
    );
    script.say(Event::Batch {
        invocation,
        samples: Box::new(samples),
        usage: Usage::default(),
        flags: vec![Flag::new(FlagKind::Other("my-own".into()), "because")],
    });
    script.say(monitored(invocation));
    script.say(Event::InvocationEnded { invocation, end: done(1) });
    script.say(Event::Decided(Box::new(Decision {
        point: 1,
        invocations: 1,
        samples: 2,
        look: Some(Look { estimate: 0.1, low: Some(0.05), high: None, level: 0.95 }),
        stop: Some(StopReason::Precision),
        wanted: Some(0.03),
        remaining_ns: Some(u64::MAX),
        compared: Some(plumb_model::Compared {
            pairs: 12,
            verdict: Some(plumb_model::Verdict::Slower),
            pairs_needed: Some(40),
        }),
        outlook: None,
    })));
    script.say(Event::Log { text: "all is well".into() });
    script.end(false).events
}

/// The record of a run's events, gathered in memory.
pub fn fold(events: &[Stamped]) -> RunRecord {
    let mut record = None;
    for Stamped { event, at_ns } in events {
        match (event, &mut record) {
            (Event::RunStarted { run, started_unix_ns, plumb, command, plan }, record) => {
                *record = Some(RunRecord {
                    run: *run,
                    started_unix_ns: *started_unix_ns,
                    ended_unix_ns: None,
                    status: RunStatus::Interrupted,
                    plumb: plumb.clone(),
                    command: command.clone(),
                    plan: Plan::clone(plan),
                    segments: Vec::new(),
                    targets: Vec::new(),
                    environments: Vec::new(),
                    invocations: Vec::new(),
                    decisions: Vec::new(),
                    unsupported: Vec::new(),
                    fixtures: Vec::new(),
                    preparations: Vec::new(),
                    log: Vec::new(),
                });
            }
            (event, Some(record)) => fold_into(record, *at_ns, event),
            (event, None) => panic!("{event:?} before the run"),
        }
    }
    record.unwrap()
}

fn fold_into(record: &mut RunRecord, at_ns: u64, event: &Event) {
    match event {
        Event::Prepared(prepared) => record.preparations.push(PreparationRecord {
            prepared: prepared.clone(),
            segment: record.segments.last().map_or(0, |segment| segment.segment),
            at_ns,
            restored_at_ns: None,
        }),
        Event::Restored { setting } => {
            PreparationRecord::undone(&mut record.preparations, setting, at_ns);
        }
        Event::SegmentStarted { segment, started_unix_ns, monotonic_ns, owner, .. } => {
            (record.ended_unix_ns, record.status) = (None, RunStatus::Interrupted);
            record.segments.push(Segment {
                segment: *segment,
                started_unix_ns: *started_unix_ns,
                monotonic_ns: *monotonic_ns,
                owner: owner.clone(),
            });
        }
        Event::TargetReady { target, description } => {
            let target = *target as usize;
            if target < record.targets.len() {
                record.targets[target] = Target::clone(description);
            } else {
                record.targets.push(Target::clone(description));
            }
        }
        Event::Unsupported(missing) => record.unsupported.push(missing.clone()),
        Event::FixtureReady { workload, key, bytes_on_disk, notes, start_up } => {
            record.fixtures.push(FixtureRecord {
                workload: workload.clone(),
                key: key.clone(),
                bytes_on_disk: *bytes_on_disk,
                notes: notes.clone(),
                start_up: start_up.as_deref().cloned(),
            });
        }
        Event::Decided(decision) => record.decisions.push(Decision::clone(decision)),
        Event::Log { text } => record.log.push(text.clone()),
        Event::RunEnded { ended_unix_ns, interrupted } => {
            record.ended_unix_ns = Some(*ended_unix_ns);
            record.status = if *interrupted { RunStatus::Interrupted } else { RunStatus::Complete };
        }
        Event::InvocationStarted { target, .. } => {
            let environment = &record.targets[*target as usize].environment;
            let known = record.environments.iter().position(|known| known == environment);
            let index = known.unwrap_or(record.environments.len());
            if known.is_none() {
                record.environments.push(environment.clone());
            }
            fold_invocation(&mut record.invocations, event, index);
        }
        event => fold_invocation(&mut record.invocations, event, 0),
    }
}

fn find(invocations: &mut [InvocationRecord], id: Id) -> &mut InvocationRecord {
    invocations.iter_mut().find(|record| record.invocation == id).unwrap()
}

fn fold_invocation(invocations: &mut Vec<InvocationRecord>, event: &Event, environment: usize) {
    match event {
        Event::Batch { invocation, samples, usage, flags } => {
            let record = find(invocations, *invocation);
            if !samples.is_empty() {
                record.samples.append(Samples::clone(samples)).unwrap();
            }
            record.usage.push(usage.clone());
            record.flags.extend(flags.iter().cloned());
        }
        Event::Monitored { invocation, interference, .. } => {
            find(invocations, *invocation).interference = interference.clone();
        }
        Event::Excluded { invocation, by } => {
            find(invocations, *invocation).excluded_by = Some(by.clone());
        }
        Event::InvocationEnded { invocation, end } => {
            find(invocations, *invocation).end = Some(InvocationEnd::clone(end));
        }
        Event::InvocationStarted {
            invocation,
            point,
            role,
            round,
            position,
            segment,
            target,
            seed,
            ready,
        } => invocations.push(InvocationRecord {
            invocation: *invocation,
            point: *point,
            role: *role,
            round: *round,
            position: *position,
            segment: *segment,
            target: *target,
            environment,
            seed: *seed,
            ready: Ready::clone(ready),
            samples: Samples::default(),
            usage: Vec::new(),
            flags: Vec::new(),
            interference: Vec::new(),
            excluded_by: None,
            end: None,
        }),
        _ => {}
    }
}
