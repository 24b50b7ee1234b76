//! What a run and a point are, apart from what was measured: plain data for people.

use std::collections::BTreeMap;

use plumb_model::{
    Companion, Goal, Id, ParameterType, PlannedPoint, PreparationRecord, Role, RunRecord,
    RunStatus, Sampling,
};
use plumb_stats::describe::mean;

pub use plumb_model::{PointFacts, ShownParameter};

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

    /// The mean over runs; None without runs.
    pub(crate) fn mean_of(runs: &[Self]) -> Option<Self> {
        let users: Vec<f64> = runs.iter().map(|run| run.user).collect();
        let systems: Vec<f64> = runs.iter().map(|run| run.system).collect();
        let waits: Vec<f64> = runs.iter().map(|run| run.iowait).collect();
        Some(Self { user: mean(&users)?, system: mean(&systems)?, iowait: mean(&waits)? })
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
            Some(Sampling::Batch { .. } | Sampling::Short { .. }) | None => None,
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
        is_ceiling: planned.is_ceiling,
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

/// Names of the loads among these companions.
pub(crate) fn loads<'c>(companions: impl Iterator<Item = &'c Companion>) -> Vec<String> {
    let loads = companions.filter(|companion| companion.role == Role::Load);
    loads.map(|load| load.point.name()).collect()
}
