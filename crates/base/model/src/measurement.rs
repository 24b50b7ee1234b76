//! What the values and costs of an invocation are computed of, whether it is going on or was stored.

use std::collections::BTreeMap;

use crate::plan::{CPU, PEAK_MEMORY, PlannedPoint};
use crate::sample::{Samples, Usage};
use crate::workload::{Better, Metric};

/// The measurements of an invocation.
#[derive(Debug, Clone, Copy)]
pub struct Measurement<'m> {
    /// Its samples, all batches joined.
    pub samples: &'m Samples,
    /// Resource use of each batch.
    pub usage: &'m [Usage],
    /// The work of one iteration, in the unit of each metric.
    pub work: &'m BTreeMap<String, f64>,
    /// Index of the first steady sample.
    pub steady_start: usize,
    /// Peak resident memory of its process, once that has ended.
    pub peak_memory_bytes: Option<u64>,
}

impl Measurement<'_> {
    /// The steady values of a metric; None when the samples do not carry it.
    #[must_use]
    pub fn steady(self, metric: &Metric) -> Option<Vec<f64>> {
        let work = self.work.get(&metric.name).copied().unwrap_or(1.0);
        let mut values = self.samples.metric(metric, work)?;
        Some(values.split_off(self.steady_start.min(values.len())))
    }

    /// What the steady samples cost by a metric, or by [`CPU`] or [`PEAK_MEMORY`]: less is better,
    /// whatever the metric's direction. None when it was not measured.
    #[must_use]
    pub fn costs(self, planned: &PlannedPoint, metric: &str) -> Option<Vec<f64>> {
        let Some(declared) = planned.description.metric(metric) else {
            return self.cost_of_all(metric).map(|cost| vec![cost]);
        };
        let mut costs = self.steady(declared)?;
        if declared.better == Better::Higher {
            costs.iter_mut().for_each(|value| *value = 1.0 / *value);
        }
        Some(costs)
    }

    /// Resource use that every invocation has, warm-up included.
    #[expect(clippy::cast_precision_loss, reason = "times and counts stay far below 2^53")]
    fn cost_of_all(self, metric: &str) -> Option<f64> {
        let cost = match metric {
            CPU => {
                let ns: u64 = self.usage.iter().map(|usage| usage.user_ns + usage.system_ns).sum();
                let iterations: u64 = self.samples.iterations.iter().sum();
                ns as f64 * 1e-9 / iterations as f64
            }
            PEAK_MEMORY => self.peak_memory_bytes? as f64,
            _ => return None,
        };
        (cost > 0.0 && cost.is_finite()).then_some(cost)
    }
}
