//! Results beside what they should be: what the user expects, or what the same machine gives where
//! nothing is in the way.

use plumb_model::{Better, Description, RunRecord};

use crate::estimate::{Ends, Estimate};
use crate::one_run::finding::{BaselineSource, Finding, ShareOfBaseline};

/// What the built-ins of the time said before workloads declared it: stored runs still need it. It does not
/// grow.
const BEFORE_DECLARED: [(&str, &str); 3] =
    [("memory.copy", "method"), ("storage.sequential", "place"), ("storage.random", "place")];

/// The parameter whose values show the ceiling of a workload's points.
fn ceiling_parameter(description: &Description) -> Option<&str> {
    let before = || BEFORE_DECLARED.iter().find(|(id, _)| *id == description.id);
    description.ceiling.as_deref().or_else(|| before().map(|(_, parameter)| *parameter))
}

/// A share of a ceiling from which on nothing is said.
const NEAR: f64 = 0.9;

/// Says of every result what it is of what it should be; an expectation goes before a ceiling.
pub(crate) fn judge(results: &mut [Finding], record: &RunRecord) {
    let ceilings: Vec<Option<usize>> = results
        .iter()
        .map(|finding| {
            let planned = record.plan.points.get(finding.point.index)?;
            ceiling(finding, ceiling_parameter(&planned.description)?, results)
        })
        .collect();
    let values: Vec<f64> = results.iter().map(|finding| finding.estimate.value).collect();
    let names: Vec<String> = results.iter().map(|finding| finding.point.name.clone()).collect();
    for (finding, ceiling) in results.iter_mut().zip(ceilings) {
        let expected = record.plan.points.get(finding.point.index).and_then(|planned| {
            let all = record.plan.expectations.iter();
            all.rev().find(|expectation| {
                expectation.is_of(&planned.point, &finding.metric, finding.primary)
            })
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
            Some(ShareOfBaseline { value, share, source })
        });
    }
}

/// The result that shows that the machine gives more, by a tenth at least.
fn ceiling(finding: &Finding, free: &str, all: &[Finding]) -> Option<usize> {
    let sign = match finding.better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
        Better::Neither => return None,
    };
    let others = all.iter().enumerate().filter(|(_, other)| {
        let alike = other.target == finding.target && other.metric == finding.metric;
        alike && other.point.without(&[free]) == finding.point.without(&[free])
    });
    let good = |finding: &Finding| sign * finding.estimate.value;
    let (index, best) = others.max_by(|one, other| good(one.1).total_cmp(&good(other.1)))?;
    let share = share(&finding.estimate, best.estimate.value, finding.better)?;
    (share.value < NEAR).then_some(index)
}

/// Performance over the baseline's; None where either is no positive number.
fn share(estimate: &Estimate, baseline: f64, better: Better) -> Option<Estimate> {
    let of = |value: f64| match better {
        Better::Lower => baseline / value,
        Better::Higher | Better::Neither => value / baseline,
    };
    let sound = estimate.value > 0.0 && baseline > 0.0;
    let interval = estimate.interval.clone().map(|ends| {
        let one = of(ends.low);
        let other = of(ends.high);
        Ends { low: one.min(other), high: one.max(other) }
    });
    sound.then(|| Estimate { value: of(estimate.value), interval })
}
