//! Results beside what they should be: what the user expects, or what the same machine gives where
//! nothing is in the way.

use plumb_model::{Better, RunRecord, Settings};

use crate::{BaselineSource, Ends, Estimate, Finding, OfBaseline};

/// Copies of one size by one number of threads differ in nothing but the method: the memory gives what
/// the fastest of them gets.
const COPY: &str = "memory.copy";
const METHOD: &str = "method";
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
    let others = all.iter().enumerate().filter(|(_, other)| {
        let alike = other.target == finding.target && other.metric == finding.metric;
        other.point.workload == COPY && alike && without_method(other) == without_method(finding)
    });
    let by_value = |one: &(usize, &Finding), other: &(usize, &Finding)| {
        one.1.estimate.value.total_cmp(&other.1.estimate.value)
    };
    let (index, best) = others.max_by(by_value)?;
    let far = finding.point.workload == COPY && finding.estimate.value < NEAR * best.estimate.value;
    far.then_some(index)
}

fn without_method(finding: &Finding) -> Settings {
    let mut settings = finding.point.settings.clone();
    settings.remove(METHOD);
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
