//! A burst that ends: a rate that falls once in a long process and stays down, as where a credit of operations or bytes
//! is spent (docs/method.md, *Levels*).

use plumb_model::{Better, Metric};
use plumb_stats::changes::{Alpha, CriticalValues, huber_max};
use plumb_stats::describe::{median, quantile};

use crate::estimate::{Estimate, median_of_processes};
use crate::one_run::point_data::PointData;

/// The rate before is at least so many times that after.
const FALLS: f64 = 1.2;
/// Of both parts, the share that may overlap.
const OVERLAP: f64 = 0.1;

/// A burst that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Burst {
    /// From the first sample to the fall, in seconds.
    pub seconds: f64,
    /// What was done until then, in the metric's unit without its `/s`.
    pub volume: f64,
    /// The median until then.
    pub before: Estimate,
    /// The median from then on.
    pub after: Estimate,
}

impl Burst {
    /// The burst of a rate in a single process of many samples, those of its warm-up among them; None where it did not fall,
    /// or not to a level of its own. `level` is that of the intervals.
    #[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
    pub(crate) fn of(data: &PointData, metric: &Metric, level: f64) -> Option<Self> {
        let [process] = data.invocations.as_slice() else { return None };
        let is_rate = metric.better == Better::Higher && metric.unit.ends_with("/s");
        if data.samples_are_processes() || !is_rate {
            return None;
        }
        let mut all = process.measurement();
        all.steady_start = 0;
        let values = all.steady(metric)?;
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let change = huber_max(&logs, CriticalValues::WarmUp.shortest())?;
        if !change.exceeds(CriticalValues::WarmUp.critical(values.len(), Alpha::Thousandth)?) {
            return None;
        }
        let (before, after) = values.split_at(change.at);
        let apart = quantile(before, OVERLAP)? > quantile(after, 1.0 - OVERLAP)?;
        if !apart || median(before)? < FALLS * median(after)? {
            return None;
        }
        let samples = &process.samples;
        let until = samples.start_ns.get(change.at)?.checked_sub(*samples.start_ns.first()?)?;
        let seconds = samples.elapsed_ns.iter().map(|took| *took as f64 * 1e-9);
        Some(Self {
            seconds: until as f64 * 1e-9,
            volume: before.iter().zip(seconds).map(|(rate, seconds)| rate * seconds).sum(),
            before: median_of_processes(&[before], level)?.estimate,
            after: median_of_processes(&[after], level)?.estimate,
        })
    }
}
