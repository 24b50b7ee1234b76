//! Adds to what differs what else changed, from the counters that monitors read.

use plumb_model::{InvocationRecord, RunRecord};

use crate::comparison::covariates::{Counters, facts_that_differ, rates_that_differ};
use crate::one_run::finding::RunFinding;
use crate::one_run::levels::beside_upper;
use crate::one_run::point_data::PointData;
use crate::one_run::series_in_run::points_of;
use crate::over_runs::check::{CheckFinding, CheckState};

/// Adds to every point of a run that differs from the first, or from the one above it, what else changed.
pub(crate) fn add_covariates_to_points(
    finding: &mut RunFinding,
    record: &RunRecord,
    counters: &Counters,
) {
    let all = finding.against_first.iter_mut().chain(&mut finding.against_above);
    for comparison in all.filter(|comparison| comparison.found.differs()) {
        let of = |point: usize| record.good_invocations(point).collect::<Vec<_>>();
        let from = of(comparison.first.index);
        let to = of(comparison.point.index);
        comparison.found.covariates = rates_that_differ(&from, &to, counters);
    }
}

/// Adds to every result with two levels what was different beside the upper one.
pub(crate) fn add_covariates_to_levels(
    finding: &mut RunFinding,
    record: &RunRecord,
    counters: &Counters,
) {
    let all = PointData::of(record);
    for result in &mut finding.results {
        let Some(levels) = &mut result.levels else { continue };
        let of = (result.point.index, result.target);
        let Some(data) = all.iter().find(|data| (data.index, data.target) == of) else { continue };
        let Some(metric) = data.planned.description.metric(&result.metric) else { continue };
        levels.covariates = beside_upper(data, metric, levels, counters);
    }
}

/// Adds to every confirmed change what else changed.
pub fn add_covariates_to_check(
    finding: &mut CheckFinding,
    baseline: &[RunRecord],
    confirming: &[RunRecord],
    counters: &Counters,
) {
    let (baseline, fresh): (Vec<_>, Vec<_>) =
        (baseline.iter().collect(), confirming.iter().collect());
    let differences = finding.differences.clone();
    for series in finding.series.iter_mut().filter(|series| series.state == CheckState::Confirmed) {
        let from = invocations(&baseline, &series.series);
        let to = invocations(&fresh, &series.series);
        series.covariates = facts_that_differ(&differences, 0, 1);
        series.covariates.extend(rates_that_differ(&from, &to, counters));
    }
}

/// The good invocations of a series in some runs.
pub(crate) fn invocations<'r>(runs: &[&'r RunRecord], series: &str) -> Vec<&'r InvocationRecord> {
    let of_run = |record: &&'r RunRecord| -> Vec<&'r InvocationRecord> {
        let points = points_of(record, series);
        points.into_iter().flat_map(|point| record.good_invocations(point)).collect()
    };
    runs.iter().flat_map(of_run).collect()
}

#[cfg(test)]
mod tests {
    use plumb_model::{Counter, CounterAmount, CounterKind, InvocationRecord, RunRecord};

    use super::{Counters, add_covariates_to_points, rates_that_differ};
    use crate::comparison::covariates::CovariateChange;
    use crate::testing::{Builder, COPY, Spec};
    use crate::{CompareSettings, compare, summarise};

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
    fn counters(record: &RunRecord) -> Counters {
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
    fn what_changed_with_a_slower_side_is_told_the_farthest_first() {
        let record = pairs(2.0);
        let mut finding = summarise(&record);
        add_covariates_to_points(&mut finding, &record, &counters(&record));
        let moved = &finding.against_first[0].found.covariates;
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
        assert!(finding.against_first[0].found.covariates.is_empty());
    }

    #[test]
    fn without_counters_the_work_itself_is_told() {
        let record = pairs(2.0);
        let of = |point| record.good_invocations(point).collect::<Vec<_>>();
        let moved = rates_that_differ(&of(0), &of(1), &Counters::new());
        assert!(
            moved.iter().all(|covariate| covariate.what.ends_with("per iteration")),
            "{moved:?}"
        );
        assert!(!moved.is_empty());
        assert!(rates_that_differ(&[], &of(1), &Counters::new()).is_empty());
    }

    #[test]
    fn facts_of_stored_runs_go_before_rates() {
        let run = |value: f64, id: u128, kernel: &str| {
            let mut record = Builder::new(Some("s")).measured(&Spec { value, ..SPEC }).build();
            record.run = plumb_model::Id::from_u128(id);
            let facts = &mut record.targets[0].environment.facts;
            facts.insert("kernel".into(), kernel.into());
            record
        };
        let records = [run(500.0, 1, "6.1"), run(100.0, 2, "6.18")];
        let settings = CompareSettings::default();
        let finding = compare(&records, &[], Some(&Counters::new()), &settings);
        let against = finding.results[0].against_first[0].as_ref().unwrap();
        let first = against.covariates.first().unwrap();
        assert_eq!(first.what, "kernel");
        assert!(
            matches!(&first.how, CovariateChange::Fact { from, to, .. } if from == "6.1" && to == "6.18")
        );
        assert!(
            against.covariates.iter().any(|covariate| covariate.what == "user time per iteration")
        );
    }
}
