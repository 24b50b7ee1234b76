//! Points of one workload that differ in nothing but the bandwidth and the round trip of its link.

use std::collections::BTreeMap;

use plumb_model::{LinkDirection, LinkTerms, MetricSource, PlannedPoint, RunRecord, Value};
use plumb_stats::curves::link::{self, FEWEST_POINTS, link};

use crate::estimate::{Ends, Estimate};
use crate::one_run::curve::float;
use crate::one_run::curves::{figure, key, reciprocal};
use crate::one_run::finding::Finding;
use crate::one_run::link_fit::{LinkFit, LinkFound, LinkShares, PointBehindLink};

/// Of every workload behind a link that was measured at three points or more, in the order of the plan's points.
pub(crate) fn link_fits(results: &[Finding], record: &RunRecord) -> Vec<LinkFit> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut groups: Vec<(&LinkTerms, Vec<FittedPoint>)> = Vec::new();
    for (index, finding) in results.iter().enumerate().filter(|(_, result)| result.primary) {
        let Some(planned) = record.plan.points.get(finding.point.index) else { continue };
        let Some(terms) = &planned.description.link else { continue };
        let Some(measured) = FittedPoint::of(index, results, record, (planned, terms)) else {
            continue;
        };
        let swept: Vec<&str> = terms.parameters().collect();
        let group = *places.entry(key(finding, planned, &swept)).or_insert(groups.len());
        if group == groups.len() {
            groups.push((terms, Vec::new()));
        }
        let points = &mut groups[group].1;
        // What was planned twice is one point.
        if points.iter().all(|point| point.finding.point.settings != finding.point.settings) {
            points.push(measured);
        }
    }
    let enough = groups.into_iter().filter(|(_, points)| points.len() >= FEWEST_POINTS);
    enough.map(|(terms, points)| fitted(terms, &points)).collect()
}

/// A point with all that the fit takes.
struct FittedPoint<'f> {
    result: usize,
    finding: &'f Finding,
    point: link::LinkPoint,
}

impl<'f> FittedPoint<'f> {
    /// None where a term was not measured, or the first metric is no time and no rate.
    fn of(
        result: usize,
        results: &'f [Finding],
        record: &RunRecord,
        (planned, terms): (&PlannedPoint, &LinkTerms),
    ) -> Option<Self> {
        let finding = results.get(result)?;
        let index = finding.point.index;
        let target = finding.target;
        let value = |metric: &String| {
            let is_it = |finding: &&Finding| {
                (finding.point.index, finding.target, &finding.metric) == (index, target, metric)
            };
            results.iter().find(is_it).map(|result| result.estimate.value)
        };
        let number = |parameter: &String| finding.point.number(parameter).map(float);
        let scale = terms.scale.as_ref().and_then(number).unwrap_or(1.0);
        let sending = |direction: &LinkDirection| {
            let bytes = value(&direction.bytes)?;
            Some(number(&direction.bandwidth).map_or(0.0, |bandwidth| bytes / (bandwidth * scale)))
        };
        let sending: Option<Vec<f64>> = terms.directions.iter().map(sending).collect();
        let operations = terms.operations.iter().map(value).collect::<Option<Vec<f64>>>()?;
        let time = time_of_iteration(finding, planned, record)?;
        let point = link::LinkPoint {
            sending: sending?.into_iter().fold(0.0, f64::max),
            operations: if operations.is_empty() { 1.0 } else { operations.iter().sum() },
            round_trip: number(&terms.round_trip)? * 1e-9 / scale,
            time: time.value,
            ends: time.low().zip(time.high()),
        };
        Some(Self { result, finding, point })
    }

    fn setting(&self, parameter: &str) -> Option<&Value> {
        self.finding.point.settings.get(parameter)
    }
}

/// How long an iteration takes; None where the first metric is no time and no rate of it.
fn time_of_iteration(
    finding: &Finding,
    planned: &PlannedPoint,
    record: &RunRecord,
) -> Option<Estimate> {
    let first = record.good_invocations(finding.point.index).next()?;
    let work = first.ready.work.get(&finding.metric).copied().unwrap_or(1.0);
    let Estimate { value, interval } = &finding.estimate;
    match planned.description.metric(&finding.metric)?.source {
        MetricSource::Time => {
            let whole = |ends: Ends| Ends { low: ends.low * work, high: ends.high * work };
            Some(Estimate { value: value * work, interval: interval.clone().map(whole) })
        }
        MetricSource::Rate => Some(reciprocal(&finding.estimate, work)),
        MetricSource::Value | MetricSource::Search => None,
    }
}

fn fitted(terms: &LinkTerms, points: &[FittedPoint]) -> LinkFit {
    let first = points[0].finding;
    let differing = terms
        .parameters()
        .filter(|name| points.iter().any(|point| point.setting(name) != points[0].setting(name)));
    let by: Vec<String> = differing.map(str::to_owned).collect();
    let all: Vec<link::LinkPoint> = points.iter().map(|point| point.point).collect();
    let point = |measured: &FittedPoint| PointBehindLink {
        result: measured.result,
        sending_s: measured.point.sending,
        operations: measured.point.operations,
        round_trip_s: measured.point.round_trip,
    };
    let swept: Vec<&str> = terms.parameters().collect();
    LinkFit {
        of: first.point.without(&swept),
        workload: first.point.workload.clone(),
        target: first.target,
        points: points.iter().map(point).collect(),
        found: link(&all).map(found).map_err(|why| why.to_string()),
        by,
    }
}

fn found(fit: link::LinkParts) -> LinkFound {
    let shares = fit.shares.into_iter().map(|shares| LinkShares {
        bandwidth: figure(shares.bandwidth),
        round_trips: figure(shares.round_trips),
        rest: figure(shares.rest),
        binds: shares.binds,
        left_out: shares.left_out,
    });
    LinkFound { wait: figure(fit.wait), rest: figure(fit.rest), shares: shares.collect() }
}
