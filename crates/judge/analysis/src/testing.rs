//! Records made by hand, realistic enough for tests of everything that reads records.
//!
//! Numbers come from a seeded generator: the same record on every machine.

mod compared;
mod events;
mod first_look;
mod remote_disk;
pub mod series;
mod years;

use std::collections::BTreeMap;

use plumb_model::{
    Better, Companion, Decision, Description, Environment, Flag, Goal, Host, Id, InvocationEnd,
    InvocationRecord, Machine, Metric, MetricSource, Missing, Outcome, Owner, Parameter,
    ParameterType, Plan, PlannedPoint, Point, Program, Ready, Role, RunRecord, RunStatus, SampleIs,
    Samples, Segment, Settings, StopReason, StoppingRules, Target, Usage, Value,
};
use plumb_stats::rng::Rng;

pub use compared::{RunsAtHand, compared, compared_without_records};
pub use events::events;
pub use first_look::{exec, first_look};
pub use remote_disk::remote_disk;
pub use years::run_of_years;

/// A point to be measured, and what it gives.
#[derive(Debug, Clone, Copy)]
pub struct Spec {
    /// The workload's id.
    pub id: &'static str,
    /// Name of its metric.
    pub metric: &'static str,
    /// Unit of its metric; a unit a second is a rate, `s` is a time.
    pub unit: &'static str,
    /// `name=default,value` of each parameter; the value may be left out.
    pub parameters: &'static [(&'static str, ParameterType, &'static str, &'static str)],
    /// The level around which values scatter, in the unit.
    pub value: f64,
    /// Relative deviation of samples within a process.
    pub within: f64,
    /// Relative deviation of processes.
    pub between: f64,
    /// Number of processes, or of samples where a sample is a process.
    pub processes: usize,
    /// Steady samples of each process; 0 where a sample is a process.
    pub samples: usize,
    /// Percent of wall time in user mode, in kernel mode and waiting for devices.
    pub cpu: (u64, u64, u64),
    /// Peak memory in MiB.
    pub memory_mib: u64,
}

/// Copying of memory on a quiet machine: what others are made of, `Spec { processes: 5, ..COPY }`.
pub const COPY: Spec = Spec {
    id: "memory.copy",
    metric: "bandwidth",
    unit: "B/s",
    parameters: &[],
    value: 1e10,
    within: 0.01,
    between: 0.005,
    processes: 12,
    samples: 10,
    cpu: (90, 5, 1),
    memory_mib: 8,
};

const START_UNIX_NS: i64 = 1_795_291_512_000_000_000;
const START_NS: u64 = 86_400_000_000_000;
const SAMPLE_NS: f64 = 8e6;
/// Samples before steady state.
const WARM: usize = 2;

/// Builds a record.
#[derive(Debug)]
pub struct Builder {
    record: RunRecord,
    rng: Rng,
    now_ns: u64,
}

impl Builder {
    /// A run of a suite without points yet, on a small virtual machine.
    #[must_use]
    pub fn new(suite: Option<&str>) -> Self {
        Self { record: empty(suite), rng: Rng::new(7), now_ns: START_NS + 2_000_000_000 }
    }

    /// Plans a point and measures it.
    #[must_use]
    pub fn measured(self, spec: &Spec) -> Self {
        let mut builder = self.planned(spec);
        let point = builder.record.plan.points.len() - 1;
        if spec.samples == 0 {
            builder.invoke(point, spec, 0, spec.processes, 0);
        } else {
            let rounds = u32::try_from(spec.processes).unwrap_or(0);
            (0..rounds).for_each(|round| builder.invoke(point, spec, round, spec.samples, WARM));
        }
        builder
    }

    /// Plans a point and does not measure it.
    #[must_use]
    pub fn planned(mut self, spec: &Spec) -> Self {
        let description = description(spec);
        let given: Settings = spec
            .parameters
            .iter()
            .filter(|(.., value)| !value.is_empty())
            .map(|(name, _, _, value)| ((*name).to_owned(), Value::Text((*value).to_owned())))
            .collect();
        let point = Point::new(&description, &given, 2).unwrap_or_else(|_| Point {
            workload: spec.id.to_owned(),
            settings: Settings::new(),
            key: String::new(),
            conditions: Vec::new(),
        });
        let program = Program { argv: vec!["plumb".into(), "worker".into(), spec.id.into()] };
        self.record.plan.points.push(PlannedPoint::new(point, description, program));
        self
    }

    /// Changes the point that was planned last.
    #[must_use]
    pub fn last_point(mut self, change: impl FnOnce(&mut PlannedPoint)) -> Self {
        if let Some(point) = self.record.plan.points.last_mut() {
            change(point);
        }
        self
    }

    /// Changes every invocation of the point that was planned last; the index counts from 0.
    #[must_use]
    pub fn invocations(mut self, change: impl Fn(usize, &mut InvocationRecord)) -> Self {
        let last = self.record.plan.points.len().saturating_sub(1);
        let of_last = self.record.invocations.iter_mut().filter(|i| i.point == last);
        of_last.enumerate().for_each(|(index, invocation)| change(index, invocation));
        self
    }

    /// Says that the strategy stopped the point that was planned last.
    #[must_use]
    pub fn stopped(mut self, reason: StopReason) -> Self {
        let point = self.record.plan.points.len().saturating_sub(1);
        let invocations = self.record.invocations.iter().filter(|i| i.point == point).count();
        self.record.decisions.push(Decision {
            point,
            invocations,
            samples: 0,
            look: None,
            stop: Some(reason),
            wanted: None,
            remaining_ns: None,
            compared: None,
            outlook: None,
        });
        self
    }

    /// Says that the point that was planned last can't be measured.
    #[must_use]
    pub fn unsupported(mut self, why: &str, fix: &str) -> Self {
        let point = self.record.plan.points.len().saturating_sub(1);
        self.record.unsupported.push(Missing { point, why: why.to_owned(), fix: fix.to_owned() });
        self
    }

    /// Changes whatever has no method here.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut RunRecord)) -> Self {
        change(&mut self.record);
        self
    }

    /// The finished record of the run.
    #[must_use]
    pub fn build(self) -> RunRecord {
        let took = i64::try_from(self.now_ns - START_NS).unwrap_or(0) + 1_000_000_000;
        let mut record = self.record;
        record.ended_unix_ns = record.ended_unix_ns.map(|_| record.started_unix_ns + took);
        record
    }

    fn invoke(&mut self, point: usize, spec: &Spec, round: u32, samples: usize, warm: usize) {
        let level = spec.value * (1.0 + spec.between * self.rng.normal());
        let started = self.now_ns;
        let samples = self.samples(spec, level, samples, warm);
        let wall_ns: u64 = samples.elapsed_ns.iter().sum();
        let share = |percent: u64| wall_ns / 100 * percent;
        let target = 0;
        self.now_ns = started + wall_ns + 5_000_000;
        self.record.invocations.push(InvocationRecord {
            invocation: Id::from_u128(u128::from(self.rng.next_u64())),
            point,
            role: Role::Workload,
            round,
            position: u32::try_from(point).unwrap_or(0),
            segment: 0,
            target,
            environment: 0,
            seed: 1,
            ready: Ready::default(),
            samples,
            usage: vec![Usage {
                wall_ns,
                user_ns: share(spec.cpu.0),
                system_ns: share(spec.cpu.1),
                iowait_ns: share(spec.cpu.2),
                ..Usage::default()
            }],
            flags: Vec::new(),
            interference: Vec::new(),
            excluded_by: None,
            end: Some(InvocationEnd {
                outcome: Outcome::Done,
                steady_start: warm,
                warmup: if spec.samples == 0 { String::new() } else { "flat".to_owned() },
                method: 1,
                peak_memory_bytes: spec.memory_mib << 20,
                log: String::new(),
            }),
        });
    }

    /// Samples around a level; the first few are slower.
    fn samples(&mut self, spec: &Spec, level: f64, steady: usize, warm: usize) -> Samples {
        let mut samples = Samples::default();
        let mut start = self.now_ns;
        for i in 0..warm + steady {
            let slow = if i < warm { 0.9 } else { 1.0 };
            let value = level * slow * (1.0 + spec.within * self.rng.normal()).max(0.05);
            let (iterations, elapsed) = timed(spec, value);
            samples.start_ns.push(start);
            samples.elapsed_ns.push(elapsed);
            samples.iterations.push(iterations);
            samples.cpu.push(i32::from(self.rng.coin()));
            start += elapsed + 1_000;
        }
        samples
    }
}

/// Iterations and time that give this value.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made-up numbers of ordinary size"
)]
fn timed(spec: &Spec, value: f64) -> (u64, u64) {
    let each_ns = if spec.unit == "s" { value * 1e9 } else { 1e9 / value };
    let alone = spec.samples == 0 || each_ns > SAMPLE_NS;
    let iterations = if alone { 1 } else { (SAMPLE_NS / each_ns).ceil() as u64 };
    (iterations, ((each_ns * iterations as f64).round() as u64).max(1))
}

fn description(spec: &Spec) -> Description {
    let time = spec.unit == "s";
    Description {
        parameters: spec.parameters.iter().map(parameter).collect(),
        metrics: vec![Metric::new(
            spec.metric,
            spec.unit,
            if time { Better::Lower } else { Better::Higher },
            if time { MetricSource::Time } else { MetricSource::Rate },
            format!("{} of {}", spec.metric, spec.id),
        )],
        sample_is: if spec.samples == 0 { SampleIs::Process } else { SampleIs::Iteration },
        ..Description::new(spec.id, format!("what {} does", spec.id))
    }
}

fn parameter(&(name, kind, default, _): &(&str, ParameterType, &str, &str)) -> Parameter {
    Parameter::new(name, kind, Value::Text(default.to_owned()), "")
}

fn facts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn target() -> Target {
    let machine = facts(&[
        ("cpu", "Intel(R) Xeon(R) Processor @ 2.30GHz"),
        ("cpus", "2"),
        ("memory", "24 GiB"),
        ("vendor", "QEMU"),
        ("virtualisation", "virtual machine (QEMU)"),
    ]);
    let environment = facts(&[
        ("kernel", "6.18.44"),
        ("os", "Debian GNU/Linux 12 (bookworm)"),
        ("filesystem", "ext4"),
        ("device", "/dev/vda"),
    ]);
    Target {
        name: "local".into(),
        host: Host::UNKNOWN,
        machine: Machine { fingerprint: "fp1:8a51c6ef20b7d943".into(), facts: machine },
        environment: Environment {
            fingerprint: "env1:0c4de1b98a7f6523".into(),
            facts: environment,
        },
    }
}

fn empty(suite: Option<&str>) -> RunRecord {
    RunRecord {
        run: Id::from_u128(0x019a_a821_51c0_7c3e_9d1f_4b6a_22e0_8f57),
        started_unix_ns: START_UNIX_NS,
        ended_unix_ns: Some(START_UNIX_NS),
        status: RunStatus::Complete,
        plumb: "0.1.0".into(),
        command: vec!["plumb".into(), "run".into()],
        plan: Plan {
            suite: suite.map(str::to_owned),
            points: Vec::new(),
            companions: Vec::new(),
            goal: Goal::Rules(StoppingRules::precision(0.03)),
            budget_ns: Some(120_000_000_000),
            spread_ns: None,
            seed: 42,
            dir: "/srv/bench/plumb-target".into(),
            labels: BTreeMap::new(),
            against_first: false,
            expectations: Vec::new(),
            preparation: Vec::new(),
            monitors: Vec::new(),
            on_interference: plumb_model::OnInterference::Keep,
            hides_secrets: false,
        },
        segments: vec![Segment {
            segment: 0,
            started_unix_ns: START_UNIX_NS,
            monotonic_ns: START_NS,
            owner: Owner { pid: 4242, start_ticks: 8_640_000, boot_id: "b0".into() },
        }],
        targets: vec![target()],
        environments: vec![target().environment],
        invocations: Vec::new(),
        decisions: Vec::new(),
        unsupported: Vec::new(),
        fixtures: Vec::new(),
        preparations: Vec::new(),
        log: Vec::new(),
    }
}

/// A companion of this role.
#[must_use]
pub fn companion(spec: &Spec, role: Role) -> Option<Companion> {
    let mut record = Builder::new(None).planned(spec).build();
    record.plan.points.pop().map(|point| Companion {
        role,
        point,
        slot: plumb_model::PreparationSlot::Run,
        of_points: false,
    })
}

/// Gives an invocation this flag.
pub fn flag(invocation: &mut InvocationRecord, flag: Flag) {
    invocation.flags.push(flag);
}

/// Makes an invocation fail.
pub fn fail(invocation: &mut InvocationRecord, why: &str, log: &str) {
    if let Some(end) = &mut invocation.end {
        end.outcome = Outcome::Failed(why.to_owned());
        end.log = log.to_owned();
    }
}
