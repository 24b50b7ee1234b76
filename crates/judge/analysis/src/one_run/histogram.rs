//! Distributions that workloads report themselves, from their encodings to quantiles.

use plumb_model::{InvocationRecord, Metric, QUANTILES, QuantityKind, RunRecord};
use plumb_stats::describe::median;
use plumb_stats::histogram::{ValueCounts, pooled_quantile, quantile, total};
use plumb_stats::precision::clustered_quantile;
use plumb_stats::{Interval, NoInterval};

use crate::estimate::{Estimate, estimate};
use crate::facts::{PointFacts, point_facts};
use crate::one_run::point_data::PointData;

/// The tail of a distribution that a point's workload reported, all processes together.
#[derive(Debug, Clone, PartialEq)]
pub struct PointTail {
    /// The measured point with its settings.
    pub point: PointFacts,
    /// The metric that the distribution is of.
    pub metric: Metric,
    /// One in so many values is greater (1 / (1 - quantile)), and that value, in the metric's unit.
    pub exceeded: Vec<(f64, f64)>,
    /// Values in all.
    pub values: u64,
}

/// Knots of a tail in a tenfold of rarity.
const KNOTS: f64 = 10.0;

/// The tails of the distributions that a workload's points reported, as far as there are values for them.
#[must_use]
pub fn tails(record: &RunRecord, workload: &str) -> Vec<PointTail> {
    let mut all = Vec::new();
    for data in PointData::of(record).iter().filter(|data| data.planned.point.workload == workload)
    {
        let metrics = data.planned.description.metrics.iter();
        for metric in metrics.filter(|metric| metric.kind == QuantityKind::Histogram) {
            let pool = pooled(&processes(data, metric));
            let values = total(&pool);
            let point = point_facts(data.index, data.planned);
            let exceeded = tail(&pool, scale(&metric.unit), values);
            all.push(PointTail { point, metric: metric.clone(), exceeded, values });
        }
    }
    all.retain(|result| !result.exceeded.is_empty());
    all
}

#[expect(clippy::cast_precision_loss, reason = "a value for people")]
fn tail(pool: &ValueCounts, scale: f64, values: u64) -> Vec<(f64, f64)> {
    let knots = (0..).map(|knot| 10_f64.powf(f64::from(knot) / KNOTS));
    let rarities = knots.take_while(|rarity| *rarity <= values as f64);
    let at = |one_in: f64| Some((one_in, quantile(pool, 1.0 - 1.0 / one_in)? as f64 * scale));
    rarities.filter_map(at).collect()
}

/// Times are counted in nanoseconds.
fn scale(unit: &str) -> f64 {
    if unit == "s" { 1e-9 } else { 1.0 }
}

/// Counts more of a value; what many plug-ins claim together may not overflow.
fn add(counts: &mut ValueCounts, value: u64, more: u64) {
    let count = counts.entry(value).or_default();
    *count = count.saturating_add(more);
}

/// The counts of all processes together.
fn pooled(processes: &[ValueCounts]) -> ValueCounts {
    let mut pool = ValueCounts::new();
    for (&value, &count) in processes.iter().flatten() {
        add(&mut pool, value, count);
    }
    pool
}

/// A quantile of a reported distribution.
pub(crate) struct QuantileFound {
    pub(crate) name: &'static str,
    pub(crate) estimate: Estimate,
}

/// The steady distributions of a metric, one a process. Encodings that can't be read are left out.
pub(crate) fn processes(data: &PointData, metric: &Metric) -> Vec<ValueCounts> {
    let of = data.invocations.iter().filter_map(|invocation| {
        let steady = invocation.samples.histograms.get(&metric.name)?;
        let mut counts = ValueCounts::new();
        for histogram in steady.iter().skip(invocation.steady_start()) {
            for (value, count) in histogram.counts()? {
                add(&mut counts, value, count);
            }
        }
        (!counts.is_empty()).then_some(counts)
    });
    of.collect()
}

/// The invocations with steady distributions of a metric that can't be decoded.
pub(crate) fn unreadable(data: &PointData, metric: &Metric) -> usize {
    let is_lost = |invocation: &&&InvocationRecord| {
        let all = invocation.samples.histograms.get(&metric.name);
        let mut steady = all.into_iter().flatten().skip(invocation.steady_start());
        steady.any(|invocation| invocation.counts().is_none())
    };
    data.invocations.iter().filter(is_lost).count()
}

/// The greatest value of each process.
#[expect(clippy::cast_precision_loss, reason = "a value for people")]
fn maxima(processes: &[ValueCounts]) -> Vec<f64> {
    processes
        .iter()
        .filter_map(|counts| counts.keys().next_back())
        .map(|&highest| highest as f64)
        .collect()
}

fn median_of_processes(values: &[f64], level: f64) -> Result<Interval, NoInterval> {
    let each: Vec<&[f64]> = values.iter().map(std::slice::from_ref).collect();
    clustered_quantile(&each, 0.5, level)
}

/// The quantiles of all processes together, in the metric's unit, with intervals of this level. Whatever is seen, a
/// greater value may come: the maximum is that of a process, at the median of processes.
pub(crate) fn quantiles(processes: &[ValueCounts], unit: &str, level: f64) -> Vec<QuantileFound> {
    let scale = scale(unit);
    let pool = pooled(processes);
    let maxima = maxima(processes);
    let found = QUANTILES.iter().filter_map(|&(name, q)| {
        #[expect(clippy::cast_precision_loss, reason = "a value for people")]
        let (value, interval) = match q < 1.0 {
            true => (quantile(&pool, q)? as f64, pooled_quantile(processes, q, level)),
            false => (median(&maxima)?, median_of_processes(&maxima, level)),
        };
        let value = value * scale;
        let interval = interval.map(|found| found.map(|end| end * scale));
        // A pilot with more samples than other processes counts less.
        let value = interval.map_or(value, |found| found.estimate);
        Some(QuantileFound { name, estimate: estimate(value, interval) })
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use plumb_stats::histogram::ValueCounts;

    use super::{quantiles, tail};

    #[test]
    fn a_tail_ends_where_there_are_no_values_for_it() {
        let pool = (1..=1000).map(|value| (value, 1)).collect::<ValueCounts>();
        let found = tail(&pool, 1e-9, 1000);
        assert_eq!((found.len(), found[0].0), (31, 1.0));
        let at = |one_in: f64| {
            found.iter().find(|percentile| (percentile.0 - one_in).abs() < 1e-6).unwrap().1
        };
        assert!((at(10.0) - 900e-9).abs() < 2e-9 && (at(1000.0) - 999e-9).abs() < 2e-9);
        assert!(tail(&ValueCounts::new(), 1.0, 0).is_empty());
    }

    #[test]
    fn quantiles_have_intervals_where_there_is_enough() {
        let process =
            |shift: u64| (0..2000).map(|i| (1000 + shift + i, 1)).collect::<ValueCounts>();
        let found = quantiles(&(0..12).map(process).collect::<Vec<_>>(), "s", 0.97);
        let names: Vec<&str> = found.iter().map(|result| result.name).collect();
        assert_eq!(names, ["p50", "p90", "p99", "p99.9", "max"]);
        assert!((found[0].estimate.value - 2.005e-6).abs() < 1e-9);
        let has: Vec<bool> = found.iter().map(|result| result.estimate.interval.is_ok()).collect();
        assert_eq!(has, [true; 5]);
        assert!((found[4].estimate.value - 3.004e-6).abs() < 2e-9);
        let max = found[4].estimate.interval.as_ref().unwrap();
        assert!(max.low > 2.998e-6 && max.high < 3.011e-6, "{max:?}");
        let few = quantiles(
            &(0..12).map(|_| process(0).into_iter().take(50).collect()).collect::<Vec<_>>(),
            "",
            0.97,
        );
        assert!(few[0].estimate.interval.is_ok() && few[2].estimate.interval.is_err());
    }
}
