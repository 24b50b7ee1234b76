//! A burst that ends during one long process.

use plumb_model::{FlagKind, RunRecord};

use super::{only, why};
use crate::testing::{Builder, COPY, Spec};

/// One process of 90 samples and two of warm-up, in which samples from `at` on take `times` as long.
fn stream(at: usize, times: u64, processes: usize, within: f64) -> RunRecord {
    let spec = Spec { unit: "ops/s", value: 3_000.0, processes, samples: 90, within, ..COPY };
    Builder::new(None)
        .measured(&spec)
        .invocations(move |_, invocation| {
            invocation.samples.elapsed_ns.iter_mut().skip(at).for_each(|took| *took *= times);
            for at in 1..invocation.samples.len() {
                let before =
                    invocation.samples.start_ns[at - 1] + invocation.samples.elapsed_ns[at - 1];
                invocation.samples.start_ns[at] = before;
            }
            // As where the fast part was taken for warm-up.
            invocation.end.as_mut().unwrap().steady_start = at.min(30);
        })
        .build()
}

#[test]
fn a_burst_that_ends_has_its_length_its_volume_and_both_levels() {
    let record = stream(30, 4, 1, 0.02);
    let finding = only(&record);
    let burst = finding.burst.as_ref().unwrap();
    let samples = &record.invocations[0].samples;
    let done: u64 = samples.iterations[..30].iter().sum();
    assert!((burst.volume / done as f64 - 1.0).abs() < 1e-9, "{burst:?}");
    assert_eq!(burst.seconds, (samples.start_ns[30] - samples.start_ns[0]) as f64 * 1e-9);
    let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.02;
    assert!(near(burst.before.value, 3_000.0) && near(burst.after.value, 750.0), "{burst:?}");
    assert!(burst.after.low().unwrap() < 750.0 && burst.after.high().unwrap() > 745.0);
    let why = why(&finding, &FlagKind::Burst).unwrap();
    assert_eq!(why, "after 0 s, it falls to 25 % of its former value");
    assert_eq!(finding.levels, None);
}

#[test]
fn what_stays_or_wanders_or_rises_is_no_burst() {
    let burst = |record: &RunRecord| only(record).burst.is_some();
    assert!(!burst(&stream(0, 1, 1, 0.02)), "nothing changes");
    assert!(!burst(&stream(0, 1, 1, 0.3)), "it is noisy");
    assert!(!burst(&stream(30, 4, 3, 0.02)), "processes are not one stream");
    let mut rises = stream(0, 1, 1, 0.02);
    rises.invocations[0].samples.elapsed_ns[..30].iter_mut().for_each(|took| *took *= 4);
    assert!(!burst(&rises), "it gets faster");
    let mut recovers = stream(0, 1, 1, 0.02);
    recovers.invocations[0].samples.elapsed_ns[30..60].iter_mut().for_each(|took| *took *= 4);
    assert!(!burst(&recovers), "it comes back");
}
