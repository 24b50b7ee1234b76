//! What the values and costs of an invocation are computed of, whether it is going on or was stored.

use std::collections::BTreeMap;

use plumb_stats::histogram::{ValueCounts, quantile};

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
        let mut costs = self.values(planned, metric)?;
        let declared = planned.description.compared(metric);
        if declared.is_some_and(|declared| declared.better == Better::Higher) {
            costs.iter_mut().for_each(|value| *value = 1.0 / *value);
        }
        Some(costs)
    }

    /// The steady values of a metric by the name that a comparison has for it, in the metric's unit. A quantile of a
    /// distribution (`latency p99`) is one value of all steady samples together. None when it was not measured.
    #[must_use]
    pub fn values(self, planned: &PlannedPoint, metric: &str) -> Option<Vec<f64>> {
        if let Some((distribution, q)) = planned.description.distribution(metric) {
            return self.quantile(distribution, q).map(|value| vec![value]);
        }
        match planned.description.metric(metric) {
            Some(declared) => self.steady(declared),
            None => self.cost_of_all(metric).map(|cost| vec![cost]),
        }
    }

    /// A quantile of the steady distributions together; None without any that can be read.
    #[expect(clippy::cast_precision_loss, reason = "a value for people")]
    fn quantile(self, metric: &Metric, q: f64) -> Option<f64> {
        let mut counts = ValueCounts::new();
        let all = self.samples.histograms.get(&metric.name)?;
        for histogram in all.iter().skip(self.steady_start) {
            for (value, count) in histogram.counts()? {
                let counted = counts.entry(value).or_default();
                *counted = counted.saturating_add(count);
            }
        }
        let value = quantile(&counts, q)? as f64;
        // Times are counted in nanoseconds.
        let value = if metric.unit == "s" { value * 1e-9 } else { value };
        (value > 0.0).then_some(value)
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
