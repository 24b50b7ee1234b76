//! A series in one run without its samples, and the names of series.
//!
//! Histories, checks and comparisons of stored runs are computed from [`SeriesInRun`] alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bits;
use crate::estimate::Estimate;
use crate::host::{By, Host};
use crate::id::Id;
use crate::machine::{Environment, Machine};
use crate::workload::{Better, ClockSource};

/// The part of a series in one run that is kept without its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesInRun {
    /// The run. All its series share this, so the store keeps it once.
    #[serde(skip)]
    pub run: Arc<RunOfSeries>,
    /// The environment of the first invocation; the store keeps each environment once.
    #[serde(skip)]
    pub environment: Arc<Environment>,
    /// Name of the series: `memory.copy:method=libc/bandwidth`.
    pub name: String,
    /// The workload's id.
    pub workload: String,
    /// The workload's version. Results of different versions are not comparable.
    pub version: u32,
    /// The id of the clock that timed it.
    pub clock: String,
    /// Name of the metric.
    pub metric: String,
    /// Unit of the values, an SI base unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// Whether the metric is the workload's first.
    pub primary: bool,
    /// A name that a person gave the point.
    pub title: Option<String>,
    /// Labels of the point alone; those of the run are in [`RunOfSeries::labels`].
    pub point_labels: BTreeMap<String, String>,
    /// Versions of the components that do the work, as the first invocation reported them.
    pub versions: BTreeMap<String, String>,
    /// Whether the point is one of several values of a knob that are compared. Such sides are no part of a
    /// history, because nobody measures them under the usual conditions.
    pub is_side_of_knob: bool,
    /// The points of the plan that give the series: several if a program was compared with itself.
    pub points: Vec<PointOnTarget>,
    /// The median of every independent process, in the order in which they ran.
    #[serde(with = "bits::list")]
    pub process_medians: Vec<f64>,
    /// Steady samples behind these medians.
    pub samples: usize,
    /// The median over processes, with an interval that allows for repeated looks.
    pub estimate: Estimate,
}

impl SeriesInRun {
    /// Whether both measured the same thing in the same way, so that their costs can be compared.
    #[must_use]
    pub fn is_comparable(&self, other: &Self) -> bool {
        self.name == other.name && self.version == other.version && self.clock == other.clock
    }

    /// The name among series that can be compared: with the workload's version and the clock if these are
    /// not the usual ones.
    #[must_use]
    pub fn comparable_name(&self) -> String {
        comparable_name(&self.name, self.version, &self.clock)
    }

    /// The value of a label: of the point, else of the run.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        let own = self.point_labels.get(key);
        own.or_else(|| self.run.labels.get(key)).map(String::as_str)
    }

    /// The labels of the run and of the point.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.run.labels.clone().into_iter().chain(self.point_labels.clone()).collect()
    }
}

/// The name of a series among those that can be compared.
#[must_use]
pub fn comparable_name(series: &str, version: u32, clock: &str) -> String {
    let mut name = series.to_owned();
    if version != 1 {
        name += &format!(" v{version}");
    }
    if clock != ClockSource::MONOTONIC {
        name += &format!(" by {clock}");
    }
    name
}

/// What all series of a run have in common.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RunOfSeries {
    /// The run's id.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC); 0 if an import does not know it.
    pub started_unix_ns: i64,
    /// Version of plumb that measured.
    pub plumb: String,
    /// The suite's name, if the run came from one.
    pub suite: Option<String>,
    /// The run's labels.
    pub labels: BTreeMap<String, String>,
    /// Names of the points that ran next to the measured ones on purpose.
    pub loads: Vec<String>,
    /// Number of planned points.
    pub points: usize,
    /// Whether the run is complete.
    pub is_complete: bool,
    /// Where it was measured first, as it began; None if that is not known.
    #[serde(skip)]
    pub place: Option<MeasuredOn>,
}

impl RunOfSeries {
    /// The fingerprint of its first machine; empty if that is not known.
    #[must_use]
    pub fn machine(&self) -> &str {
        self.place.as_ref().map_or("", |place| place.machine.fingerprint.as_str())
    }

    /// Which one of the machines of its kind that is.
    #[must_use]
    pub fn host(&self) -> &Host {
        self.place.as_ref().map_or(&Host::UNKNOWN, |place| &place.host)
    }

    /// Whether both runs count as of one machine.
    #[must_use]
    pub fn is_one_machine(&self, other: &Self, by: By) -> bool {
        match (&self.place, &other.place) {
            (Some(one), Some(two)) => {
                one.machine.fingerprint == two.machine.fingerprint && by.mixes(&one.host, &two.host)
            }
            (one, two) => one.is_none() && two.is_none(),
        }
    }
}

/// A machine in a state.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredOn {
    /// The kind of machine.
    pub machine: Arc<Machine>,
    /// Which one of that kind.
    pub host: Host,
    /// The state of its environment.
    pub environment: Arc<Environment>,
}

/// A point of a plan on one of the run's targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PointOnTarget {
    /// Index of the point in the plan.
    pub point: usize,
    /// Index of the target.
    pub target: usize,
}

/// A series by its names, whatever the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeriesName {
    /// Name of the series: `memory.copy:method=libc/bandwidth`.
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
