//! A series in one run without its samples, and the names of series.
//!
//! Histories, checks and comparisons of stored runs are computed from [`SeriesInRun`] alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::bits;
use crate::command_end::CommandEnds;
use crate::estimate::Estimate;
use crate::host::{By, Host};
use crate::id::Id;
use crate::machine::{Environment, Machine};
use crate::point_facts::PointFacts;
use crate::record::RunStatus;
use crate::workload::{Better, ClockSource, Role};

/// The part of a series in one run that is kept without its samples.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesInRun {
    /// The run. All its series share this, so the store keeps it once.
    #[serde(skip)]
    pub run: Arc<RunOfSeries>,
    /// The environment of the first invocation; the store keeps each environment once.
    #[serde(skip)]
    pub environment: Arc<Environment>,
    /// The measured point; the first of several. The store keeps each point once, whatever runs measured it.
    #[serde(skip)]
    pub point: Arc<PointFacts>,
    /// Name of the series: `memory.copy:method=libc/bandwidth`.
    pub name: String,
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
    /// Versions of the components that do the work, as the first invocation reported them.
    pub versions: BTreeMap<String, String>,
    /// Whether the point is one of several values of a knob that are compared, or of a comparison that proves itself. Such
    /// sides are no part of a history, because nobody measures them under the usual conditions.
    pub is_side_of_knob: bool,
    /// The points of the plan that give the series: several if a program was compared with itself.
    pub points: Vec<PointOnTarget>,
    /// The median of every independent process, in the order in which they ran.
    #[serde(with = "bits::list")]
    pub process_medians: Vec<f64>,
    /// How the processes ended, if failures are accepted.
    #[serde(default, skip_serializing_if = "CommandEnds::is_empty")]
    pub ends: CommandEnds,
    /// Whether the clients of most invocations used most of their CPU time. If so, a slower server may not show.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub busy_clients: bool,
    /// Steady samples behind these medians.
    pub samples: usize,
    /// The median over processes, with an interval that allows for repeated looks.
    pub estimate: Estimate,
}

impl SeriesInRun {
    /// Whether both measured the same thing in the same way, so that their costs can be compared.
    #[must_use]
    pub fn is_comparable(&self, other: &Self) -> bool {
        self.name == other.name
            && self.point.version == other.point.version
            && self.clock == other.clock
    }

    /// The name among series that can be compared: with the workload's version and the clock if these are
    /// not the usual ones.
    #[must_use]
    pub fn comparable_name(&self) -> String {
        let mut name = self.name.clone();
        if self.point.version != 1 {
            name += &format!(" v{}", self.point.version);
        }
        if self.clock != ClockSource::MONOTONIC {
            name += &format!(" by {}", self.clock);
        }
        name
    }

    /// The value of a label: of the point, else of the run.
    #[must_use]
    pub fn label(&self, key: &str) -> Option<&str> {
        let own = self.point.labels.get(key);
        own.or_else(|| self.run.labels.get(key)).map(String::as_str)
    }

    /// The labels of the run and of the point.
    #[must_use]
    pub fn labels(&self) -> BTreeMap<String, String> {
        self.run.labels.clone().into_iter().chain(self.point.labels.clone()).collect()
    }
}

/// What the first metrics of a run cost: enough to see what all of them have in common, and far less than the series.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCosts {
    /// The run that these are the costs of.
    pub run: Arc<RunOfSeries>,
    /// The natural log of each cost, by the name of the series among comparable ones.
    pub first_metrics: BTreeMap<String, f64>,
}

/// What all series of a run have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOfSeries {
    /// The run's id.
    pub run: Id,
    /// Its wall-clock start, in nanoseconds since 1970 (UTC); 0 if an import does not know it.
    pub started_unix_ns: i64,
    /// Version of plumb that measured.
    pub plumb: String,
    /// The command line.
    pub command: Vec<String>,
    /// The suite's name, if the run came from one.
    pub suite: Option<String>,
    /// The run's labels.
    pub labels: BTreeMap<String, String>,
    /// What ran next to all of its points on purpose.
    pub companions: Vec<RunCompanion>,
    /// How the machine was prepared for all of its points, in words: `nothing`, or the settings.
    pub prepared: String,
    /// Every version of the components that did the work, in any of its invocations.
    pub versions: BTreeMap<String, BTreeSet<String>>,
    /// Number of planned points.
    pub points: usize,
    /// Whether it is complete, running or interrupted.
    pub status: RunStatus,
    /// Whether a point, or a load next to it, sends to another machine that somebody named.
    pub sends_to_named_host: bool,
    /// Where it was measured first, as it began; None if that is not known.
    #[serde(skip)]
    pub place: Option<MeasuredOn>,
}

impl Default for RunOfSeries {
    /// A complete run of which nothing else is known.
    fn default() -> Self {
        Self {
            run: Id::default(),
            started_unix_ns: 0,
            plumb: String::new(),
            command: Vec::new(),
            suite: None,
            labels: BTreeMap::new(),
            companions: Vec::new(),
            prepared: "nothing".to_owned(),
            versions: BTreeMap::new(),
            points: 0,
            status: RunStatus::Complete,
            sends_to_named_host: false,
            place: None,
        }
    }
}

impl RunOfSeries {
    /// Whether the run has an end.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.status == RunStatus::Complete
    }

    /// Names of the loads that ran next to all of its points.
    pub fn loads(&self) -> impl Iterator<Item = &str> {
        let loads = self.companions.iter().filter(|companion| companion.role == Role::Load);
        loads.map(|companion| companion.name.as_str())
    }

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

/// Something that ran next to all points of a run on purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCompanion {
    /// As what it ran: load, monitor or preparation.
    pub role: Role,
    /// Name of its point.
    pub name: String,
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
