//! Every sample of a point, and how the distributions of two points differ.

use std::collections::BTreeMap;

use plumb_model::{Better, Metric, Outcome, QuantityKind, Role, RunRecord, SampleIs};
use plumb_stats::describe::{BoxPlot, box_plot, median, quantile};
use plumb_stats::stored_runs::rank_sum_interval;

use crate::estimate::{Estimate, estimate};
use crate::facts::{PointFacts, point_facts};
use crate::method::CONFIDENCE;

/// Quantiles at which two distributions are compared.
const QUANTILES: [f64; 19] = [
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85,
    0.9, 0.95,
];

/// What one metric of a point came to on a target, sample by sample.
#[derive(Debug, Clone, PartialEq)]
pub struct PointSamples {
    /// The measured point with its settings.
    pub point: PointFacts,
    /// The metric that the samples are of.
    pub metric: Metric,
    /// Index of the target.
    pub target: usize,
    /// Whether a sample is a stretch of a process or a process of its own.
    pub sample_is: SampleIs,
    /// The invocations that ended well, in the order in which they ran.
    pub invocations: Vec<InvocationSamples>,
}

/// The samples of one invocation.
#[derive(Debug, Clone, PartialEq)]
pub struct InvocationSamples {
    /// A value a sample, warm-up included.
    pub values: Vec<f64>,
    /// Index of the first steady one.
    pub steady_start: usize,
    /// The rules by which the invocation does not count; None when it does.
    pub excluded_by: Option<String>,
}

impl InvocationSamples {
    /// The samples that count.
    #[must_use]
    pub fn steady(&self) -> &[f64] {
        if self.excluded_by.is_some() { &[] } else { &self.values[self.steady_start..] }
    }

    /// The box plot of the samples after warm-up, whether or not they count.
    #[must_use]
    pub fn box_plot(&self) -> Option<BoxPlot> {
        box_plot(&self.values[self.steady_start..])
    }
}

impl PointSamples {
    /// The samples that count, of all invocations.
    #[must_use]
    pub fn steady(&self) -> Vec<f64> {
        self.invocations.iter().flat_map(InvocationSamples::steady).copied().collect()
    }

    /// The box plot of the samples that count.
    #[must_use]
    pub fn box_plot(&self) -> Option<BoxPlot> {
        box_plot(&self.steady())
    }

    /// The median over invocations that count of the sample of each number, as far as half of them reach.
    #[must_use]
    pub fn medians_by_number(&self) -> Vec<f64> {
        let counts: Vec<_> =
            self.invocations.iter().filter(|invocation| invocation.excluded_by.is_none()).collect();
        let mut lengths: Vec<usize> =
            counts.iter().map(|invocation| invocation.values.len()).collect();
        lengths.sort_unstable();
        let reached = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
        let of = |number: usize| {
            counts.iter().filter_map(move |invocation| invocation.values.get(number).copied())
        };
        (0..reached).map_while(|number| median(&of(number).collect::<Vec<_>>())).collect()
    }

    /// Steady costs of every process that counts: less is better, whatever the metric's direction.
    fn costs(&self) -> Vec<Vec<f64>> {
        let cost =
            |value: &f64| if self.metric.better == Better::Higher { 1.0 / value } else { *value };
        let processes = self.invocations.iter().map(InvocationSamples::steady);
        processes
            .filter(|process| !process.is_empty())
            .map(|process| process.iter().map(cost).collect())
            .collect()
    }
}

/// The samples of every point of a workload, metric by metric, in the plan's order. What carries no such
/// values is left out, and so are distributions.
#[must_use]
pub fn samples(record: &RunRecord, workload: &str) -> Vec<PointSamples> {
    let all = record.plan.points.iter().enumerate();
    let points = all.filter(|(_, planned)| planned.point.workload == workload);
    let mut found = Vec::new();
    for (index, planned) in points {
        for metric in &planned.description.metrics {
            // A distribution has no value per sample.
            if metric.kind != QuantityKind::Histogram {
                found.extend(of_metric(record, index, metric));
            }
        }
    }
    found
}

fn of_metric(record: &RunRecord, index: usize, metric: &Metric) -> Vec<PointSamples> {
    let planned = &record.plan.points[index];
    let mut by_target: BTreeMap<u32, Vec<InvocationSamples>> = BTreeMap::new();
    // Excluded invocations stay: the page shows their samples, with what disturbed them.
    for invocation in &record.invocations {
        let is_done = invocation.end.as_ref().is_some_and(|end| end.outcome == Outcome::Done);
        if invocation.role != Role::Workload || invocation.point != index || !is_done {
            continue;
        }
        let work = invocation.ready.work.get(&metric.name).copied().unwrap_or(1.0);
        let Some(values) = invocation.samples.metric(metric, work) else { continue };
        by_target.entry(invocation.target).or_default().push(InvocationSamples {
            steady_start: invocation.steady_start().min(values.len()),
            excluded_by: invocation.excluded_by.clone(),
            values,
        });
    }
    let of_target = |(target, invocations): (u32, Vec<InvocationSamples>)| PointSamples {
        point: point_facts(index, planned),
        metric: metric.clone(),
        target: target as usize,
        sample_is: planned.description.sample_is,
        invocations,
    };
    by_target.into_iter().map(of_target).collect()
}

/// How two distributions of costs compare at one quantile.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantileRatio {
    /// The quantile: 0.05 is near the least cost, 0.95 near the greatest.
    pub quantile: f64,
    /// Cost at this quantile over the first's: over 1 is slower. Its interval is of this quantile alone,
    /// not of all at once.
    pub ratio: Estimate,
}

/// The costs of a point over those of the first, quantile by quantile.
///
/// Where samples are stretches of a process, every process gives its own quantile, and the ratio with
/// its interval is that of Hodges and Lehmann over processes (docs/method.md, *Stored runs*). Where a sample is a
/// process, the pools are compared, without an interval. Empty where a cost is not positive.
#[must_use]
pub fn quantile_ratios(first: &PointSamples, later: &PointSamples) -> Vec<QuantileRatio> {
    let one = first.costs();
    let other = later.costs();
    if !are_positive(&one) || !are_positive(&other) {
        return Vec::new();
    }
    let pooled = [first, later].iter().any(|arm| arm.sample_is == SampleIs::Process);
    let mut ratios = Vec::new();
    for quantile in QUANTILES {
        let ratio = match pooled {
            true => of_pools(&one, &other, quantile),
            false => of_processes(&one, &other, quantile),
        };
        ratios.extend(
            ratio
                .filter(|ratio| ratio.value.is_finite())
                .map(|ratio| QuantileRatio { quantile, ratio }),
        );
    }
    ratios
}

/// Whether there are costs, and each has a logarithm.
fn are_positive(costs: &[Vec<f64>]) -> bool {
    !costs.is_empty() && costs.iter().flatten().all(|cost| *cost > 0.0 && cost.is_finite())
}

fn of_pools(one: &[Vec<f64>], other: &[Vec<f64>], q: f64) -> Option<Estimate> {
    let value = quantile(&other.concat(), q)? / quantile(&one.concat(), q)?;
    Some(Estimate { value, interval: Err("samples of one invocation are pooled".to_owned()) })
}

fn of_processes(one: &[Vec<f64>], other: &[Vec<f64>], q: f64) -> Option<Estimate> {
    let logs = |processes: &[Vec<f64>]| -> Vec<f64> {
        processes.iter().filter_map(|values| quantile(values, q)).map(f64::ln).collect()
    };
    let one = logs(one);
    let other = logs(other);
    let found = rank_sum_interval(&one, &other, CONFIDENCE);
    let shift = match found {
        Ok(interval) => interval.estimate,
        Err(_) => quantile(&other, 0.5)? - quantile(&one, 0.5)?,
    };
    Some(estimate(shift.exp(), found.map(|interval| interval.map(f64::exp))))
}

#[cfg(test)]
mod tests {
    use super::{quantile_ratios, samples};
    use crate::testing::{Builder, COPY, Spec, first_look};

    fn copy(value: f64, processes: usize) -> Spec {
        Spec { value, within: 0.02, between: 0.004, processes, samples: 20, ..COPY }
    }

    #[test]
    fn samples_keep_their_phase() {
        let record = Builder::new(None)
            .measured(&copy(1e10, 12))
            .invocations(|i, invocation| {
                invocation.excluded_by = (i == 3).then(|| "steal".to_owned())
            })
            .build();
        let found = samples(&record, "memory.copy");
        assert_eq!((found.len(), found[0].invocations.len()), (1, 12));
        let one = &found[0].invocations[0];
        assert_eq!((one.values.len(), one.steady().len()), (22, 20));
        assert!(found[0].invocations[3].steady().is_empty());
        assert_eq!(found[0].steady().len(), 11 * 20);
        let medians = found[0].medians_by_number();
        assert!(medians.len() == 22 && medians[0] < 0.95 * medians[10], "{medians:?}");
        assert!(found[0].box_plot().unwrap().q1 < one.box_plot().unwrap().high);
        assert!(samples(&record, "cpu.sieve").is_empty());
    }

    #[test]
    fn a_slower_point_is_slower_at_every_quantile() {
        let record =
            Builder::new(None).measured(&copy(1e10, 12)).measured(&copy(0.8e10, 12)).build();
        let found = samples(&record, "memory.copy");
        let ratios = quantile_ratios(&found[0], &found[1]);
        assert_eq!(ratios.len(), 19);
        for ratio in &ratios {
            assert!((ratio.ratio.value - 1.25).abs() < 0.05, "{ratio:?}");
            assert!(
                ratio.ratio.low().unwrap() > 1.1 && ratio.ratio.high().unwrap() < 1.4,
                "{ratio:?}"
            );
        }
    }

    #[test]
    fn few_processes_and_processes_as_samples_have_no_interval() {
        let record = Builder::new(None).measured(&copy(1e10, 2)).measured(&copy(1e10, 2)).build();
        let found = samples(&record, "memory.copy");
        assert!(quantile_ratios(&found[0], &found[1])[0].ratio.interval.is_err());
        let record = first_look();
        let found = samples(&record, "process.command");
        let ratios = quantile_ratios(&found[0], &found[0]);
        assert!(
            ratios.iter().all(|ratio| ratio.ratio.value == 1.0 && ratio.ratio.interval.is_err())
        );
    }
}
