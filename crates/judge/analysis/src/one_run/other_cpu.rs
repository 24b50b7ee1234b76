//! The CPU time of other processes next to a workload: work that it may cause elsewhere, in a daemon, a database or the
//! kernel, is a cost that its own times do not show.

use plumb_model::{Interference, InvocationRecord, RunRecord, SampleIs};
use plumb_stats::describe::{mean_of, variance_of};
use plumb_stats::distribution::two_sided_t;

use crate::comparison::covariates::{CounterMeans, foreign_cpu_s};
use crate::comparison::pairs::done;
use crate::estimate::{Ends, Estimate};
use crate::method::CONFIDENCE;
use crate::one_run::finding::RunFinding;

/// The rule of interference that such work meets.
const RULE: &str = "foreign-cpu";
/// Only if more than one invocation in so many meets it.
const ONE_IN: usize = 5;
/// With fewer invocations the time has no interval.
const FEWEST: usize = 7;
/// Less than this share of the CPU time of the work itself is no cost.
const LEAST_SHARE: f64 = 0.1;
const NS_PER_S: f64 = 1e9;

/// Whether other processes used the CPU during many invocations of a point.
pub(crate) fn may_cost(record: &RunRecord) -> bool {
    (0..record.plan.points.len()).any(|point| is_met(&done(record, point).collect::<Vec<_>>()))
}

/// Whether many of these invocations met the rule.
fn is_met(invocations: &[&InvocationRecord]) -> bool {
    let has_met = |found: &Interference| found.rule == RULE;
    let met = invocations.iter().filter(|one| one.interference.iter().any(has_met));
    ONE_IN * met.count() > invocations.len()
}

/// Adds to the first metric of every point what other processes cost in each run of a command, or in each invocation.
pub(crate) fn add_other_cpu(finding: &mut RunFinding, record: &RunRecord, counters: &CounterMeans) {
    for result in finding.results.iter_mut().filter(|result| result.primary) {
        let invocations: Vec<&InvocationRecord> = done(record, result.point.index).collect();
        if !is_met(&invocations) {
            continue;
        }
        let runs = match result.sample_is {
            SampleIs::Process => runs_of_each(&invocations),
            SampleIs::Iteration => 1.0,
        };
        let times_s: Vec<f64> =
            foreign_cpu_s(&invocations, counters).iter().map(|time_s| time_s / runs).collect();
        let other = mean_with_interval(&times_s);
        let own: Vec<f64> = invocations.iter().map(|invocation| own_cpu_s(invocation)).collect();
        let least = LEAST_SHARE * mean_of(&own) / runs;
        result.other_cpu = other.filter(|other| other.low().is_some_and(|low| low > least));
    }
}

/// How many runs of a short command an invocation holds, on average.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn runs_of_each(invocations: &[&InvocationRecord]) -> f64 {
    let runs: usize = invocations.iter().map(|invocation| invocation.samples.len()).sum();
    (runs as f64 / invocations.len() as f64).max(1.0)
}

/// The CPU time of the worker and what it started, in seconds.
#[expect(clippy::cast_precision_loss, reason = "times stay far below 2^53 ns")]
fn own_cpu_s(invocation: &InvocationRecord) -> f64 {
    invocation.usage.iter().map(|usage| (usage.user_ns + usage.system_ns) as f64 / NS_PER_S).sum()
}

/// The mean of times with its interval by Student's t: they are whole ticks of the kernel, of which a median would say
/// little.
#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn mean_with_interval(times_s: &[f64]) -> Option<Estimate> {
    if times_s.len() < FEWEST {
        return None;
    }
    let value = mean_of(times_s);
    let error = (variance_of(times_s) / times_s.len() as f64).sqrt();
    let half = two_sided_t(CONFIDENCE, (times_s.len() - 1) as f64) * error;
    Some(Estimate { value, interval: Ok(Ends { low: value - half, high: value + half }) })
}

#[cfg(test)]
mod tests {
    use plumb_model::{Counter, CounterAmount, CounterKind, Interference, RunRecord};

    use super::{CounterMeans, add_other_cpu, may_cost};
    use crate::estimate::Estimate;
    use crate::summarise;
    use crate::testing::{Builder, COPY};

    fn amount(name: &str, kind: CounterKind, amount: u64) -> CounterAmount {
        let counter = Counter { name: name.into(), unit: String::new(), kind };
        CounterAmount { counter, amount, duration_ns: 1_000_000_000 }
    }

    /// What other processes cost if they use so many ticks during each invocation.
    fn cost(record: &RunRecord, ticks: u64) -> Option<Estimate> {
        let mut counters = CounterMeans::new();
        for (number, invocation) in record.invocations.iter().enumerate() {
            let foreign = ticks + number as u64 % 3;
            let read = vec![
                amount("stat.user", CounterKind::Counter, foreign),
                amount("tree.processes", CounterKind::Gauge, 3),
            ];
            counters.insert(invocation.invocation, read);
        }
        let mut finding = summarise(record);
        add_other_cpu(&mut finding, record, &counters);
        finding.results[0].other_cpu.clone()
    }

    /// A run of which others disturbed one invocation in so many.
    fn disturbed(one_in: usize) -> RunRecord {
        let met =
            Interference { rule: "foreign-cpu".into(), first: 0, last: 0, evidence: String::new() };
        Builder::new(None)
            .measured(&COPY)
            .invocations(|number, invocation| {
                if number % one_in == 0 {
                    invocation.interference.push(met.clone());
                }
            })
            .build()
    }

    #[test]
    fn cpu_time_of_other_processes_is_a_cost_next_to_that_of_the_work() {
        let found = cost(&disturbed(3), 1000).unwrap();
        assert!((found.value - 10.01).abs() < 0.005, "{found:?}");
        assert!(found.low() < Some(10.01) && found.high() > Some(10.01), "{found:?}");
        assert_eq!(cost(&disturbed(3), 0), None);
    }

    #[test]
    fn it_is_asked_of_points_that_others_disturbed() {
        assert!(may_cost(&disturbed(3)) && !may_cost(&disturbed(12)));
        assert_eq!(cost(&disturbed(12), 1000), None);
    }
}
