//! The CPU time of other processes next to a workload: work that it may cause elsewhere, in a daemon, a database or the
//! kernel, or in the server of one of plumb's own media, is a cost that its own times do not show.

use plumb_model::{
    CounterAmount, Interference, InvocationRecord, RunRecord, SampleIs, TICKS_PER_S,
};
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
        result.other_cpu = Some(other).filter(|other| other.low().is_some_and(|low| low > least));
    }
}

/// The counter of the monitor `tree` for what serves plumb's own media.
const MEDIA: &str = "tree.media";
/// A smaller share of one CPU is not worth mentioning.
const LEAST_OF_MEDIA: f64 = 0.1;

/// Whether plumb made a medium for the run or for a point.
pub(crate) fn has_media(record: &RunRecord) -> bool {
    let of_points = record.plan.points.iter().flat_map(|point| &point.preparation);
    record.plan.preparation.iter().chain(of_points).any(|made| made.medium().is_some())
}

/// Adds to the first metric of every point the share of one CPU that the servers of its medium used.
pub(crate) fn add_media_cpu(finding: &mut RunFinding, record: &RunRecord, counters: &CounterMeans) {
    for result in finding.results.iter_mut().filter(|result| result.primary) {
        let shares: Vec<f64> = done(record, result.point.index)
            .filter_map(|invocation| counters.get(&invocation.invocation))
            .filter_map(|amounts| media_share(amounts))
            .collect();
        let share = Some(mean_with_interval(&shares));
        result.media_cpu = share.filter(|share| share.value > LEAST_OF_MEDIA);
    }
}

/// The share of one CPU during an invocation; None if it was not counted. A counter that did not move is not among the amounts.
#[expect(clippy::cast_precision_loss, reason = "ticks and nanoseconds stay far below 2^53")]
fn media_share(amounts: &[CounterAmount]) -> Option<f64> {
    let named = |name: &str| amounts.iter().find(|amount| amount.counter.name == name);
    named("tree.processes")?;
    let share = named(MEDIA).map_or(0.0, |media| {
        media.amount as f64 / TICKS_PER_S / (media.duration_ns as f64 / NS_PER_S)
    });
    share.is_finite().then_some(share)
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
fn mean_with_interval(times: &[f64]) -> Estimate {
    let value = mean_of(times);
    if times.len() < FEWEST {
        let why = format!("too few invocations: {}, needs {FEWEST}", times.len());
        return Estimate { value, interval: Err(why) };
    }
    let error = (variance_of(times) / times.len() as f64).sqrt();
    let half = two_sided_t(CONFIDENCE, (times.len() - 1) as f64) * error;
    Estimate { value, interval: Ok(Ends { low: value - half, high: value + half }) }
}

#[cfg(test)]
mod tests {
    use plumb_model::{
        Counter, CounterAmount, CounterKind, Interference, Preparation, PreparationSlot, RunRecord,
    };

    use super::{CounterMeans, add_media_cpu, add_other_cpu, has_media, may_cost};
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
    fn cpu_time_of_the_server_of_a_medium_is_a_share_of_one_cpu() {
        let medium = Preparation {
            knob: "medium".into(),
            value: "loop+luks+ext4".into(),
            slot: PreparationSlot::Run,
            optional: false,
        };
        let without = Builder::new(None).measured(&COPY).build();
        let record = Builder::new(None)
            .measured(&COPY)
            .with(|run| run.plan.preparation.push(medium))
            .build();
        assert!(has_media(&record) && !has_media(&without));
        let share_of = |ticks: u64| {
            let mut counters = CounterMeans::new();
            for invocation in &record.invocations {
                let mut read = vec![amount("tree.processes", CounterKind::Gauge, 3)];
                if ticks > 0 {
                    read.push(amount("tree.media", CounterKind::Counter, ticks));
                }
                counters.insert(invocation.invocation, read);
            }
            let mut finding = summarise(&record);
            add_media_cpu(&mut finding, &record, &counters);
            finding.results[0].media_cpu.as_ref().map(|share| share.value)
        };
        assert!((share_of(165).unwrap() - 1.65).abs() < 1e-9);
        assert_eq!([share_of(0), share_of(9)], [None, None]);
    }

    #[test]
    fn it_is_asked_of_points_that_others_disturbed() {
        assert!(may_cost(&disturbed(3)) && !may_cost(&disturbed(12)));
        assert_eq!(cost(&disturbed(12), 1000), None);
    }
}
