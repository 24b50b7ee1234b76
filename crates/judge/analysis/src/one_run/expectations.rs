//! Results beside what they should be: what the user expects, or what the same machine gives where
//! nothing is in the way.

use plumb_model::{Better, Description, Expectation, RunRecord};

use crate::estimate::{Ends, Estimate};
use crate::one_run::finding::{BaselineSource, ExpectationVerdict, Finding, ShareOfBaseline};

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

/// Without an interval of this machine, a result is judged only if the machine's speed would have to change by this factor to
/// reverse the verdict. This is a judgement, not a simulated level: on a busy guest, cpu.sieve fell from 446 to 200 ops/s
/// within an hour (2026-11-29).
const OTHER_TIMES: f64 = 3.0;

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
        finding.of_baseline = match (expected, ceiling) {
            (Some(expected), _) => of_expectation(finding, expected),
            (None, Some(other)) => {
                share(&finding.estimate, values[other], finding.better).map(|share| {
                    ShareOfBaseline {
                        value: values[other],
                        worst: values[other],
                        share,
                        verdict: None,
                        source: BaselineSource::Ceiling(names[other].clone()),
                    }
                })
            }
            (None, None) => None,
        };
    }
}

/// A result next to what was stated for it. Its interval is the one that is shown: a few quiet seconds do not prove that this
/// machine reaches a figure.
fn of_expectation(finding: &Finding, expected: &Expectation) -> Option<ShareOfBaseline> {
    let shown = share(&finding.shown(), expected.value, finding.better)?;
    // The end of the range at which performance is worst.
    let worst = match (expected.range, finding.better) {
        (Some((low, _)), Better::Higher) => low,
        (Some((_, high)), Better::Lower) => high,
        (Some(_), Better::Neither) | (None, _) => expected.value,
    };
    let least = match finding.better {
        Better::Lower => expected.value / worst,
        Better::Higher | Better::Neither => worst / expected.value,
    };
    let verdict = match &shown.interval {
        Ok(ends) => verdict(*ends, least),
        Err(_) => share(&finding.estimate, expected.value, finding.better)
            .and_then(|session| session.interval.ok())
            .map_or(ExpectationVerdict::Undecided, |ends| verdict(beyond_session(ends), least)),
    };
    let source = match &expected.reference {
        Some(name) => BaselineSource::Reference(name.clone()),
        None => BaselineSource::Expectation,
    };
    Some(ShareOfBaseline {
        value: expected.value,
        worst,
        share: shown,
        verdict: Some(verdict),
        source,
    })
}

/// The interval of a session that is too short to describe the machine, or too noisy, as wide as the machine's speed may change.
fn beyond_session(ends: Ends) -> Ends {
    Ends { low: ends.low / OTHER_TIMES, high: ends.high * OTHER_TIMES }
}

fn verdict(share: Ends, least: f64) -> ExpectationVerdict {
    if share.high < least {
        ExpectationVerdict::Below
    } else if share.low >= least {
        ExpectationVerdict::Reached
    } else {
        ExpectationVerdict::Undecided
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

#[cfg(test)]
mod tests {
    use super::{Ends, ExpectationVerdict, verdict};

    #[test]
    fn only_a_whole_interval_reaches_or_misses() {
        let of = |low: f64, high: f64, least: f64| verdict(Ends { low, high }, least);
        assert_eq!(of(0.7, 0.9, 1.0), ExpectationVerdict::Below);
        assert_eq!(of(0.9, 1.1, 1.0), ExpectationVerdict::Undecided);
        assert_eq!(of(1.0, 1.1, 1.0), ExpectationVerdict::Reached);
        assert_eq!(of(0.7, 0.9, 0.6), ExpectationVerdict::Reached);
    }
}
