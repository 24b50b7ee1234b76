//! What pauses of a spread run do.

use plumb_model::{AFTER_PAUSE, FlagKind, RunRecord};

use super::only;
use crate::testing::{Builder, COPY, Spec};

/// 60 processes in bursts of three with pauses of a second between; `first` is the speed of the first of a burst.
fn spread(first: f64, by: Option<&str>) -> RunRecord {
    let copy = Spec { processes: 60, ..COPY };
    let mut pause_ns = 0;
    Builder::new(None)
        .measured(&copy)
        .with(|record| {
            record.plan.spread_ns = Some(60_000_000_000);
            for (index, invocation) in record.invocations.iter_mut().enumerate() {
                let is_first = index % 3 == 0;
                pause_ns += if is_first { 1_000_000_000 } else { 0 };
                invocation.samples.start_ns.iter_mut().for_each(|at| *at += pause_ns);
                if is_first && index > 0 {
                    let slow = |ns: &mut u64| *ns = (*ns as f64 / first) as u64;
                    invocation.samples.elapsed_ns.iter_mut().for_each(slow);
                    invocation.excluded_by = by.map(str::to_owned);
                }
            }
        })
        .build()
}

#[test]
fn what_is_as_fast_after_a_pause_counts() {
    let found = only(&spread(1.0, None));
    let pauses = found.pauses.unwrap();
    assert_eq!((pauses.pairs, pauses.left_out, found.invocations), (19, 0, 60));
    assert!((0.99..1.01).contains(&pauses.ratio.value), "{pauses:?}");
    assert!((pauses.length_s - 1.0).abs() < 0.1, "{pauses:?}");
    assert!(pauses.equivalent, "{pauses:?}");
    let low = pauses.ratio.low().unwrap();
    let high = pauses.ratio.high().unwrap();
    assert!(low < 1.0 && high > 1.0, "{pauses:?}");
}

#[test]
fn what_is_left_out_is_counted_and_is_no_interference() {
    let found = only(&spread(0.8, Some(AFTER_PAUSE)));
    let pauses = found.pauses.unwrap();
    assert_eq!((pauses.pairs, pauses.left_out, found.invocations), (19, 19, 41));
    assert!((0.78..0.82).contains(&pauses.ratio.value) && !pauses.equivalent, "{pauses:?}");
    assert!(
        found.flags.iter().all(|flag| flag.flag != FlagKind::Interference),
        "{:?}",
        found.flags
    );
}

#[test]
fn a_run_that_was_cut_off_before_it_judged_does_not_call_them_equivalent() {
    let pauses = only(&spread(0.8, None)).pauses.unwrap();
    assert!(!pauses.equivalent && pauses.left_out == 0, "{pauses:?}");
}

#[test]
fn a_gap_that_a_busy_machine_makes_is_no_pause() {
    let mut record = spread(1.0, None);
    let mut late_ns = 0;
    for (index, invocation) in record.invocations.iter_mut().enumerate() {
        invocation.ready.paused_ns =
            Some(if index % 3 == 0 && index > 0 { 800_000_000 } else { 0 });
        // All gaps are longer than the shortest pause: none of them says which is one.
        late_ns += 200_000_000;
        invocation.samples.start_ns.iter_mut().for_each(|at| *at += late_ns);
    }
    let pauses = only(&record).pauses.unwrap();
    assert_eq!(pauses.pairs, 19, "{pauses:?}");
    assert!((pauses.length_s - 0.8).abs() < 1e-9, "{pauses:?}");
    // It has paused nowhere.
    record.invocations.iter_mut().for_each(|invocation| invocation.ready.paused_ns = Some(0));
    assert_eq!(only(&record).pauses, None);
    // Of a version that did not store pauses, every gap counts as one: no invocation follows another.
    record.invocations.iter_mut().for_each(|invocation| invocation.ready.paused_ns = None);
    assert_eq!(only(&record).pauses, None);
}

#[test]
fn a_run_that_is_not_spread_says_nothing_of_pauses() {
    let mut record = spread(1.0, None);
    record.plan.spread_ns = None;
    assert_eq!(only(&record).pauses, None);
}
