//! What is found in records made by hand.

use crate::testing::{Builder, Spec, companion, exec, fail, flag};
use crate::{Finding, summarise};
use plumb_model::{
    ClockKind, ClockSource, Flag, FlagKind, Goal, Outcome, ParameterType, Role, RunRecord,
    SampleIs, Verdict,
};
use plumb_stats::precision::{PER_LOOK_LEVEL, clustered_quantile};

const SPEC: Spec = Spec {
    id: "memory.copy",
    metric: "bandwidth",
    unit: "B/s",
    parameters: &[],
    value: 1e10,
    within: 0.01,
    between: 0.005,
    processes: 12,
    samples: 10,
    cpu: (90, 5, 1),
    memory_mib: 8,
};

fn only(record: &RunRecord) -> Finding {
    let mut finding = summarise(record);
    assert_eq!(finding.results.len(), 1);
    finding.results.remove(0)
}

fn why(finding: &Finding, kind: &FlagKind) -> Option<String> {
    finding.flags.iter().find(|flag| flag.flag == *kind).map(|flag| flag.why.clone())
}

#[test]
fn the_interval_is_the_one_that_strategies_stop_by() {
    let record = Builder::new(None).measured(&SPEC).build();
    let finding = only(&record);
    let metric = &record.plan.points[0].description.metrics[0];
    let processes: Vec<Vec<f64>> = record
        .good_invocations(0)
        .map(|i| i.samples.metric(metric, 1.0).unwrap().split_off(i.steady_start()))
        .collect();
    let slices: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
    let expected = clustered_quantile(&slices, 0.5, PER_LOOK_LEVEL).unwrap();
    assert!((finding.estimate.value - expected.estimate).abs() < 1e-3);
    assert_eq!(finding.estimate.low(), Some(expected.low));
    assert_eq!(finding.estimate.high(), Some(expected.high));
    assert_eq!((finding.invocations, finding.samples, finding.discarded), (12, 120, 24));
    assert!((finding.cpu.unwrap().total() - 0.95).abs() < 1e-3);
    assert!(finding.flags.is_empty(), "{:?}", finding.flags);
}

#[test]
fn samples_of_failed_invocations_never_count() {
    let build = |broken: bool| {
        let builder = Builder::new(None).measured(&SPEC);
        builder
            .invocations(move |i, invocation| {
                if i == 3 && broken {
                    invocation.samples.elapsed_ns.iter_mut().for_each(|t| *t *= 1000);
                }
                if i == 3 {
                    fail(invocation, "wrong result", "line");
                }
            })
            .build()
    };
    let (mild, wild) = (summarise(&build(false)), summarise(&build(true)));
    assert_eq!(mild.results, wild.results);
    assert_eq!(mild.results[0].invocations, 11);
    let failure = &mild.failed[0];
    assert_eq!((failure.times, failure.of, failure.why.as_str()), (1, 12, "wrong result"));
}

#[test]
fn a_cut_off_invocation_does_not_count_and_an_unsupported_one_is_told() {
    let record = Builder::new(None)
        .measured(&SPEC)
        .invocations(|i, invocation| match i {
            0 => invocation.end = None,
            _ => {
                if let Some(end) = &mut invocation.end {
                    end.outcome =
                        Outcome::Unsupported { why: "no device".into(), fix: "plug it in".into() };
                }
            }
        })
        .build();
    let finding = summarise(&record);
    assert!(finding.results.is_empty() && finding.failed.is_empty());
    assert_eq!(finding.unsupported.len(), 1);
    assert_eq!(finding.unsupported[0].fix, "plug it in");
}

#[test]
fn points_without_any_end_were_not_reached() {
    let record = Builder::new(None).measured(&SPEC).planned(&SPEC).build();
    let finding = summarise(&record);
    assert_eq!(finding.not_reached.iter().map(|p| p.index).collect::<Vec<_>>(), [1]);
}

#[test]
fn where_a_sample_is_a_process_each_is_its_own() {
    let spec = Spec { samples: 0, processes: 40, unit: "s", value: 0.002, ..SPEC };
    let finding = only(&Builder::new(None).measured(&spec).build());
    assert_eq!(finding.sample_is, SampleIs::Process);
    assert_eq!((finding.invocations, finding.samples), (40, 40));
    assert!(finding.estimate.interval.is_ok());
    assert!(why(&finding, &FlagKind::SingleProcess).is_none());
}

#[test]
fn one_long_process_has_an_interval_and_says_that_it_is_one() {
    let spec = Spec { processes: 1, samples: 300, ..SPEC };
    let finding = only(&Builder::new(None).measured(&spec).build());
    assert!(finding.estimate.interval.is_ok());
    assert!(why(&finding, &FlagKind::SingleProcess).is_some());
}

#[test]
fn flags_of_workers_come_once_with_how_often() {
    let record = Builder::new(None)
        .measured(&SPEC)
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
fn wide_drifting_and_split_results_are_flagged() {
    let wide = Spec { between: 0.3, ..SPEC };
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
        only(&Builder::new(None).measured(&SPEC).invocations(change).build())
    };
    #[expect(clippy::cast_precision_loss, reason = "test")]
    let drifting = slower(|i| 1.0 + 0.02 * i as f64);
    assert!(why(&drifting, &FlagKind::Noisy).unwrap().contains("falls by"), "{:?}", drifting.flags);
    let split = slower(|i| if i % 3 == 0 { 1.3 } else { 1.0 });
    assert!(why(&split, &FlagKind::Bimodal).unwrap().contains("of the processes lie"));
}

#[test]
fn no_steady_state_and_a_costly_clock_are_flagged() {
    let record = Builder::new(None)
        .measured(&SPEC)
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
        "one reading of the clock takes 100000 ns, 1.2 % of a sample"
    );
}

#[test]
fn a_resumed_run_says_so_and_tells_when_the_machine_slept() {
    let record = Builder::new(None)
        .measured(&SPEC)
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
}

#[test]
fn an_environment_that_changed_is_on_every_result_with_what_changed() {
    let record = Builder::new(None)
        .measured(&SPEC)
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
    let all = Builder::new(None).measured(&SPEC).build().invocations.len();
    let record = Builder::new(None)
        .measured(&SPEC)
        .invocations(|index, it| {
            if index < 2 {
                it.interference.push(found("steal", "the hypervisor took 3 % of the CPU time"));
                it.interference.push(found("swap-in", "9 pages were swapped in"));
            }
            it.excluded_by = (index == 0).then(|| "steal, swap-in".to_owned());
        })
        .build();
    let finding = only(&record);
    assert_eq!(
        why(&finding, &FlagKind::Interference).unwrap(),
        format!(
            "the hypervisor took 3 % of the CPU time (1 of {0} invocations); 9 pages were swapped in \
             (1 of {0} invocations); 1 of {1} invocations were disturbed and do not count",
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
        .measured(&SPEC)
        .with(|record| record.plan.companions.extend(companion(&SPEC, Role::Load)))
        .build();
    assert_eq!(
        why(&only(&record), &FlagKind::WithLoad).unwrap(),
        "ran beside memory.copy on purpose"
    );
}

#[test]
fn threads_are_compared_with_one_allowing_for_both_intervals() {
    const ONE: Spec = Spec { parameters: &[("threads", ParameterType::Threads, "1", "")], ..SPEC };
    const TWO: Spec = Spec {
        parameters: &[("threads", ParameterType::Threads, "1", "2")],
        value: 1.8e10,
        ..SPEC
    };
    let finding = summarise(&Builder::new(None).measured(&ONE).measured(&TWO).build());
    let [scaling] = finding.scaling.as_slice() else { panic!("{:?}", finding.scaling) };
    assert_eq!((scaling.threads, scaling.result, scaling.single), (2, 1, 0));
    assert!((scaling.efficiency.value - 0.9).abs() < 0.02);
    let (one, two) = (&finding.results[0].estimate, &finding.results[1].estimate);
    assert_eq!(scaling.speedup.low(), Some(two.low().unwrap() / one.high().unwrap()));
    assert_eq!(scaling.speedup.high(), Some(two.high().unwrap() / one.low().unwrap()));
    let shared = Flag::new(FlagKind::Other("oversubscribed".into()), "2 threads share 1 CPUs");
    let record = Builder::new(None)
        .measured(&ONE)
        .measured(&TWO)
        .invocations(|_, it| flag(it, shared.clone()))
        .build();
    assert_eq!(summarise(&record).scaling, []);
}

#[test]
fn times_do_not_scale() {
    const ONE: Spec = Spec {
        parameters: &[("threads", ParameterType::Threads, "1", "")],
        unit: "s",
        value: 1e-3,
        ..SPEC
    };
    const TWO: Spec = Spec { parameters: &[("threads", ParameterType::Threads, "1", "2")], ..ONE };
    assert!(
        summarise(&Builder::new(None).measured(&ONE).measured(&TWO).build()).scaling.is_empty()
    );
}

#[test]
fn commands_are_compared_by_round() {
    let finding = summarise(&exec());
    let [faster, other] = finding.against_first.as_slice() else { panic!() };
    assert_eq!(faster.verdict, Ok(Verdict::Faster));
    assert_eq!((faster.pairs, faster.first.name.as_str()), (20, "gzip -1 corpus"));
    let ratio = faster.ratio.as_ref().unwrap();
    assert!(ratio.low().unwrap() < 0.25 && ratio.high().unwrap() > 0.247, "{ratio:?}");
    assert_eq!(other.verdict, Ok(Verdict::Inconclusive));
    assert!(other.pairs_needed.is_some());
}

#[test]
fn a_higher_rate_is_a_lower_cost() {
    let better = Spec { value: 2e10, ..SPEC };
    let record = Builder::new(None)
        .measured(&SPEC)
        .measured(&better)
        .with(|record| record.plan.against_first = true)
        .build();
    let comparison = &summarise(&record).against_first[0];
    assert_eq!(comparison.verdict, Ok(Verdict::Faster));
    assert!((comparison.ratio.as_ref().unwrap().value - 0.5).abs() < 0.01);
}

#[test]
fn few_rounds_give_a_ratio_and_no_verdict() {
    let few = |record: &mut RunRecord| record.invocations.retain(|invocation| invocation.round < 5);
    let mut record = exec();
    few(&mut record);
    let comparison = &summarise(&record).against_first[0];
    assert_eq!(comparison.verdict, Err("a verdict takes 8 pairs".into()));
    assert_eq!(comparison.pairs, 5);
    let ratio = comparison.ratio.as_ref().unwrap();
    assert!(ratio.interval.is_err() && (0.2..0.3).contains(&ratio.value));
}

#[test]
fn rounds_without_both_are_left_out() {
    let mut record = exec();
    record.invocations.retain(|invocation| invocation.point != 1 || invocation.round % 2 == 0);
    assert_eq!(summarise(&record).against_first[0].pairs, 10);
}

#[test]
fn a_value_that_is_no_number_is_a_failure() {
    let record = Builder::new(None)
        .measured(&SPEC)
        .invocations(|_, invocation| {
            invocation.ready.work.insert("bandwidth".into(), f64::INFINITY);
        })
        .build();
    let finding = summarise(&record);
    assert!(finding.results.is_empty());
    assert_eq!(finding.failed[0].why, "metric `bandwidth` has a value that is no number");
}

#[test]
fn a_fixed_goal_wants_no_precision() {
    let record = Builder::new(None)
        .measured(&Spec { between: 0.3, ..SPEC })
        .with(|record| {
            record.plan.goal = Goal::Fixed { min_invocations: 12, min_time_ns: 0, max_time_ns: 1 };
        })
        .build();
    let finding = only(&record);
    assert!(finding.wanted.is_none() && finding.reached.is_some());
}

mod comparisons {
    use super::*;
    use plumb_model::Impact;

    use crate::{CompareSettings, compare, compare_sides};

    fn settings() -> CompareSettings {
        CompareSettings { by: None, margin: 0.01, every_metric: false, price: "price".into() }
    }

    /// A run of one workload at so many times its usual level.
    fn run(level: f64, id: u128, label: (&str, &str)) -> RunRecord {
        let spec = Spec { value: 1e9 * level, ..SPEC };
        let mut record = Builder::new(Some("s")).measured(&spec).build();
        record.run = plumb_model::Id::from_u128(id);
        record.plan.labels.insert(label.0.into(), label.1.into());
        record
    }

    #[test]
    fn two_runs_alone_are_uncalibrated_and_say_how_much_noise_would_explain_them() {
        let finding =
            compare(&[run(1.0, 1, ("k", "a")), run(0.5, 2, ("k", "b"))], &[], &settings());
        assert_eq!(finding.arms, ["k=a", "k=b"]);
        let against = finding.results[0].against_first[0].as_ref().unwrap();
        // Half the bandwidth is twice the cost.
        assert!((against.ratio.as_ref().unwrap().value - 2.0).abs() < 0.1);
        assert!(against.verdict.is_err() && against.flags == ["uncalibrated"]);
        let sd = against.break_even.unwrap();
        assert!((0.2..0.4).contains(&sd), "{sd}");
    }

    #[test]
    fn six_earlier_runs_give_a_verdict_that_allows_for_their_noise() {
        let earlier: Vec<RunRecord> = [1.0, 1.02, 0.99, 1.01, 0.98, 1.0]
            .iter()
            .zip(10..)
            .map(|(level, id)| run(*level, id, ("k", "h")))
            .collect();
        let against = |level| {
            let arms = [run(1.0, 1, ("k", "a")), run(level, 2, ("k", "b"))];
            let finding = compare(&arms, &earlier, &settings());
            finding.results[0].against_first[0].clone().unwrap()
        };
        assert_eq!(against(0.5).verdict, Ok(Verdict::Slower));
        assert_eq!(against(2.0).verdict, Ok(Verdict::Faster));
        assert_eq!(against(0.97).verdict, Ok(Verdict::Inconclusive));
        assert!((0.01..0.02).contains(&against(0.97).run_sd.unwrap()));
    }

    #[test]
    fn a_harmless_change_leaves_earlier_runs_of_use_and_a_relevant_one_does_not() {
        let verdict = |field: &str| {
            let with = |id: u32| {
                let mut record = run(1.0 + f64::from(id) * 1e-3, id.into(), ("k", "h"));
                let facts = &mut record.targets[0].environment.facts;
                facts.insert(field.into(), format!("value {id}"));
                record
            };
            let earlier: Vec<RunRecord> = (10..16).map(with).collect();
            let arms = [run(1.0, 1, ("k", "a")), run(0.5, 2, ("k", "b"))];
            let finding = compare(&arms, &earlier, &settings());
            finding.results[0].against_first[0].clone().unwrap().verdict
        };
        let harmless = plumb_model::FACTS.iter().find(|fact| fact.impact == Impact::Harmless);
        assert_eq!(verdict(harmless.unwrap().name), Ok(Verdict::Slower));
        assert!(verdict("kernel").is_err());
    }

    #[test]
    fn a_run_of_a_program_against_itself_counts_once() {
        let twice = |level: f64, id| {
            let spec = Spec { value: 1e9 * level, ..SPEC };
            let mut record = Builder::new(Some("s")).measured(&spec).measured(&spec).build();
            record.run = plumb_model::Id::from_u128(id);
            record
        };
        let earlier: Vec<RunRecord> = (10..13).map(|id| twice(1.0, id)).collect();
        let arms = [run(1.0, 1, ("k", "a")), run(0.5, 2, ("k", "b"))];
        let finding = compare(&arms, &earlier, &settings());
        let against = finding.results[0].against_first[0].as_ref().unwrap();
        // Three runs, not six: twice the same run says nothing of the noise between runs.
        assert_eq!(against.flags, ["uncalibrated"]);
        let finding = compare(&[twice(1.0, 1), twice(0.5, 2)], &[], &settings());
        assert_eq!(finding.results[0].arms[0].as_ref().unwrap().runs, 1);
    }

    #[test]
    fn all_series_together_have_no_interval_while_the_noise_between_runs_is_unknown() {
        let two = |level: f64, id| {
            let spec = Spec { value: 1e9 * level, ..SPEC };
            let other = Spec { id: "memory.other", ..spec };
            let mut record = Builder::new(Some("s")).measured(&spec).measured(&other).build();
            record.run = plumb_model::Id::from_u128(id);
            record
        };
        let arms = [two(1.0, 1), two(0.5, 2)];
        let overall = |earlier: &[RunRecord], every_metric| {
            let finding = compare(&arms, earlier, &CompareSettings { every_metric, ..settings() });
            finding.overall[0].clone()
        };
        let alone = overall(&[], false).unwrap();
        assert!((alone.value - 2.0).abs() < 0.1 && alone.interval.is_err(), "{alone:?}");
        let earlier: Vec<RunRecord> = (10..16).map(|id| two(1.0, id)).collect();
        assert!(overall(&earlier, false).unwrap().interval.is_ok());
        assert_eq!(overall(&earlier, true), None);
    }

    #[test]
    fn what_one_run_did_not_read_is_no_difference_but_what_it_is_not_is_one() {
        let mut other = run(1.0, 2, ("k", "b"));
        let target = &mut other.targets[0];
        target.environment.facts.insert("caches".into(), "L1d 32 KiB".into());
        target.machine.facts.insert("product".into(), "m5.large".into());
        let finding = compare(&[run(1.0, 1, ("k", "a")), other], &[], &settings());
        let fields =
            finding.differences.iter().map(|it| (it.field.as_str(), it.values[0].as_str()));
        let fields: Vec<_> = fields.filter(|(field, _)| *field != "labels").collect();
        assert_eq!(fields, [("product", "none")]);
    }

    #[test]
    fn what_is_no_price_is_none() {
        for (price, is) in
            [("19.95", true), ("0", false), ("-1", false), ("inf", false), ("abc", false)]
        {
            let mut first = run(1.0, 1, ("k", "a"));
            first.plan.labels.insert("price".into(), price.into());
            let finding = compare(&[first, run(1.0, 2, ("k", "b"))], &[], &settings());
            let arm = finding.results[0].arms[0].as_ref().unwrap();
            assert_eq!(arm.for_price.is_some(), is, "{price}");
        }
    }

    #[test]
    fn groups_follow_a_label_and_prices_are_allowed_for() {
        let arms: Vec<RunRecord> = [("6.1", 1.0), ("6.12", 1.1), ("6.1", 1.0), ("6.18", 1.2)]
            .iter()
            .zip(1..)
            .map(|((kernel, level), id)| {
                let mut record = run(*level, id, ("kernel", kernel));
                record.plan.labels.insert("price".into(), "2.0".into());
                record
            })
            .collect();
        let by = Some("kernel".to_owned());
        let finding = compare(&arms, &[], &CompareSettings { by, ..settings() });
        assert_eq!(finding.arms, ["6.1", "6.12", "6.18"]);
        let result = &finding.results[0];
        let arm = result.arms[0].as_ref().unwrap();
        assert_eq!((arm.runs, result.against_previous.len()), (2, 2));
        let for_price = arm.for_price.unwrap();
        assert!((for_price - arm.estimate.value / 2.0).abs() < 1e-9 * for_price);
    }

    #[test]
    fn differences_are_graded_and_strangers_listed() {
        let mut other = run(1.0, 2, ("k", "b"));
        other.targets[0].environment.facts.insert("kernel".into(), "9.9".into());
        other.targets[0].machine.fingerprint = "fp1:other".into();
        other.plan.points[0].description.version = 2;
        let finding = compare(&[run(1.0, 1, ("k", "a")), other], &[], &settings());
        assert!(finding.machines_differ);
        let kernel = finding.differences.iter().find(|it| it.field == "kernel").unwrap();
        assert_eq!(kernel.impact, Impact::Relevant);
        assert!(finding.results.is_empty(), "another version is another series");
        assert_eq!(finding.not_in_all.len(), 2);
    }

    #[test]
    fn the_sides_of_one_run_are_arms() {
        let better = Spec { value: 2e10, ..SPEC };
        let record = Builder::new(None).measured(&SPEC).measured(&better);
        let record = record.with(|record| record.plan.against_first = true).build();
        let finding = compare_sides(&record, &crate::summarise(&record));
        assert!(finding.paired && finding.arms.len() == 2);
        let against = finding.results[0].against_first[0].as_ref().unwrap();
        assert_eq!((against.verdict.clone(), against.looks), (Ok(Verdict::Faster), Some(1)));
    }
}

#[test]
fn where_no_direction_is_better_nothing_is_faster_or_slower() {
    let run = |value: f64, id: u128| {
        let mut record = Builder::new(Some("s")).measured(&Spec { value, ..SPEC }).build();
        record.run = plumb_model::Id::from_u128(id);
        record.plan.points[0].description.metrics[0].better = plumb_model::Better::Neither;
        record
    };
    let earlier: Vec<RunRecord> =
        (10..16_u32).map(|id| run(1e9 + 1e6 * f64::from(id), id.into())).collect();
    let settings = crate::CompareSettings {
        by: None,
        margin: 0.01,
        every_metric: false,
        price: "price".into(),
    };
    let finding = crate::compare(&[run(1e9, 1), run(2e9, 2)], &earlier, &settings);
    let against = finding.results[0].against_first[0].as_ref().unwrap();
    assert_eq!(against.verdict, Err("neither direction is better".into()));
    assert!(against.ratio.is_some());
}
