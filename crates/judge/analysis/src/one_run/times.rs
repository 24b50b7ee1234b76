//! The time that one iteration takes in each process, whatever the metrics are made of.

use plumb_model::{Better, Metric, MetricSource, RunRecord, SampleIs};
use plumb_stats::describe::{mean, median, variance};

use crate::facts::{CpuShares, PointFacts, point_facts};
use crate::one_run::point_data::PointData;

/// A point's times on one target.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessTimes {
    /// The measured point with its settings.
    pub point: PointFacts,
    /// Index of the target.
    pub target: usize,
    /// Whether a sample is a stretch of a process or a process of its own.
    pub sample_is: SampleIs,
    /// Median time of one iteration in every process, in seconds, in the order in which they ran.
    pub times_s: Vec<f64>,
    /// Their mean, in seconds.
    pub mean: f64,
    /// Their median, in seconds.
    pub median: f64,
    /// Their standard deviation, in seconds; None for a single one.
    pub deviation: Option<f64>,
    /// Shares of wall time, where resource use is known.
    pub cpu: Option<CpuShares>,
}

/// The times of every point that has good samples, in the plan's order.
#[must_use]
pub fn process_times(record: &RunRecord) -> Vec<ProcessTimes> {
    PointData::of(record).iter().filter_map(of_point).collect()
}

fn of_point(data: &PointData) -> Option<ProcessTimes> {
    // One unit of work an iteration: no workload may say otherwise of a metric without a name.
    let time = Metric::new("", "s", Better::Lower, MetricSource::Time, "");
    let processes = data.processes(&time)?;
    let times_s: Vec<f64> = processes.iter().filter_map(|values| median(values)).collect();
    Some(ProcessTimes {
        point: point_facts(data.index, data.planned),
        target: data.target,
        sample_is: data.planned.description.sample_is,
        mean: mean(&times_s)?,
        median: median(&times_s)?,
        deviation: variance(&times_s).map(f64::sqrt).filter(|deviation| deviation.is_finite()),
        cpu: data.cpu(),
        times_s,
    })
}
