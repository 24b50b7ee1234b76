//! Two levels in place of a median between them.

use plumb_model::{
    Counter, CounterAmount, CounterKind, FlagKind, InvocationRecord, RunRecord, Samples,
};
use plumb_stats::levels::LevelsOf;

use super::{only, why};
use crate::one_run::also_changed::add_covariates_to_levels;
use crate::testing::{Builder, COPY, Spec};
use crate::{CounterMeans, summarise};

/// Every third process, and so every third command, takes a quarter longer.
fn split(spec: &Spec) -> RunRecord {
    let slow = |samples: &mut Samples, which: fn(usize) -> bool| {
        for (at, (elapsed, cpu)) in samples.elapsed_ns.iter_mut().zip(&mut samples.cpu).enumerate()
        {
            *cpu = i32::from(which(at));
            *elapsed += if which(at) { *elapsed / 4 } else { 0 };
        }
    };
    let commands = spec.samples == 0;
    let change = move |index: usize, invocation: &mut InvocationRecord| match (commands, index % 3)
    {
        (true, _) => slow(&mut invocation.samples, |at| at % 3 == 0),
        (false, 0) => slow(&mut invocation.samples, |_| true),
        (false, _) => slow(&mut invocation.samples, |_| false),
    };
    Builder::new(None).measured(spec).invocations(change).build()
}

/// A counter that moves ten times as fast beside every third invocation.
fn counters(record: &RunRecord) -> CounterMeans {
    let beside = |(index, invocation): (usize, &InvocationRecord)| {
        let counter =
            Counter { name: "stat.steal".into(), unit: "s".into(), kind: CounterKind::Counter };
        let amount = if index % 3 == 0 { 100_000_000 } else { 10_000_000 } + index as u64;
        (invocation.invocation, vec![CounterAmount { counter, amount, duration_ns: 1_000_000_000 }])
    };
    record.invocations.iter().enumerate().map(beside).collect()
}

#[test]
fn processes_on_two_levels_have_both_and_what_was_different_beside() {
    let record = split(&Spec { processes: 30, ..COPY });
    let mut finding = summarise(&record);
    add_covariates_to_levels(&mut finding, &record, &counters(&record));
    let result = &finding.results[0];
    let levels = result.levels.as_ref().unwrap();
    // Of a rate the upper level is the faster one.
    assert_eq!((levels.of, levels.lower.count, levels.upper.count), (LevelsOf::Processes, 10, 20));
    // The larger share comes first, although it is the upper level.
    assert_eq!(levels.by_share().map(|level| level.count), [20, 10]);
    assert!((levels.upper.estimate.value / 1e10 - 1.0).abs() < 0.01, "{levels:?}");
    assert!((levels.lower.estimate.value / 0.8e10 - 1.0).abs() < 0.01, "{levels:?}");
    assert!(levels.upper.share.low().unwrap() < 0.6 && levels.upper.share.high().unwrap() < 0.85);
    assert!((levels.lower.share.value + levels.upper.share.value - 1.0).abs() < 1e-12);
    // The estimate stays the median of all.
    assert!(levels.upper.estimate.value > result.estimate.value);
    let told: Vec<(&str, f64)> = levels
        .covariates
        .items()
        .iter()
        .map(|covariate| (covariate.what.as_str(), covariate.effect))
        .collect();
    assert!(told.contains(&("samples on CPU 1", -1.0)), "{told:?}");
    assert!(told.contains(&("stat.steal", -1.0)), "{told:?}");
    let why = why(result, &FlagKind::Bimodal).unwrap();
    assert!(why.starts_with("67 % of the processes are 2"), "{why}");
}

#[test]
fn commands_lie_on_levels_each_by_itself() {
    let spec = Spec { unit: "s", value: 0.02, processes: 60, samples: 0, ..COPY };
    let record = split(&spec);
    let mut finding = summarise(&record);
    add_covariates_to_levels(&mut finding, &record, &CounterMeans::new());
    let levels = finding.results[0].levels.as_ref().unwrap();
    assert_eq!((levels.lower.count, levels.upper.count, levels.switches), (40, 20, 39));
    assert_eq!(levels.by_share().map(|level| level.count), [40, 20]);
    assert_eq!(levels.covariates.items()[0].what, "samples on CPU 0");
    assert_eq!(levels.covariates.items()[0].effect, -1.0);
}

#[test]
fn one_level_has_no_levels_and_no_flag() {
    let finding = only(&Builder::new(None).measured(&COPY).build());
    assert_eq!(finding.levels, None);
    assert_eq!(why(&finding, &FlagKind::Bimodal), None);
}
