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
        // Times are counted in nanoseconds.
        let scale = if metric.unit == "s" { 1e-9 } else { 1.0 };
        let value = quantile(&counts, q)? as f64 * scale;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Measurement;
    use crate::plan::{PlannedPoint, Program};
    use crate::point::Point;
    use crate::sample::{Histogram, Samples};
    use crate::value::Settings;
    use crate::workload::{Better, Description, Metric, MetricSource, QuantityKind};

    #[test]
    fn a_quantile_is_of_all_steady_samples_and_a_plain_name_is_the_median() {
        let latency = Metric {
            kind: QuantityKind::Histogram,
            ..Metric::new("latency", "s", Better::Lower, MetricSource::Value, "")
        };
        let rate = Metric::new("rate", "ops/s", Better::Higher, MetricSource::Rate, "");
        let mut description = Description::new("a.b", "");
        description.metrics = vec![rate, latency];
        let point = Point::new(&description, &Settings::new(), 1).unwrap();
        let program = Program { argv: Vec::new() };
        let planned = PlannedPoint::new(point, description, program);
        // The first sample is warm-up; of the other two, 98 of 100 values are 1 µs and the others 5 µs.
        let warm_up = Histogram::Sparse(vec![(9_000, 1000)]);
        let steady = [vec![(1_000, 98)], vec![(5_000, 2)]].map(Histogram::Sparse);
        let [second, third] = steady;
        let samples = Samples {
            start_ns: vec![0, 1, 2],
            elapsed_ns: vec![1_000; 3],
            iterations: vec![1; 3],
            cpu: vec![0; 3],
            values: BTreeMap::new(),
            histograms: [("latency".to_owned(), vec![warm_up, second, third])].into(),
        };
        let measured = Measurement {
            samples: &samples,
            usage: &[],
            work: &BTreeMap::new(),
            steady_start: 1,
            peak_memory_bytes: None,
        };
        let value = |name: &str| measured.values(&planned, name).map(|values| values[0]);
        for (name, seconds) in
            [("latency", 1e-6), ("latency p50", 1e-6), ("latency p99", 5e-6), ("latency max", 5e-6)]
        {
            let found = value(name).unwrap();
            assert!((found / seconds - 1.0).abs() < 1e-9, "{name}: {found}");
        }
        assert_eq!(value("latency p95"), None, "only quantiles that are shown");
        assert_eq!(value("rate p99"), None, "a rate is no distribution");
        assert!(planned.description.compared("rate").is_some());
        assert!(planned.description.compared("latency p95").is_none());
        // Less is better of a cost, whatever the direction of the metric.
        let cost = measured.costs(&planned, "rate").unwrap()[0];
        assert!((cost / 1e-6 - 1.0).abs() < 1e-9, "{cost}");
    }
}
