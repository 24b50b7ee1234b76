//! Reasons to distrust.

use plumb_model::{
    ClockKind, ClockSource, Flag, FlagKind, Histogram, Metric, QuantityKind, Role, RunRecord,
};

use super::{only, why};
use crate::summarise;
use crate::testing::{Builder, COPY, Spec, companion, flag};

#[test]
fn flags_of_workers_come_once_with_how_often() {
    let record = Builder::new(None)
        .measured(&COPY)
        .invocations(|i, invocation| {
            flag(invocation, Flag::new(FlagKind::Tmpfs, "in memory"));
            if i < 5 {
                flag(invocation, Flag::new(FlagKind::Cached, format!("{i} % reached the device")));
                flag(invocation, Flag::new(FlagKind::Cached, "again"));
            }
        })
        .last_point(|planned| planned.capped = Some("1 GiB instead of 48 GiB".into()))
        .build();
    let finding = only(&record);
    assert_eq!(why(&finding, &FlagKind::Tmpfs).unwrap(), "in memory");
    assert_eq!(
        why(&finding, &FlagKind::Cached).unwrap(),
        "0 % reached the device (5 of 12 invocations)"
    );
    assert_eq!(why(&finding, &FlagKind::Capped).unwrap(), "1 GiB instead of 48 GiB");
    assert_eq!(finding.flags.len(), 3);
}

#[test]
fn a_result_states_one_precision() {
    let wide = Spec { between: 0.1, ..COPY };
    let seconds_apart = |record: &mut plumb_model::RunRecord| {
        for (number, invocation) in (0..).zip(&mut record.invocations) {
            let late_ns = number * 1_000_000_000;
            invocation.samples.start_ns.iter_mut().for_each(|start_ns| *start_ns += late_ns);
        }
    };
    let finding = only(&Builder::new(None).measured(&wide).with(seconds_apart).build());
    // The interval of the machine is the wider one, and the one of the result's row.
    let shown = finding.shown().relative_half_width().unwrap();
    assert!(shown > finding.reached.unwrap(), "{finding:?}");
    let stated = format!("±{}, wanted ±3 %", plumb_units::percent(shown));
    assert_eq!(why(&finding, &FlagKind::Noisy).unwrap(), stated);
    // A session that is too short for it has its own alone.
    let short = only(&Builder::new(None).measured(&wide).build());
    assert!(why(&short, &FlagKind::Noisy).unwrap().contains("in this session"));
}

#[test]
fn wide_drifting_and_split_results_are_flagged() {
    let wide = Spec { between: 0.3, ..COPY };
    let finding = only(&Builder::new(None).measured(&wide).build());
    assert!(why(&finding, &FlagKind::Noisy).unwrap().contains("wanted ±3 %"));

    let slower = |factor: fn(usize) -> f64| {
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "test"
        )]
        let change = move |i: usize, invocation: &mut plumb_model::InvocationRecord| {
            invocation
                .samples
                .elapsed_ns
                .iter_mut()
                .for_each(|t| *t = (*t as f64 * factor(i)) as u64);
        };
        only(&Builder::new(None).measured(&COPY).invocations(change).build())
    };
    #[expect(clippy::cast_precision_loss, reason = "test")]
    let drifting = slower(|i| 1.0 + 0.02 * i as f64);
    assert!(why(&drifting, &FlagKind::Noisy).unwrap().contains("falls by"), "{:?}", drifting.flags);
    // Ten processes, each like the one before, do not say for how long they will be.
    assert!(
        why(&drifting, &FlagKind::Short)
            .unwrap()
            .contains("consecutive processes resemble each other")
    );
    let split = slower(|i| if i % 3 == 0 { 1.3 } else { 1.0 });
    assert!(why(&split, &FlagKind::Bimodal).unwrap().contains("of the processes are"));
}

#[test]
fn distributions_that_cannot_be_read_are_said() {
    let sound = Histogram::of([7; 100]);
    let record = Builder::new(None)
        .measured(&COPY)
        .last_point(|planned| {
            let metrics = &mut planned.description.metrics;
            let latency = Metric {
                name: "latency".into(),
                kind: QuantityKind::Histogram,
                ..metrics[0].clone()
            };
            metrics.push(latency);
        })
        .invocations(|i, invocation| {
            let one = if i < 2 { Histogram::Hdr("HISTno".into()) } else { sound.clone() };
            let all = vec![one; invocation.samples.len()];
            invocation.samples.histograms.insert("latency".into(), all);
        })
        .build();
    let found = summarise(&record);
    let flagged = found.results.iter().find(|result| result.primary).unwrap();
    assert_eq!(why(flagged, &FlagKind::Unreadable).unwrap(), "latency in 2 of 12 invocations");
    let p50 = found.results.iter().find(|result| result.metric == "latency p50").unwrap();
    assert_eq!(p50.invocations, 10);
}

#[test]
fn no_steady_state_and_a_costly_clock_are_flagged() {
    let record = Builder::new(None)
        .measured(&COPY)
        .invocations(|i, invocation| {
            invocation.ready.clock = Some(ClockSource {
                id: "monotonic".into(),
                unit: "ns".into(),
                resolution_ns: 1,
                overhead_ns: 100_000,
                kind: ClockKind::Wall,
            });
            if let (Some(end), true) = (&mut invocation.end, i % 2 == 0) {
                end.warmup = "trend".into();
            }
        })
        .build();
    let finding = only(&record);
    assert_eq!(
        why(&finding, &FlagKind::Unsteady).unwrap(),
        "no steady state in 6 of 12 invocations"
    );
    assert_eq!(
        why(&finding, &FlagKind::Overhead).unwrap(),
        "reading the clock takes 100000 ns, 1.2 % of a sample"
    );
}

#[test]
fn the_clock_says_nothing_of_samples_that_were_there_before() {
    let record = Builder::new(None)
        .measured(&COPY)
        .invocations(|_, invocation| {
            invocation.ready.supply = Some(12);
            invocation.ready.clock = Some(ClockSource {
                id: "monotonic".into(),
                unit: "ns".into(),
                resolution_ns: 1,
                overhead_ns: 100_000,
                kind: ClockKind::Wall,
            });
        })
        .build();
    let finding = only(&record);
    assert_eq!(why(&finding, &FlagKind::Overhead), None);
    assert_eq!((finding.session_s, finding.machine.is_none()), (None, true));
}

#[test]
fn a_resumed_run_says_so_and_tells_when_the_machine_slept() {
    let record = Builder::new(None)
        .measured(&COPY)
        .invocations(|i, invocation| invocation.segment = u32::from(i >= 6))
        .with(|record| {
            let mut later = record.segments[0].clone();
            later.segment = 1;
            later.started_unix_ns += 700_000_000_000;
            later.monotonic_ns += 100_000_000_000;
            record.segments.push(later);
        })
        .build();
    let finding = only(&record);
    assert!(why(&finding, &FlagKind::Resumed).unwrap().contains("2 stretches"));
    assert!(why(&finding, &FlagKind::Suspended).unwrap().contains("600 s"));
    let imported = RunRecord { plumb: String::new(), ..record };
    assert_eq!(why(&only(&imported), &FlagKind::Suspended), None);
}

#[test]
fn an_environment_that_changed_is_on_every_result_with_what_changed() {
    let record = Builder::new(None)
        .measured(&COPY)
        .invocations(|i, invocation| invocation.environment = usize::from(i >= 6))
        .with(|record| {
            let mut later = record.environments[0].clone();
            later.facts.insert("kernel".into(), "6.6".into());
            later.facts.insert("new".into(), "yes".into());
            record.environments[0].facts.insert("kernel".into(), "6.1".into());
            record.environments.push(later);
        })
        .build();
    let why = why(&only(&record), &FlagKind::EnvironmentChanged).unwrap().to_owned();
    assert_eq!(why, "kernel: 6.1, then 6.6; new: unknown, then yes");
}

#[test]
fn what_else_ran_is_a_flag_with_its_share_and_what_is_excluded_does_not_count() {
    let found = |rule: &str, evidence: &str| plumb_model::Interference {
        rule: rule.into(),
        first: 0,
        last: 1,
        evidence: evidence.into(),
    };
    let all = Builder::new(None).measured(&COPY).build().invocations.len();
    let record = Builder::new(None)
        .measured(&COPY)
        .invocations(|index, invocation| {
            if index < 2 {
                invocation
                    .interference
                    .push(found("steal", "the hypervisor took 3 % of the CPU time"));
                invocation.interference.push(found("swap-in", "9 pages were swapped in"));
            }
            invocation.excluded_by = (index == 0).then(|| "steal, swap-in".to_owned());
        })
        .build();
    let finding = only(&record);
    assert_eq!(
        why(&finding, &FlagKind::Interference).unwrap(),
        format!(
            "the hypervisor took 3 % of the CPU time (1 of {0} invocations); 9 pages were swapped in \
             (1 of {0} invocations); 1 of {1} invocations were disturbed and excluded",
            all - 1,
            all
        )
    );
    let counts = summarise(&record).interference;
    assert_eq!((counts.invocations, counts.disturbed, counts.excluded), (all, 2, 1));
    assert_eq!(
        counts.rules.into_iter().collect::<Vec<_>>(),
        [("steal".into(), 2), ("swap-in".into(), 2)]
    );
}

#[test]
fn a_load_beside_is_on_every_result() {
    let record = Builder::new(None)
        .measured(&COPY)
        .with(|record| record.plan.companions.extend(companion(&COPY, Role::Load)))
        .build();
    assert_eq!(
        why(&only(&record), &FlagKind::WithLoad).unwrap(),
        "ran alongside memory.copy on purpose"
    );
}
