//! Estimates of points, and what failed.

use plumb_model::{FlagKind, Goal, Outcome, ParameterType, SampleIs, StoppingRules};
use plumb_stats::precision::{PER_LOOK_LEVEL, clustered_quantile};

use super::{only, why};
use crate::summarise;
use crate::testing::{Builder, COPY, Spec, fail, first_look};

#[test]
fn the_interval_is_the_one_that_strategies_stop_by() {
    let record = Builder::new(None).measured(&COPY).build();
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
        let builder = Builder::new(None).measured(&COPY);
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
    let mild = summarise(&build(false));
    let wild = summarise(&build(true));
    assert_eq!(mild.results, wild.results);
    assert_eq!(mild.results[0].invocations, 11);
    let failure = &mild.failed[0];
    assert_eq!((failure.times, failure.of, failure.why.as_str()), (1, 12, "wrong result"));
}

#[test]
fn a_cut_off_invocation_does_not_count_and_an_unsupported_one_is_told() {
    let record = Builder::new(None)
        .measured(&COPY)
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
    let record = Builder::new(None).measured(&COPY).planned(&COPY).build();
    let finding = summarise(&record);
    assert_eq!(finding.not_reached.iter().map(|p| p.index).collect::<Vec<_>>(), [1]);
}

#[test]
fn where_a_sample_is_a_process_each_is_its_own() {
    let spec = Spec { samples: 0, processes: 40, unit: "s", value: 0.002, ..COPY };
    let finding = only(&Builder::new(None).measured(&spec).build());
    assert_eq!(finding.sample_is, SampleIs::Process);
    assert_eq!((finding.invocations, finding.samples), (40, 40));
    assert!(finding.estimate.interval.is_ok());
    assert!(why(&finding, &FlagKind::SingleProcess).is_none());
}

#[test]
fn one_long_process_has_an_interval_and_says_that_it_is_one() {
    let spec = Spec { processes: 1, samples: 300, ..COPY };
    let finding = only(&Builder::new(None).measured(&spec).build());
    assert!(finding.estimate.interval.is_ok());
    assert!(why(&finding, &FlagKind::SingleProcess).is_some());
}

#[test]
fn a_value_that_is_no_number_is_a_failure() {
    let record = Builder::new(None)
        .measured(&COPY)
        .invocations(|_, invocation| {
            invocation.ready.work.insert("bandwidth".into(), f64::INFINITY);
        })
        .build();
    let finding = summarise(&record);
    assert!(finding.results.is_empty());
    assert_eq!(finding.failed[0].why, "metric `bandwidth` has a value that is not a number");
}

/// Asked for in advance, seven processes of one sample have an interval; looked at again and again, they
/// have none.
#[test]
fn seven_invocations_in_advance_have_an_interval() {
    let of = |goal| {
        let seven = Spec { processes: 7, ..COPY };
        let build = Builder::new(None).measured(&seven).with(|record| record.plan.goal = goal);
        only(&build.build()).estimate.interval
    };
    assert!(of(Goal::Rules(StoppingRules::fixed(7))).is_ok());
    assert!(of(Goal::Rules(StoppingRules::precision(0.5))).is_err());
}

#[test]
fn a_fixed_goal_wants_no_precision() {
    let record = Builder::new(None)
        .measured(&Spec { between: 0.3, ..COPY })
        .with(|record| {
            record.plan.goal = Goal::Rules(StoppingRules::fixed(12));
        })
        .build();
    let finding = only(&record);
    assert!(finding.wanted.is_none() && finding.reached.is_some());
}

/// A run with one expectation, relative to its result.
fn with_expectation(relative: f64, range: Option<(f64, f64)>) -> crate::ShareOfBaseline {
    let mut record = Builder::new(None).measured(&COPY).build();
    let result = only(&record).estimate.value;
    record.plan.expectations.push(plumb_model::Expectation {
        of: record.plan.points[0].point.name(),
        value: relative * result,
        range: range.map(|(low, high)| (low * result, high * result)),
        reference: range.map(|_| "ours".to_owned()),
        in_cycles: false,
        limit: None,
    });
    only(&record).of_baseline.unwrap()
}

#[test]
fn a_short_session_is_judged_only_if_the_machine_would_have_to_change_by_a_factor_of_three() {
    use crate::{BaselineSource, ExpectationVerdict};
    let verdict = |relative: f64| with_expectation(relative, None).verdict.unwrap();
    let quarter = with_expectation(0.25, None);
    assert!((quarter.share.value - 4.0).abs() < 1e-9);
    // The session of 1.2 s is too short for an interval of this machine.
    assert_eq!(quarter.share.interval, Err("in these 1.2 s".into()));
    assert_eq!(quarter.source, BaselineSource::Expectation);
    assert_eq!(quarter.verdict, Some(ExpectationVerdict::Reached));
    assert_eq!(verdict(0.4), ExpectationVerdict::Undecided);
    assert_eq!(verdict(2.5), ExpectationVerdict::Undecided);
    assert_eq!(verdict(4.0), ExpectationVerdict::Below);
    // As good as the worst host of a range is as expected.
    let ranged = with_expectation(4.0, Some((0.2, 5.0)));
    assert_eq!(ranged.verdict, Some(ExpectationVerdict::Reached));
    assert_eq!(ranged.source, BaselineSource::Reference("ours".into()));
    assert_eq!(with_expectation(4.0, Some((3.5, 5.0))).verdict, Some(ExpectationVerdict::Below));
    let reaches_down = with_expectation(4.0, Some((0.9, 5.0)));
    assert_eq!(reaches_down.verdict, Some(ExpectationVerdict::Undecided));
}

fn one_thread(workload: &str, metric: &str) -> plumb_model::Rung {
    plumb_model::Rung {
        name: "one thread".to_owned(),
        workload: workload.to_owned(),
        metric: metric.to_owned(),
        settings: [("threads".to_owned(), "1".to_owned())].into(),
        only: std::collections::BTreeMap::new(),
        times: Some("threads".to_owned()),
    }
}

/// A run of the first look in which `cpu.sieve` declares one thread of it as a rung, with this metric, and two threads do
/// only this share of their work.
fn with_one_thread(metric: &str, share: f64) -> crate::RunFinding {
    summarise(&record_with_one_thread(metric, share))
}

fn record_with_one_thread(metric: &str, share: f64) -> plumb_model::RunRecord {
    let mut record = first_look();
    for planned in record.plan.points.iter_mut().filter(|of| of.point.workload == "cpu.sieve") {
        planned.description.rungs = vec![one_thread("cpu.sieve", metric)];
    }
    for invocation in record.invocations.iter_mut().filter(|of| of.point == 1) {
        let work = invocation.ready.work.entry("rate".to_owned()).or_insert(1.0);
        *work *= share;
    }
    record
}

#[test]
fn two_threads_are_compared_with_twice_one() {
    use crate::{BaselineSource, NoBaseline};
    let found = with_one_thread("rate", 0.5);
    let one = &found.results[0];
    // One thread is not part of one thread.
    assert_eq!(one.of_baseline, Err(NoBaseline::Unknown));
    let two = found.results[1].of_baseline.as_ref().unwrap();
    assert!((two.value - 2.0 * one.estimate.value).abs() < 1e-9);
    assert!((two.share.value - 0.5 * 801.0 / 824.0).abs() < 0.01, "{:?}", two.share);
    let name = "2 × one thread".to_owned();
    assert_eq!(two.source, BaselineSource::Rung { point: one.point.name.clone(), name });
    assert_eq!((two.verdict, two.source.word()), (None, "ceiling"));
    // A share whose interval contains 1 is not shown.
    let whole = &with_one_thread("rate", 1.0).results[1];
    assert_eq!(whole.of_baseline, Err(NoBaseline::NotBelow("2 × one thread".into())));
}

#[test]
fn sides_that_differ_in_a_knob_alone_are_no_ceilings_of_each_other() {
    use crate::NoBaseline;
    let mut record = record_with_one_thread("rate", 2.0);
    for planned in &mut record.plan.points {
        planned.description.ceiling = Some("threads".to_owned());
        planned.description.rungs.clear();
    }
    // Other values of the parameter are.
    assert!(summarise(&record).results[0].of_baseline.is_ok());
    record.plan.points[1].point = record.plan.points[0].point.clone();
    record.plan.points[1].title = Some("thp=never".to_owned());
    let baselines: Vec<_> = summarise(&record)
        .results
        .iter()
        .take(2)
        .map(|result| result.of_baseline.clone())
        .collect();
    let none = Err(NoBaseline::NotMeasured("other values of threads".to_owned()));
    assert_eq!(baselines, [none.clone(), none]);
}

#[test]
fn a_step_is_the_time_that_the_whole_takes_longer_than_its_part() {
    // Points that were asked for are no parts of each other.
    assert!(with_one_thread("rate", 0.5).ladders.is_empty());
    let mut record = record_with_one_thread("rate", 0.5);
    record.plan.points[0].is_ceiling = true;
    let found = summarise(&record);
    assert_eq!(found.ladders.iter().map(|ladder| ladder.result).collect::<Vec<_>>(), [1]);
    let rungs = &found.ladders[0].rungs;
    let whole = found.results[1].point.name.as_str();
    let names: Vec<&str> = rungs.iter().map(|rung| rung.name.as_str()).collect();
    assert_eq!(names, ["2 × one thread", whole]);
    let part = 0.5 * 801.0 / 824.0;
    assert!((rungs[0].of_whole.value - part).abs() < 0.01, "{rungs:?}");
    assert!((rungs[0].result.value - 2.0 * found.results[0].estimate.value).abs() < 1e-9);
    assert!((rungs[1].of_whole.value - 1.0).abs() < 1e-9);
    assert!((rungs[1].step.value - (1.0 - part)).abs() < 0.01, "{rungs:?}");
    // The whole is exactly the whole, so the step is as uncertain as the part.
    let width = |of: &crate::Estimate| of.high().unwrap() - of.low().unwrap();
    assert!((width(&rungs[1].step) - width(&rungs[0].of_whole)).abs() < 1e-9, "{rungs:?}");
    assert!(found.ladders[0].largest_step().is_some());
}

#[test]
fn what_a_link_carries_is_a_part_and_what_takes_longer_than_the_whole_is_none() {
    let with_limit = |relative: f64| {
        let mut record = Builder::new(None).measured(&COPY).build();
        record.plan.expectations.push(plumb_model::Expectation {
            of: record.plan.points[0].point.name(),
            value: relative * only(&record).estimate.value,
            range: None,
            reference: None,
            in_cycles: false,
            limit: Some("PCIe 3.0 ×4".to_owned()),
        });
        summarise(&record).ladders
    };
    let ladders = with_limit(4.0);
    assert_eq!(ladders[0].rungs[0].name, "PCIe 3.0 ×4");
    assert!((ladders[0].rungs[0].of_whole.value - 0.25).abs() < 1e-9, "{ladders:?}");
    assert!(with_limit(0.5).is_empty());
}

#[test]
fn a_rung_without_a_result_is_named() {
    use crate::NoBaseline;
    // The point was measured, but not this metric of it.
    let found = with_one_thread("energy", 1.0);
    assert_eq!(found.results[1].of_baseline, Err(NoBaseline::NoResult("one thread".into())));
    let parameters = &[("threads", plumb_model::ParameterType::Threads, "1", "4")];
    let alone = Spec { id: "cpu.hash", parameters, ..COPY };
    let mut record = Builder::new(None).measured(&alone).build();
    record.plan.points[0].description.rungs = vec![one_thread(alone.id, alone.metric)];
    assert_eq!(only(&record).of_baseline, Err(NoBaseline::NotMeasured("one thread".into())));
}

/// A result next to four cycles, of which five are as expected, at a clock of 3.2 GHz if that was measured.
fn in_cycles(of: &Spec, has_clock: bool) -> crate::Finding {
    let clock = Spec { id: "cpu.frequency", metric: "frequency", unit: "Hz", value: 3.2e9, ..COPY };
    let builder = Builder::new(None).measured(of);
    let mut record = match has_clock {
        true => builder.measured(&clock).build(),
        false => builder.build(),
    };
    record.plan.expectations.push(plumb_model::Expectation {
        of: record.plan.points[0].point.series(of.metric),
        value: 4.0,
        range: Some((4.0, 5.0)),
        reference: Some("Zen 3".to_owned()),
        in_cycles: true,
        limit: None,
    });
    summarise(&record).results.remove(0)
}

const LATENCY: Spec =
    Spec { id: "memory.latency", metric: "latency", unit: "s", value: 2.5e-9, ..COPY };

#[test]
fn cycles_of_a_microarchitecture_are_times_or_rates_at_the_measured_clock() {
    use crate::{BaselineSource, NoBaseline};
    let found = in_cycles(&LATENCY, true).of_baseline.unwrap();
    assert!((found.value / 1.25e-9 - 1.0).abs() < 0.02, "{found:?}");
    assert!((found.worst / found.value - 1.25).abs() < 1e-9, "{found:?}");
    assert!((found.share.value - 0.5).abs() < 0.02, "{found:?}");
    let BaselineSource::Hardware { core, cycles, clock_hz } = &found.source else {
        panic!("{found:?}")
    };
    assert_eq!((core.as_str(), *cycles), ("Zen 3", 4.0));
    assert!((clock_hz / 3.2e9 - 1.0).abs() < 0.02);
    // A rate is the clock over the cycles, and lower if there are more of them.
    let rate = in_cycles(&Spec { id: "t.rate", value: 0.4e9, ..COPY }, true).of_baseline.unwrap();
    assert!((rate.value / 0.8e9 - 1.0).abs() < 0.02, "{rate:?}");
    assert!((rate.worst / rate.value - 0.8).abs() < 1e-9, "{rate:?}");
    assert!((rate.share.value - 0.5).abs() < 0.02, "{rate:?}");
    let without = in_cycles(&LATENCY, false).of_baseline;
    assert_eq!(without, Err(NoBaseline::NotMeasured("cpu.frequency".into())));
}

#[test]
fn a_link_is_a_ceiling_unless_the_result_is_faster() {
    use crate::{BaselineSource, NoBaseline};
    let of_link = |carries: f64| {
        let read = Spec { id: "t.read", value: 1e9, ..COPY };
        let mut record = Builder::new(None).measured(&read).build();
        record.plan.expectations.push(plumb_model::Expectation {
            of: record.plan.points[0].point.series(read.metric),
            value: carries,
            range: None,
            reference: None,
            in_cycles: false,
            limit: Some("PCIe 3.0 ×4 of nvme0n1".to_owned()),
        });
        summarise(&record).results.remove(0).of_baseline
    };
    let quarter = of_link(4e9).unwrap();
    assert!((quarter.share.value - 0.25).abs() < 0.01, "{quarter:?}");
    assert_eq!(quarter.verdict, None);
    let name = "PCIe 3.0 ×4 of nvme0n1".to_owned();
    assert_eq!(quarter.source, BaselineSource::Limit { name: name.clone() });
    // What comes from a cache.
    assert_eq!(of_link(0.5e9), Err(NoBaseline::NotBelow(name)));
}

#[test]
fn only_points_that_were_asked_for_are_ranked() {
    let method = |value: &'static str, rate: f64| Spec {
        parameters: match value {
            "libc" => &[("method", ParameterType::Choice, "libc", "libc")],
            "nt" => &[("method", ParameterType::Choice, "libc", "nt")],
            _ => &[("method", ParameterType::Choice, "libc", "loop")],
        },
        value: rate,
        ..COPY
    };
    let one_and_its_ceiling = Builder::new(None)
        .measured(&method("libc", 1e10))
        .measured(&method("loop", 2e10))
        .last_point(|point| point.is_ceiling = true);
    assert!(summarise(&one_and_its_ceiling.build()).rankings.is_empty());
    let two_and_a_ceiling = Builder::new(None)
        .measured(&method("libc", 1e10))
        .measured(&method("nt", 2e10))
        .measured(&method("loop", 3e10))
        .last_point(|point| point.is_ceiling = true);
    let rankings = summarise(&two_and_a_ceiling.build()).rankings;
    let ranked: Vec<&str> =
        rankings[0].variants.iter().map(|variant| variant.value.as_str()).collect();
    assert_eq!(ranked, ["nt", "libc"]);
}
