//! A fake clock, simulated workloads and a listener that keeps everything.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use plumb_engine::{
    Clock, Ended, EngineError, Identity, MonitorReader, RunContext, SharedGate, run,
};
use plumb_launch::{InvocationSession, LaunchRefusal, Launcher, ProcessEnd, SlotReport, StartSpec};
use plumb_machine::Moment;
use plumb_model::{
    Better, Counter, CounterKind, Decision, Description, Environment, Event, EventSink, Goal,
    InvocationRecord, Machine, Metric, MetricSource, Owner, Plan, PlannedPoint, Point,
    PreparationSlot, Prepared, Program, Reading, Readings, Ready, Role, RunRecord, RunStatus,
    Samples, SearchEffort, Searched, Segment, SharedStart, SinkError, Stamped, StoppingRules,
    Target, Trace, Usage, trial_samples,
};
use plumb_protocol::SampleReply;
use plumb_stats::rng::Rng;

/// How a simulated workload behaves. One iteration takes about a microsecond.
#[derive(Debug, Clone, Copy)]
pub enum FakeBehaviour {
    /// Normal noise around one level.
    Steady { noise: f64 },
    /// Half as fast for so many samples.
    WarmsUp { samples: usize },
    /// By so much slower than the steady ones.
    Slower { share: f64 },
    /// By so much slower in a process that starts right after a pause.
    SlowAfterPauses { share: f64 },
    /// Slower and faster by so much, in waves of some 600 processes of the run.
    Drifts { share: f64 },
    /// Every process is at another level.
    Jumps { noise: f64 },
    /// Steady, and reports a second metric `tail` with so much noise between processes.
    RoughTail { noise: f64 },
    /// Does so many operations per second and loses the rest, so much more or fewer from process to process.
    Bears { capacity: f64, noise: f64 },
    /// Steady, and has only so many samples.
    HasOnly { supply: u64 },
    /// Counts more good operations than were offered, from this trial on.
    Overcounts { trial: usize },
    /// Steady, and says before each sample what it is doing.
    Talks { noise: f64 },
    /// Steady, but does not answer any more after so many requests for samples; at 0 it does not even answer the calibration.
    Hangs { after: usize },
    /// Fails while sampling.
    Fails,
    /// Can't run here.
    Unsupported,
    /// Can't run here any more once it has been measured.
    Vanishes,
}

/// Everything that a test needs.
pub struct Fake {
    kinds: Vec<FakeBehaviour>,
    clock: FakeClock,
    rng: Rng,
    seen: Vec<Stamped>,
    /// Iterations of every batch, in spec.
    pub asked: Vec<Vec<u64>>,
    /// After so many events the listener fails.
    pub sink_fails_after: Option<usize>,
    /// Where invocations wait for other machines.
    gate: Option<FakeGate>,
    /// Whether the hypervisor takes CPU time next to an invocation, by its number.
    pub disturbs: fn(usize) -> bool,
    /// Whether it takes CPU time whenever an invocation of this point runs.
    pub disturbs_point: Option<usize>,
    /// When the user presses Ctrl-C.
    pub interrupt_at_ns: Option<u64>,
}

/// The time, and when it last slept.
#[derive(Clone, Default)]
struct FakeClock(Rc<Cell<u64>>, Rc<Cell<u64>>);

impl FakeClock {
    fn pass(&self, ns: u64) {
        self.0.set(self.0.get() + ns);
    }

    fn slept_ns_ago(&self) -> u64 {
        self.0.get() - self.1.get()
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Moment {
        Moment { monotonic_ns: self.0.get(), unix_ns: i64::try_from(self.0.get()).unwrap() }
    }

    fn sleep(&self, ns: u64) {
        self.pass(ns);
        self.1.set(self.0.get());
    }
}

/// Other machines that are ready some time later.
struct FakeGate {
    clock: FakeClock,
    others_ns: u64,
    /// When the user presses Ctrl-C.
    stop_at_ns: Option<u64>,
    waited: Rc<RefCell<Vec<(u32, u32)>>>,
}

impl SharedGate for FakeGate {
    fn wait(&self, round: u32, turn: u32) -> Option<SharedStart> {
        self.waited.borrow_mut().push((round, turn));
        self.clock.pass(self.others_ns);
        if self.stop_at_ns.is_some_and(|at_ns| self.clock.0.get() >= at_ns) {
            return None;
        }
        Some(SharedStart { at_ns: self.clock.0.get(), ahead_ns: 0, error_ns: 0 })
    }
}

struct Sink<'s> {
    seen: &'s mut Vec<Stamped>,
    fails_after: Option<usize>,
}

impl EventSink for Sink<'_> {
    fn take(&mut self, event: &Stamped) -> Result<(), SinkError> {
        if self.fails_after.is_some_and(|after| self.seen.len() >= after) {
            return Err(SinkError("the store is full".into()));
        }
        self.seen.push(event.clone());
        Ok(())
    }
}

struct FakeLauncher<'f> {
    kinds: &'f [FakeBehaviour],
    clock: FakeClock,
    rng: &'f mut Rng,
    asked: &'f mut Vec<Vec<u64>>,
    /// What is prepared now.
    held: Vec<(PreparationSlot, Vec<String>)>,
    /// What runs next to now.
    beside: Vec<usize>,
    /// When no answer is waited for any longer.
    until_ns: Option<u64>,
}

struct FakeSession<'s> {
    kind: FakeBehaviour,
    /// What it bears of its capacity.
    level: f64,
    trials: usize,
    clock: FakeClock,
    rng: &'s mut Rng,
    asked: &'s mut Vec<Vec<u64>>,
    /// Of a stream: the interval and how many of them.
    left: (u64, u64),
    /// When no answer is waited for any longer.
    until_ns: Option<u64>,
}

impl FakeSession<'_> {
    /// Waits for an answer that does not come, which may be late by one sample.
    fn silent(&self, sample_ns: u64) -> LaunchRefusal {
        let Some(until_ns) = self.until_ns else { return LaunchRefusal::Failed("silent".into()) };
        self.clock.pass((until_ns + sample_ns).saturating_sub(self.clock.now().monotonic_ns));
        LaunchRefusal::OutOfTime
    }
}

/// Spawn and set-up of a simulated process, in nanoseconds.
const SPAWN_NS: u64 = 5_000_000;

/// The companion that can't run here, by its index.
pub const LACKING: usize = 9;

impl Launcher for FakeLauncher<'_> {
    fn end_within(&mut self, left_ns: u64) {
        self.until_ns = Some(self.clock.now().monotonic_ns + left_ns);
    }

    fn apply(
        &mut self,
        slot: PreparationSlot,
        point: Option<&PlannedPoint>,
    ) -> Result<SlotReport, LaunchRefusal> {
        let own = point.map(|point| point.preparation.clone()).unwrap_or_default();
        let names: Vec<String> = own.iter().map(plumb_model::Preparation::name).collect();
        let prepared = |name: &String| Prepared {
            setting: name.clone(),
            was: "before".into(),
            became: "after".into(),
        };
        self.held.push((slot, names.clone()));
        Ok(SlotReport { prepared: names.iter().map(prepared).collect(), ..SlotReport::default() })
    }

    fn undo(&mut self, slot: PreparationSlot) -> Result<SlotReport, LaunchRefusal> {
        let (held, restored) = self.held.pop().unwrap();
        assert_eq!(held, slot);
        Ok(SlotReport { restored, ..SlotReport::default() })
    }

    fn prepare(
        &mut self,
        _: &PlannedPoint,
        _: &mut dyn FnMut(&str),
    ) -> Result<Option<(String, Ready)>, LaunchRefusal> {
        Ok(None)
    }

    fn start(
        &mut self,
        spec: StartSpec<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Box<dyn InvocationSession + '_>, Ready), LaunchRefusal> {
        self.clock.pass(SPAWN_NS);
        assert_eq!(self.beside, spec.planned.beside);
        let index: usize =
            spec.planned.point.workload.trim_start_matches("fake.w").parse().unwrap();
        let kind = self.kinds[index];
        let has_vanished = matches!(kind, FakeBehaviour::Vanishes) && !self.asked.is_empty();
        if has_vanished || matches!(kind, FakeBehaviour::Unsupported) {
            return Err(LaunchRefusal::Unsupported {
                why: "no such device".into(),
                fix: "buy one".into(),
            });
        }
        if matches!(kind, FakeBehaviour::Talks { .. }) {
            progress("sets up");
        }
        let level = match kind {
            FakeBehaviour::Bears { noise, .. } => (noise * self.rng.normal()).exp(),
            _ => 1.0,
        };
        let session = FakeSession {
            kind,
            level,
            trials: 0,
            clock: self.clock.clone(),
            rng: &mut *self.rng,
            asked: &mut *self.asked,
            left: (0, 0),
            until_ns: self.until_ns,
        };
        let supply = match kind {
            FakeBehaviour::HasOnly { supply } => Some(supply),
            _ => None,
        };
        Ok((Box::new(session), Ready { supply, ..Ready::default() }))
    }

    fn companions(&mut self) -> Result<Vec<(usize, SampleReply)>, LaunchRefusal> {
        Ok(Vec::new())
    }

    fn start_companions(
        &mut self,
        point: Option<&PlannedPoint>,
    ) -> Result<Vec<(usize, Ready)>, LaunchRefusal> {
        let beside = point.map(|point| point.beside.clone()).unwrap_or_default();
        if beside.contains(&LACKING) {
            return Err(LaunchRefusal::Unsupported {
                why: "no such load".into(),
                fix: String::new(),
            });
        }
        self.beside.extend(beside.iter().copied());
        Ok(beside.into_iter().map(|index| (index, Ready::default())).collect())
    }

    fn end_companions(&mut self) -> Result<(), LaunchRefusal> {
        self.beside.clear();
        Ok(())
    }

    fn finish(&mut self) -> Result<(), LaunchRefusal> {
        Ok(())
    }
}

impl InvocationSession for FakeSession<'_> {
    fn calibrate(
        &mut self,
        target_ns: u64,
        _: &mut dyn FnMut(&str),
    ) -> Result<(u64, u64), LaunchRefusal> {
        if matches!(self.kind, FakeBehaviour::Hangs { after: 0 }) {
            return Err(self.silent(0));
        }
        self.clock.pass(target_ns);
        Ok((target_ns / 1000, target_ns))
    }

    fn begin_stream(&mut self, interval_ns: u64, duration_ns: u64) -> Result<(), LaunchRefusal> {
        self.left = (interval_ns, duration_ns / interval_ns);
        Ok(())
    }

    fn streamed(&mut self, _: &mut dyn FnMut(&str)) -> Result<Option<SampleReply>, LaunchRefusal> {
        let (interval_ns, left) = self.left;
        let Some(left) = left.checked_sub(1) else { return Ok(None) };
        self.left = (interval_ns, left);
        let start_ns = self.clock.now().monotonic_ns;
        self.clock.pass(interval_ns);
        let samples = Samples {
            start_ns: vec![start_ns],
            elapsed_ns: vec![interval_ns],
            iterations: vec![1000],
            cpu: vec![-1],
            ..Samples::default()
        };
        Ok(Some(SampleReply { samples, ..SampleReply::default() }))
    }

    fn sample(
        &mut self,
        iterations: &[u64],
        expected_ns: u64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<SampleReply, LaunchRefusal> {
        self.asked.push(iterations.to_vec());
        if matches!(self.kind, FakeBehaviour::Fails) {
            return Err(LaunchRefusal::Failed("a wrong result".into()));
        }
        if matches!(self.kind, FakeBehaviour::Hangs { after } if self.asked.len() > after) {
            return Err(self.silent(expected_ns / iterations.len() as u64));
        }
        let mut samples = Samples::default();
        let level = match self.kind {
            FakeBehaviour::Jumps { noise } => (noise * self.rng.normal()).exp(),
            FakeBehaviour::Slower { share } => 1.0 + share,
            FakeBehaviour::Drifts { share } => {
                1.0 + share * (self.asked.len() as f64 / 100.0).sin()
            }
            FakeBehaviour::SlowAfterPauses { share } if self.clock.slept_ns_ago() <= SPAWN_NS => {
                1.0 + share
            }
            _ => 1.0,
        };
        if let FakeBehaviour::RoughTail { noise } = self.kind {
            let tail = (noise * self.rng.normal()).exp();
            samples.values.insert("tail".into(), vec![tail; iterations.len()]);
        }
        for (i, &k) in iterations.iter().enumerate() {
            let (noise, slow) = match self.kind {
                FakeBehaviour::RoughTail { .. } => (0.01, 1.0),
                FakeBehaviour::Steady { noise } => (noise, 1.0),
                FakeBehaviour::Hangs { .. }
                | FakeBehaviour::HasOnly { .. }
                | FakeBehaviour::Vanishes => (0.01, 1.0),
                FakeBehaviour::Talks { noise } => {
                    progress(&format!("sample {} of {}", i + 1, iterations.len()));
                    (noise, 1.0)
                }
                FakeBehaviour::WarmsUp { samples } => (0.01, if i < samples { 2.0 } else { 1.0 }),
                FakeBehaviour::Slower { .. }
                | FakeBehaviour::Drifts { .. }
                | FakeBehaviour::SlowAfterPauses { .. }
                | FakeBehaviour::Jumps { .. } => (0.01, level),
                FakeBehaviour::Bears { .. }
                | FakeBehaviour::Overcounts { .. }
                | FakeBehaviour::Fails
                | FakeBehaviour::Unsupported => {
                    unreachable!()
                }
            };
            let factor = (noise * self.rng.normal()).exp() * slow;
            let elapsed = (k as f64 * 1000.0 * factor) as u64;
            samples.start_ns.push(self.clock.now().monotonic_ns);
            samples.elapsed_ns.push(elapsed.max(1));
            samples.iterations.push(k);
            samples.cpu.push(0);
            self.clock.pass(elapsed);
        }
        Ok(SampleReply { samples, usage: Usage::default(), flags: Vec::new() })
    }

    fn trial(
        &mut self,
        load: f64,
        duration_ns: u64,
        _: &mut dyn FnMut(&str),
    ) -> Result<SampleReply, LaunchRefusal> {
        let start_ns = self.clock.now().monotonic_ns;
        self.clock.pass(duration_ns);
        self.trials += 1;
        let offered = (load * duration_ns as f64 * 1e-9).round();
        let good = match self.kind {
            FakeBehaviour::Bears { capacity, .. } => {
                offered.min(capacity * self.level * duration_ns as f64 * 1e-9)
            }
            FakeBehaviour::Overcounts { trial } if self.trials >= trial => offered + 1.0,
            _ => 0.0,
        };
        let mut samples = trial_samples(start_ns, duration_ns, 0, offered as u64, good as u64);
        samples.values.insert("good".into(), vec![good.floor()]);
        Ok(SampleReply { samples, usage: Usage::default(), flags: Vec::new() })
    }

    fn stop(self: Box<Self>) -> Result<ProcessEnd, LaunchRefusal> {
        Ok(ProcessEnd::default())
    }
}

/// Reads the CPU times of a machine of one CPU.
struct FakeMonitorReader {
    clock: FakeClock,
    began_ns: u64,
    disturbs: fn(usize) -> bool,
    disturbs_point: Option<usize>,
    point: usize,
    seen: usize,
}

impl MonitorReader for FakeMonitorReader {
    fn begin(&mut self, point: usize, _: Option<u32>) {
        self.point = point;
        self.began_ns = self.clock.0.get();
    }

    fn end(&mut self) -> Readings {
        let from = self.began_ns;
        let to = self.clock.0.get();
        let is_disturbed = (self.disturbs)(self.seen) || self.disturbs_point == Some(self.point);
        let stolen = if is_disturbed { 50 } else { 0 };
        self.seen += 1;
        let trace = |name: &str, moved| Trace {
            counter: Counter { name: name.into(), unit: "tick".into(), kind: CounterKind::Counter },
            readings: vec![Reading { at_ns: from, value: 0 }, Reading { at_ns: to, value: moved }],
        };
        let traces = vec![trace("stat.user", 100), trace("stat.steal", stolen)];
        Readings { traces, ..Readings::default() }
    }
}

impl Fake {
    pub fn new(kinds: Vec<FakeBehaviour>) -> Self {
        Self {
            kinds,
            clock: FakeClock::default(),
            rng: Rng::new(7),
            seen: Vec::new(),
            asked: Vec::new(),
            sink_fails_after: None,
            gate: None,
            disturbs: |_| false,
            disturbs_point: None,
            interrupt_at_ns: None,
        }
    }

    /// Measures together with machines that are ready so much later each time. What waited is added to the list: round and turn.
    pub fn wait_for_others(&mut self, others_ns: u64) -> Rc<RefCell<Vec<(u32, u32)>>> {
        let waited = Rc::default();
        self.gate = Some(FakeGate {
            clock: self.clock.clone(),
            others_ns,
            stop_at_ns: self.interrupt_at_ns,
            waited: Rc::clone(&waited),
        });
        waited
    }

    pub fn run(&mut self, plan: &Plan) -> Result<Ended, EngineError> {
        self.execute(plan, None)
    }

    pub fn resume(&mut self, plan: &Plan, before: &RunRecord) -> Result<Ended, EngineError> {
        self.execute(plan, Some(before))
    }

    fn execute(&mut self, plan: &Plan, before: Option<&RunRecord>) -> Result<Ended, EngineError> {
        let clock = self.clock.clone();
        let watched = clock.clone();
        let at = self.interrupt_at_ns;
        let mut launcher = FakeLauncher {
            kinds: &self.kinds,
            clock: clock.clone(),
            rng: &mut self.rng,
            asked: &mut self.asked,
            held: Vec::new(),
            beside: Vec::new(),
            until_ns: None,
        };
        let mut sink = Sink { seen: &mut self.seen, fails_after: self.sink_fails_after };
        let interrupted = move || at.is_some_and(|at| watched.0.get() >= at);
        let mut monitors = FakeMonitorReader {
            clock: clock.clone(),
            began_ns: 0,
            disturbs: self.disturbs,
            disturbs_point: self.disturbs_point,
            point: 0,
            seen: 0,
        };
        let context = RunContext {
            clock: &clock,
            monitors: &mut monitors,
            interrupted: &interrupted,
            gate: self.gate.as_ref().map(|gate| gate as &dyn SharedGate),
        };
        run(plan, before, &identity(), context, &mut launcher, &mut sink)
    }

    pub fn stamped(&self) -> &[Stamped] {
        &self.seen
    }

    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.seen.iter().map(|stamped| &stamped.event)
    }

    pub fn now_ns(&self) -> u64 {
        self.clock.0.get()
    }

    pub fn decisions(&self, point: usize) -> Vec<Decision> {
        let all = self.events().filter_map(|event| match event {
            Event::Decided(decision) if decision.point == point => Some((**decision).clone()),
            _ => None,
        });
        all.collect()
    }

    pub fn last_decision(&self, point: usize) -> Decision {
        self.decisions(point).pop().unwrap()
    }

    /// Mean time of an invocation, in nanoseconds.
    pub fn spent_each_ns(&self) -> f64 {
        let batches: Vec<u64> =
            self.asked.iter().map(|batch| batch.iter().sum::<u64>() * 1000).collect();
        batches.iter().sum::<u64>() as f64 / batches.len() as f64 + SPAWN_NS as f64
    }

    /// The record that a store would return.
    pub fn record(&self, plan: &Plan) -> RunRecord {
        let mut invocations: Vec<InvocationRecord> = Vec::new();
        for event in self.events() {
            match event {
                Event::InvocationStarted { invocation, point, round, ready, .. } => {
                    invocations.push(InvocationRecord {
                        invocation: *invocation,
                        point: *point,
                        role: Role::Workload,
                        round: *round,
                        position: 0,
                        segment: 0,
                        target: 0,
                        environment: 0,
                        seed: 0,
                        ready: (**ready).clone(),
                        samples: Samples::default(),
                        usage: Vec::new(),
                        flags: Vec::new(),
                        interference: Vec::new(),
                        excluded_by: None,
                        end: None,
                    });
                }
                Event::Batch { samples, .. } => {
                    let last = invocations.last_mut().unwrap();
                    last.samples.append((**samples).clone()).unwrap();
                }
                Event::InvocationEnded { end, .. } => {
                    invocations.last_mut().unwrap().end = Some((**end).clone());
                }
                Event::Monitored { interference, .. } => {
                    invocations.last_mut().unwrap().interference = interference.clone();
                }
                Event::Excluded { invocation, by } => {
                    let mut all = invocations.iter_mut();
                    let excluded = all.find(|started| started.invocation == *invocation).unwrap();
                    excluded.excluded_by = Some(by.clone());
                }
                _ => {}
            }
        }
        RunRecord {
            run: identity().run,
            started_unix_ns: 0,
            ended_unix_ns: None,
            status: RunStatus::Interrupted,
            plumb: "0".into(),
            command: Vec::new(),
            plan: plan.clone(),
            segments: vec![Segment {
                segment: 0,
                started_unix_ns: 0,
                monotonic_ns: 0,
                owner: identity().owner,
            }],
            targets: vec![identity().target],
            environments: vec![identity().target.environment],
            invocations,
            decisions: Vec::new(),
            unsupported: Vec::new(),
            fixtures: Vec::new(),
            preparations: Vec::new(),
            log: Vec::new(),
        }
    }
}

fn identity() -> Identity {
    let facts = BTreeMap::new;
    Identity {
        run: plumb_model::Id::nil(),
        plumb: "0".into(),
        command: Vec::new(),
        owner: Owner { pid: 1, start_ticks: 1, boot_id: "b".into() },
        target: Target {
            name: "local".into(),
            host: plumb_model::Host::UNKNOWN,
            machine: Machine { fingerprint: "fp1:0".into(), facts: facts() },
            environment: Environment { fingerprint: "env1:0".into(), facts: facts() },
        },
        prepared: SlotReport::default(),
    }
}

pub fn precision(relative: f64) -> Goal {
    Goal::Rules(StoppingRules::precision(relative))
}

/// A plan of so many simulated points.
pub fn plan(points: usize, goal: Goal) -> Plan {
    Plan {
        suite: None,
        points: (0..points).map(planned).collect(),
        companions: Vec::new(),
        goal,
        budget_ns: None,
        spread_ns: None,
        seed: 11,
        dir: "/nowhere".into(),
        labels: BTreeMap::new(),
        against_first: false,
        expectations: Vec::new(),
        preparation: Vec::new(),
        monitors: Vec::new(),
        on_interference: plumb_model::OnInterference::Keep,
        hides_secrets: false,
    }
}

/// A plan of so many simulated points whose limits are searched.
pub fn search_plan(points: usize, goal: Goal) -> Plan {
    let mut plan = plan(points, goal);
    let searched = Searched { from: 100.0, to: 1e6, loss_ratio: 0.0, goal: "nothing lost".into() };
    for planned in &mut plan.points {
        let metric = &mut planned.description.metrics[0];
        metric.name = "limit".into();
        (metric.source, metric.better) = (MetricSource::Search, Better::Higher);
        metric.search = Some(searched.by(SearchEffort::Quick, searched.goal.clone()));
    }
    plan
}

fn planned(index: usize) -> PlannedPoint {
    let description = Description {
        metrics: vec![Metric::new("time", "s", Better::Lower, MetricSource::Time, "")],
        ..Description::new(format!("fake.w{index}"), "")
    };
    let point = Point::new(&description, &BTreeMap::new(), 2).unwrap();
    PlannedPoint::new(point, description, Program { argv: vec!["nothing".into()] })
}
