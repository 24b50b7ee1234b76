//! What of a run tells how much runs differ by themselves: the cost of every series, and where it was measured.

use std::collections::BTreeMap;

use plumb_model::{RunRecord, Target};

use crate::series::{environment, series_of};

/// The costs of a run's series, by their names.
pub(crate) type LogCosts = BTreeMap<String, LogCost>;

/// What a series cost in a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LogCost {
    /// The natural log of the middle of its processes.
    pub(crate) log: f64,
    /// Whether it is of the workload's first metric.
    pub(crate) first: bool,
}

/// A run of which the noise between runs is learnt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunCosts {
    /// The machine and which one of its kind.
    pub(crate) place: String,
    /// The facts of its environment that may move a number.
    pub(crate) environment: BTreeMap<String, String>,
    /// Its series.
    pub(crate) costs: LogCosts,
}

impl RunCosts {
    pub(crate) fn of(record: &RunRecord) -> Self {
        let facts = environment(record).into_iter();
        let series = series_of(record, true).into_iter();
        Self {
            place: place(record.targets.first()),
            environment: facts.map(|(field, value)| (field.into(), value.into())).collect(),
            costs: series
                .filter_map(|it| Some((LogCost { log: it.log()?, first: it.primary }, it.name)))
                .map(|(cost, name)| (name, cost))
                .collect(),
        }
    }
}

/// The machine, and which one of its kind.
pub(crate) fn place(target: Option<&Target>) -> String {
    target.map_or_else(String::new, |it| format!("{} {}", it.machine.fingerprint, it.host))
}
