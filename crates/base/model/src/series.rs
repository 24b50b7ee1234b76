//! A series in one run, and its names: what history is read from without whole records.

use std::collections::BTreeMap;

use crate::host::Host;
use crate::id::Id;
use crate::machine::{Environment, Machine};
use crate::workload::{Better, SampleIs};

/// What one run measured of one series.
#[derive(Debug, Clone, PartialEq)]
pub struct SeriesRecord {
    /// The run.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC).
    pub started_unix_ns: i64,
    /// Version of plumb.
    pub plumb: String,
    /// The run's labels.
    pub labels: BTreeMap<String, String>,
    /// The kind of machine that measured it.
    pub machine: Machine,
    /// Which one of that kind.
    pub host: Host,
    /// The environment of the first invocation.
    pub environment: Environment,
    /// Versions of the components that do the work, of the first invocation.
    pub versions: BTreeMap<String, String>,
    /// The points that ran beside it on purpose.
    pub loads: Vec<String>,
    /// The workload's version.
    pub version: u32,
    /// The clock's id.
    pub clock: String,
    /// Unit of the values.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// What an independent process is.
    pub sample_is: SampleIs,
    /// A name that a person gave the point.
    pub title: Option<String>,
    /// The steady values of every invocation that ended well, in order.
    pub invocations: Vec<Vec<f64>>,
}

impl SeriesRecord {
    /// The steady values, an entry an independent process.
    #[must_use]
    pub fn processes(&self) -> Vec<Vec<f64>> {
        match self.sample_is {
            SampleIs::Iteration => self.invocations.clone(),
            SampleIs::Process => self.invocations.iter().flatten().map(|&it| vec![it]).collect(),
        }
    }
}

/// A series by its names, whatever the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesName {
    /// `memory.copy:method=libc/bandwidth`.
    pub name: String,
    /// The workload's id.
    pub workload: String,
    /// The point's key.
    pub point: String,
    /// Whether the metric is the workload's first.
    pub primary: bool,
    /// A name that a person gave the point.
    pub title: Option<String>,
}
