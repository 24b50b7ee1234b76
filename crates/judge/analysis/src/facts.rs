//! What a run and a point are, apart from what was measured: plain data for people.

use std::collections::BTreeMap;

use plumb_model::{
    Companion, Goal, Id, ParameterType, PlannedPoint, PreparationRecord, Role, RunRecord,
    RunStatus, Sampling, Settings, Value,
};

/// What is known of the run as a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct RunFacts {
    /// Identity of the run.
    pub id: Id,
    /// Wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Wall-clock end, when it has one.
    pub ended_unix_ns: Option<i64>,
    /// Whether it is complete, running or interrupted.
    pub status: RunStatus,
    /// The suite's name, when it came from one.
    pub suite: Option<String>,
    /// Labels that the user gave the run, value by name.
    pub labels: BTreeMap<String, String>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Version of plumb that measured.
    pub plumb: String,
    /// The command line.
    pub command: Vec<String>,
    /// The target directory.
    pub dir: String,
    /// When a point was to be done.
    pub goal: Goal,
    /// Time that the run had, in nanoseconds.
    pub budget_ns: Option<u64>,
    /// How long each point was to stream, in nanoseconds; None where its invocations were sampled.
    pub stream_ns: Option<u64>,
    /// Stretches without interruption.
    pub segments: usize,
    /// Loads that ran beside on purpose.
    pub loads: Vec<String>,
    /// What was prepared, in order.
    pub preparations: Vec<PreparationRecord>,
}

/// A point as people know it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PointFacts {
    /// Its index in the plan.
    pub index: usize,
    /// The workload's id.
    pub workload: String,
    /// The workload's version.
    pub version: u32,
    /// What tells it from other points; empty for the default point.
    pub key: String,
    /// What people call it.
    pub name: String,
    /// Whether a person gave it that name.
    pub titled: bool,
    /// Every parameter with its value.
    pub settings: Settings,
    /// The parameters as people write them, without paths, in the order of the description; then what it was
    /// measured under.
    pub parameters: Vec<ShownParameter>,
    /// Labels of its own: `k=v`.
    pub labels: BTreeMap<String, String>,
}

impl PointFacts {
    /// The value of a parameter, where it is a number.
    #[must_use]
    pub fn number(&self, parameter: &str) -> Option<u64> {
        let value = self.settings.get(parameter)?;
        value.integer().or_else(|| match value {
            Value::Text(text) => text.parse().ok().or_else(|| plumb_units::parse_bytes(text).ok()),
            _ => None,
        })
    }

    /// The workload, with all parameters but these that are not at their defaults: `memory.copy:method=nt`.
    #[must_use]
    pub fn without(&self, parameters: &[&str]) -> String {
        let told = self
            .told(|parameter| !parameter.default && !parameters.contains(&parameter.name.as_str()));
        let colon = if told.is_empty() { "" } else { ":" };
        format!("{}{colon}{told}", self.workload)
    }

    /// These parameters alone: `up=125kB/s,rtt=75ms`.
    pub(crate) fn with_only(&self, parameters: &[String]) -> String {
        self.told(|parameter| parameters.contains(&parameter.name))
    }

    fn told(&self, which: impl Fn(&ShownParameter) -> bool) -> String {
        let told = self.parameters.iter().filter(|parameter| which(parameter));
        told.map(|parameter| format!("{}={}", parameter.name, parameter.value))
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// A parameter with its value as people write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownParameter {
    /// The parameter's name.
    pub name: String,
    /// Its value (`8MiB`).
    pub value: String,
    /// What kind of value it is.
    pub kind: ParameterType,
    /// Whether the point's key leaves it out.
    pub default: bool,
}

/// Shares of wall time; several threads add up to more than 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuShares {
    /// CPU time in user mode over wall time.
    pub user: f64,
    /// CPU time in kernel mode over wall time.
    pub system: f64,
    /// Time that the machine's CPUs idled with I/O under way, summed over CPUs, over wall time.
    pub iowait: f64,
}

impl CpuShares {
    /// User and system together.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.user + self.system
    }
}

/// What is known of the run as a whole.
pub(crate) fn run_facts(record: &RunRecord) -> RunFacts {
    RunFacts {
        id: record.run,
        started_unix_ns: record.started_unix_ns,
        ended_unix_ns: record.ended_unix_ns,
        status: record.status,
        suite: record.plan.suite.clone(),
        labels: record.plan.labels.clone(),
        seed: record.plan.seed,
        plumb: record.plumb.clone(),
        command: record.command.clone(),
        dir: record.plan.dir.clone(),
        goal: record.plan.goal.clone(),
        budget_ns: record.plan.budget_ns,
        stream_ns: record.plan.points.iter().find_map(|planned| match planned.sampling {
            Some(Sampling::Stream { length_ns }) => Some(length_ns),
            Some(Sampling::Batch { .. }) | None => None,
        }),
        segments: record.segments.len(),
        loads: loads(record.plan.beside(None)),
        preparations: record.preparations.clone(),
    }
}

/// A point as people know it.
#[must_use]
pub fn point_facts(index: usize, planned: &PlannedPoint) -> PointFacts {
    PointFacts {
        index,
        workload: planned.point.workload.clone(),
        version: planned.description.version,
        key: planned.point.key.clone(),
        name: planned.name(),
        titled: planned.title.is_some(),
        settings: planned.point.settings.clone(),
        parameters: parameters(planned),
        labels: planned.labels.clone(),
    }
}

fn parameters(planned: &PlannedPoint) -> Vec<ShownParameter> {
    let key = format!(",{}", planned.point.key);
    let conditions = planned.point.conditions.iter();
    let pairs = conditions.filter_map(|condition| condition.split_once('='));
    let under = pairs.map(|(name, value)| ShownParameter {
        name: name.to_owned(),
        value: value.to_owned(),
        kind: ParameterType::Text,
        default: false,
    });
    let shown = planned.description.parameters.iter().filter(|p| p.tells_points_apart());
    shown
        .filter_map(|parameter| {
            let value = planned.point.settings.get(&parameter.name)?;
            Some(ShownParameter {
                name: parameter.name.clone(),
                value: parameter.show(value),
                kind: parameter.kind,
                default: !key.contains(&format!(",{}=", parameter.name)),
            })
        })
        .chain(under)
        .collect()
}

/// The loads that ran beside on purpose.
pub(crate) fn loads<'c>(beside: impl Iterator<Item = &'c Companion>) -> Vec<String> {
    beside
        .filter(|planned| planned.role == Role::Load)
        .map(|planned| planned.point.name())
        .collect()
}
