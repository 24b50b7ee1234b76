//! Adds to what differs within one run what else changed, from the counters that monitors read.

use plumb_model::{InvocationRecord, RunRecord};

use crate::asked::Asked;
use crate::comparison::covariates::{CounterMeans, FOREIGN_CPU, rates_that_differ};
use crate::comparison::pairs::done;
use crate::one_run::finding::RunFinding;
use crate::one_run::levels::beside_upper;
use crate::one_run::point_data::PointData;

/// Adds to every point of a run that differs from the first, or from the one above it, what else changed.
pub(crate) fn add_covariates_to_points(
    finding: &mut RunFinding,
    record: &RunRecord,
    counters: &CounterMeans,
) {
    let all = finding.against_first.iter_mut().chain(&mut finding.against_above);
    for comparison in all {
        let has_side_effects =
            comparison.found.by_pairs().is_some_and(|pairs| !pairs.side_effects.is_empty());
        let first = comparison.first.index;
        let later = comparison.point.index;
        let changed = if comparison.found.differs() && !has_side_effects {
            let from: Vec<&InvocationRecord> = record.good_invocations(first).collect();
            let to: Vec<&InvocationRecord> = record.good_invocations(later).collect();
            rates_that_differ(&from, &to, counters)
        } else {
            // Excluded invocations, too: what excluded them may be work that a side causes elsewhere. Equal times need
            // no explanation, but that work is a cost of its own.
            let from: Vec<&InvocationRecord> = done(record, first).collect();
            let to: Vec<&InvocationRecord> = done(record, later).collect();
            let mut changed = rates_that_differ(&from, &to, counters);
            if !has_side_effects {
                changed.retain(|covariate| covariate.what == FOREIGN_CPU);
            }
            changed
        };
        if changed.is_empty() && !comparison.found.differs() {
            continue;
        }
        comparison.found.covariates = Asked::list(changed);
    }
}

/// Adds to every result with two levels what was different next to the upper one.
pub(crate) fn add_covariates_to_levels(
    finding: &mut RunFinding,
    record: &RunRecord,
    counters: &CounterMeans,
) {
    let all = PointData::of(record);
    for result in &mut finding.results {
        let Some(levels) = &mut result.levels else { continue };
        let of = (result.point.index, result.target);
        let Some(data) = all.iter().find(|data| (data.index, data.target) == of) else { continue };
        let Some(metric) = data.planned.description.metric(&result.metric) else { continue };
        levels.covariates = Asked::list(beside_upper(data, metric, levels, counters));
    }
}

#[cfg(test)]
mod tests {
    use plumb_model::{Counter, CounterAmount, CounterKind, InvocationRecord, RunRecord};

    use super::{Asked, CounterMeans, FOREIGN_CPU, add_covariates_to_points, rates_that_differ};
    use crate::comparison::covariates::CovariateChange;
    use crate::summarise;
    use crate::testing::{Builder, COPY, Spec};

    const SPEC: Spec = Spec {
        id: "cpu.sieve",
        metric: "rate",
        unit: "ops/s",
        value: 500.0,
        between: 0.01,
        cpu: (90, 5, 0),
        ..COPY
    };

    /// Two points in pairs; the second takes twice as long, in system time.
    fn pairs(factor: f64) -> RunRecord {
        let later = Spec { value: 500.0 / factor, ..SPEC };
        let record = Builder::new(None).measured(&SPEC).measured(&later);
        record.with(|record| record.plan.against_first = true).build()
    }

    fn amount(name: &str, unit: &str, kind: CounterKind, amount: u64) -> CounterAmount {
        let counter = Counter { name: name.into(), unit: unit.into(), kind };
        CounterAmount { counter, amount, duration_ns: 1_000_000_000 }
    }

    /// Interrupts double with the second point; other counters do as they like.
    fn counters(record: &RunRecord) -> CounterMeans {
        let beside = |(n, invocation): (usize, &InvocationRecord)| {
            let n = n as u64;
            let later = invocation.point as u64;
            let mut all = vec![
                amount("stat.interrupts", "", CounterKind::Counter, 1000 * (1 + later) + n),
                amount("stat.switches", "", CounterKind::Counter, 500 + n * 7919 % 100),
                amount("meminfo.free", "B", CounterKind::Gauge, 1_000_000_000 + later),
            ];
            // What does not move beside an invocation is not there.
            if later == 1 {
                all.push(amount("vmstat.swap_ins", "", CounterKind::Counter, 40));
                all.push(amount("vmstat.rare", "", CounterKind::Counter, 2));
            }
            (invocation.invocation, all)
        };
        record.invocations.iter().enumerate().map(beside).collect()
    }

    #[test]
    fn loop_devices_of_the_two_sides_are_one_kind_of_device() {
        let record = pairs(2.0);
        let mut finding = summarise(&record);
        // Each side has its own loop device, busy all the time; a disk is busy with the second side alone.
        let beside = |(n, invocation): (usize, &InvocationRecord)| {
            let name = format!("diskstats.loop{}.busy", invocation.point);
            let mut all =
                vec![amount(&name, "ns", CounterKind::Counter, 990_000_000 + n as u64 % 3)];
            if invocation.point == 1 {
                all.push(amount("diskstats.vda.busy", "ns", CounterKind::Counter, 500_000_000));
            }
            (invocation.invocation, all)
        };
        let counters = record.invocations.iter().enumerate().map(beside).collect();
        add_covariates_to_points(&mut finding, &record, &counters);
        let moved = finding.against_first[0].found.covariates.items();
        let names: Vec<&str> = moved.iter().map(|covariate| covariate.what.as_str()).collect();
        assert!(names.contains(&"diskstats.vda.busy"), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("loop")), "{names:?}");
    }

    #[test]
    fn what_changed_with_a_slower_side_is_told_the_farthest_first() {
        let record = pairs(2.0);
        let mut finding = summarise(&record);
        add_covariates_to_points(&mut finding, &record, &counters(&record));
        let moved = finding.against_first[0].found.covariates.items();
        let names: Vec<&str> = moved.iter().map(|covariate| covariate.what.as_str()).collect();
        assert!(names[0] == "vmstat.swap_ins", "from nothing to 40 a second: {names:?}");
        assert!(names.contains(&"stat.interrupts"), "{names:?}");
        assert!(names.contains(&"user time per iteration"), "{names:?}");
        for absent in ["stat.switches", "meminfo.free", "vmstat.rare", "minor faults per iteration"]
        {
            assert!(!names.contains(&absent), "{absent} in {names:?}");
        }
        let interrupts =
            moved.iter().find(|covariate| covariate.what == "stat.interrupts").unwrap();
        assert!((interrupts.effect - 1.0).abs() < 1e-12);
        let CovariateChange::Rate { from, to, unit } = &interrupts.how else {
            panic!("{interrupts:?}")
        };
        assert!(*from < 1100.0 && *to > 1900.0 && unit == "events/s", "{interrupts:?}");
    }

    #[test]
    fn equals_are_not_explained() {
        let record = pairs(1.0);
        let mut finding = summarise(&record);
        add_covariates_to_points(&mut finding, &record, &counters(&record));
        assert_eq!(finding.against_first[0].found.covariates, Asked::NotAsked);
    }

    #[test]
    fn work_of_other_processes_is_reported_for_equal_times_too() {
        let record = pairs(1.0);
        let mut counters = CounterMeans::new();
        for (number, invocation) in record.invocations.iter().enumerate() {
            let number = number as u64;
            let foreign = 20 * invocation.point as u64 + number % 3;
            let ticks = |name, ticks| amount(name, "tick", CounterKind::Counter, ticks);
            // An invocation shorter than a tick has no CPU time of its own.
            counters.insert(
                invocation.invocation,
                vec![
                    ticks("stat.user", foreign),
                    amount("tree.processes", "", CounterKind::Gauge, 3),
                ],
            );
        }
        let mut finding = summarise(&record);
        add_covariates_to_points(&mut finding, &record, &counters);
        let moved = finding.against_first[0].found.covariates.items();
        let [foreign] = moved else { panic!("{moved:?}") };
        assert_eq!(foreign.what, FOREIGN_CPU);
        let CovariateChange::Rate { from, to, unit } = &foreign.how else { panic!("{foreign:?}") };
        assert!(*from < 0.03 && *to > 0.19 && unit == "s", "{foreign:?}");
    }

    #[test]
    fn without_counters_the_work_itself_is_told() {
        let record = pairs(2.0);
        let of = |point| record.good_invocations(point).collect::<Vec<_>>();
        let moved = rates_that_differ(&of(0), &of(1), &CounterMeans::new());
        assert!(
            moved.iter().all(|covariate| covariate.what.ends_with("per iteration")),
            "{moved:?}"
        );
        assert!(!moved.is_empty());
        assert!(rates_that_differ(&[], &of(1), &CounterMeans::new()).is_empty());
    }
}
