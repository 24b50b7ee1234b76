//! Results beside what they should be: what the user expects, or what the same machine gives where
//! nothing is in the way.

use plumb_model::{Better, Point, RunRecord, Settings};

use crate::{BaselineSource, Ends, Estimate, Finding, OfBaseline};

/// Points that differ in nothing but this parameter share a ceiling: what the best of them gets. Copies by
/// any method use the same memory; I/O on a file in memory makes the same calls as on a device.
const CEILINGS: [(&str, &str); 3] =
    [("memory.copy", "method"), ("storage.sequential", "place"), ("storage.random", "place")];

/// The parameter whose values show the ceiling of a point: the best of points that differ in nothing else.
#[must_use]
pub fn ceiling_parameter(point: &Point) -> Option<&'static str> {
    CEILINGS.iter().find(|(workload, _)| *workload == point.workload).map(|(_, name)| *name)
}
/// A share of a ceiling from which on nothing is said.
const NEAR: f64 = 0.9;

/// Says of every result what it is of what it should be; an expectation goes before a ceiling.
pub(crate) fn judge(results: &mut [Finding], record: &RunRecord) {
    let ceilings: Vec<Option<usize>> =
        results.iter().map(|finding| ceiling(finding, results)).collect();
    let values: Vec<f64> = results.iter().map(|finding| finding.estimate.value).collect();
    let names: Vec<String> = results.iter().map(|finding| finding.point.name.clone()).collect();
    for (finding, ceiling) in results.iter_mut().zip(ceilings) {
        let expected = record.plan.points.get(finding.point.index).and_then(|planned| {
            let all = record.plan.expectations.iter();
            all.rev().find(|it| it.is_of(&planned.point, &finding.metric, finding.primary))
        });
        let baseline = match (expected, ceiling) {
            (Some(expected), _) => Some((expected.value, BaselineSource::Expectation)),
            (None, Some(other)) => {
                Some((values[other], BaselineSource::Ceiling(names[other].clone())))
            }
            (None, None) => None,
        };
        finding.of_baseline = baseline.and_then(|(value, source)| {
            let share = share(&finding.estimate, value, finding.better)?;
            Some(OfBaseline { value, share, source })
        });
    }
}

/// The result that shows that the machine gives more, by a tenth at least.
fn ceiling(finding: &Finding, all: &[Finding]) -> Option<usize> {
    let workload = &finding.point.workload;
    let (_, free) = CEILINGS.iter().find(|(of, _)| of == workload)?;
    let sign = match finding.better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
        Better::Neither => return None,
    };
    let others = all.iter().enumerate().filter(|(_, other)| {
        let alike = other.target == finding.target && other.metric == finding.metric;
        alike && other.point.workload == *workload && without(other, free) == without(finding, free)
    });
    let good = |finding: &Finding| sign * finding.estimate.value;
    let (index, best) = others.max_by(|one, other| good(one.1).total_cmp(&good(other.1)))?;
    let share = share(&finding.estimate, best.estimate.value, finding.better)?;
    (share.value < NEAR).then_some(index)
}

fn without(finding: &Finding, parameter: &str) -> Settings {
    let mut settings = finding.point.settings.clone();
    settings.remove(parameter);
    settings
}

/// Performance over the baseline's; None where either is no positive number.
fn share(estimate: &Estimate, baseline: f64, better: Better) -> Option<Estimate> {
    let of = |value: f64| match better {
        Better::Lower => baseline / value,
        Better::Higher | Better::Neither => value / baseline,
    };
    let sound = estimate.value > 0.0 && baseline > 0.0;
    let interval = estimate.interval.clone().map(|ends| {
        let (one, other) = (of(ends.low), of(ends.high));
        Ends { low: one.min(other), high: one.max(other) }
    });
    sound.then(|| Estimate { value: of(estimate.value), interval })
}
