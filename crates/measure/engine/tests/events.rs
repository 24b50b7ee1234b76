//! The engine's event stream, with a fake clock and simulated workloads.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

mod fake;

use std::collections::{BTreeMap, BTreeSet};

use fake::{Fake, FakeBehaviour, LACKING, plan, precision, search_plan};
use plumb_model::{
    Companion, Event, Goal, HealthGoal, HealthyPoint, Metric, MetricSource, OnInterference,
    Outcome, Plan, Preparation, PreparationSlot, Role, SampleIs, Sampling, StopReason,
    StoppingRules, Verdict, VerdictGoal,
};
use plumb_stats::verdict::LookSchedule;

fn stop_reasons(fake: &Fake) -> BTreeMap<usize, StopReason> {
    let decisions = fake.events().filter_map(|event| match event {
        Event::Decided(decision) => decision.stop.map(|stop| (decision.point, stop)),
        _ => None,
    });
    decisions.collect()
}

fn rounds(fake: &Fake) -> Vec<Vec<usize>> {
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for event in fake.events() {
        match event {
            Event::RoundStarted { .. } => rounds.push(Vec::new()),
            Event::InvocationStarted { point, role: Role::Workload, .. } => {
                rounds.last_mut().unwrap().push(*point);
            }
            _ => {}
        }
    }
    rounds
}

#[test]
fn a_point_stops_at_a_preset_look_when_its_interval_is_tight_enough() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.02 }]);
    fake.run(&plan(1, precision(0.01))).unwrap();
    assert_eq!(stop_reasons(&fake)[&0], StopReason::Precision);
    let last = fake.last_decision(0);
    assert!([10, 13, 16, 20, 25, 31, 39].contains(&last.invocations), "{last:?}");
    assert!(last.look.unwrap().relative_half_width().unwrap() <= 0.01);
    assert!(matches!(fake.events().last(), Some(Event::RunEnded { .. })));
}

/// Of a run that is spread over so many seconds: its rounds, the pauses, and the invocations left out.
fn spread(kind: FakeBehaviour, seconds: u64) -> (Fake, usize, usize) {
    let mut fake = Fake::new(vec![kind]);
    let spread = Plan { spread_ns: Some(seconds * SECOND_NS), ..plan(1, precision(0.02)) };
    fake.run(&spread).unwrap();
    let started =
        fake.stamped().iter().filter(|stamped| matches!(stamped.event, Event::RoundStarted { .. }));
    let times: Vec<u64> = started.map(|stamped| stamped.at_ns).collect();
    assert!(times.last().unwrap() - times[0] > (seconds - 1) * SECOND_NS);
    let pauses = times.windows(2).filter(|two| two[1] - two[0] > SECOND_NS * 4 / 5).count();
    let is_left_out = |event: &&Event| matches!(event, Event::Excluded { by, .. } if by == "pause");
    let left_out = fake.events().filter(is_left_out).count();
    let stored = fake.events().filter_map(|event| match event {
        Event::InvocationStarted { ready, .. } => Some(ready.paused_ns.unwrap()),
        _ => None,
    });
    // What it stores tells its pauses from any other gap.
    let long: Vec<u64> = stored.filter(|ns| *ns > 0).collect();
    assert_eq!(long.len(), pauses);
    assert!(long.iter().all(|ns| (SECOND_NS / 2..2 * SECOND_NS).contains(ns)), "{long:?}");
    (fake, pauses, left_out)
}

#[test]
fn a_spread_run_pauses_and_keeps_what_is_as_fast_after_a_pause() {
    let (fake, pauses, left_out) = spread(FakeBehaviour::Steady { noise: 0.01 }, 60);
    assert!((36..=60).contains(&pauses), "{pauses}, until {}", fake.now_ns());
    assert_eq!(left_out, 0);
    assert_eq!(stop_reasons(&fake)[&0], StopReason::Precision);
}

#[test]
fn what_is_slower_right_after_a_pause_is_left_out() {
    let (_, pauses, left_out) = spread(FakeBehaviour::SlowAfterPauses { share: 0.1 }, 60);
    assert!(pauses - left_out <= 1, "{left_out} of {pauses}");
}

/// How long a session of one point takes if nobody says how long or how precise, in seconds, and why it ends.
fn by_default(noise: f64, disturbs: fn(usize) -> bool, spread_s: Option<u64>) -> (f64, StopReason) {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise }]);
    fake.disturbs = disturbs;
    let rules = StoppingRules { describe_machine: true, ..StoppingRules::precision(0.01) };
    let spread_ns = spread_s.map(|seconds| seconds * SECOND_NS);
    let budget_ns = Some(120 * SECOND_NS);
    fake.run(&Plan { spread_ns, budget_ns, ..plan(1, Goal::Rules(rules)) }).unwrap();
    (fake.now_ns() as f64 / SECOND_NS as f64, stop_reasons(&fake)[&0])
}

#[test]
fn a_session_of_default_length_describes_the_machine() {
    // The precision is reached within a second.
    let (took_s, stop) = by_default(0.001, |_| false, None);
    assert!((4.0..8.0).contains(&took_s) && stop == StopReason::Precision, "{took_s} {stop:?}");
    let (took_s, stop) = by_default(0.001, |_| true, None);
    assert!((13.0..18.0).contains(&took_s) && stop == StopReason::Precision, "{took_s} {stop:?}");
    // It is not reached in a minute.
    let (took_s, stop) = by_default(0.9, |_| false, None);
    assert!((16.0..21.0).contains(&took_s) && stop == StopReason::Budget, "{took_s} {stop:?}");
    let (took_s, stop) = by_default(0.9, |_| true, None);
    assert!(took_s >= 119.0 && stop == StopReason::Budget, "{took_s} {stop:?}");
    // What is spread over a time takes all of it.
    let (took_s, _) = by_default(0.9, |_| false, Some(60));
    assert!(took_s >= 60.0, "{took_s}");
}

#[test]
fn a_stream_is_one_invocation_with_a_sample_a_second() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
    let mut streamed = plan(1, Goal::Rules(StoppingRules::fixed(1)));
    streamed.points[0].sampling = Some(Sampling::Stream { length_ns: 600_000_000_000 });
    fake.run(&streamed).unwrap();
    let batches = fake.events().filter(|event| matches!(event, Event::Batch { .. })).count();
    assert_eq!((batches, rounds(&fake).len()), (600, 1), "each sample is stored before the next");
    assert_eq!(stop_reasons(&fake)[&0], StopReason::Fixed);
}

#[test]
fn what_a_program_says_that_it_is_doing_comes_before_its_samples_and_changes_nothing() {
    let steady = plan(2, Goal::Rules(StoppingRules::fixed(2)));
    let mut fake = Fake::new(vec![
        FakeBehaviour::Talks { noise: 0.01 },
        FakeBehaviour::Steady { noise: 0.01 },
    ]);
    fake.run(&steady).unwrap();
    let mut said = 0;
    let mut samples = 0;
    // Of the point whose program talks, since its last batch.
    let mut waiting: Vec<&str> = Vec::new();
    for event in fake.events() {
        match event {
            Event::Progress { point, text } => {
                assert_eq!(*point, 0, "only the first program says something");
                waiting.push(text);
            }
            Event::Batch { samples: taken, .. } if !waiting.is_empty() => {
                assert_eq!(waiting[0], "sets up");
                assert_eq!(waiting[1], format!("sample 1 of {}", taken.len()));
                assert_eq!(waiting.len(), taken.len() + 1);
                said += 1;
                samples += taken.len();
                waiting.clear();
            }
            _ => {}
        }
    }
    assert!(said == 2 && samples > 2, "{said} batches, {samples} samples");
    let mut silent = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }; 2]);
    silent.run(&steady).unwrap();
    assert_eq!(silent.asked, fake.asked);
}

#[test]
fn a_listener_that_fails_at_progress_ends_the_run_at_the_next_event() {
    let mut fake = Fake::new(vec![FakeBehaviour::Talks { noise: 0.01 }]);
    // Run, segment, target and round come first; the fifth is the program that sets itself up.
    fake.sink_fails_after = Some(4);
    let error = fake.run(&plan(1, precision(0.02))).unwrap_err();
    assert!(error.to_string().contains("the store is full"), "{error}");
    assert_eq!(fake.stamped().len(), 4);
}

#[test]
fn an_invocation_samples_as_long_as_was_stated() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
    let mut stated = plan(1, Goal::Rules(StoppingRules::fixed(2)));
    stated.points[0].sampling = Some(Sampling::Batch { length_ns: 90_000_000_000 });
    fake.run(&stated).unwrap();
    assert_eq!(fake.asked.len(), 2);
    for samples in &fake.asked {
        // 500 of 180 ms, at 1 µs an iteration, and one before them; rounding may add some.
        assert!((501..=505).contains(&samples.len()), "{}", samples.len());
        let seconds = samples.iter().sum::<u64>() as f64 * 1e-6;
        assert!((88.0..=93.0).contains(&seconds), "{seconds} s");
    }
}

#[test]
fn every_round_takes_every_open_point_once_in_an_order_of_its_own() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }; 6]);
    fake.run(&plan(6, precision(0.005))).unwrap();
    let rounds = rounds(&fake);
    for round in rounds.iter().take(10) {
        let mut sorted = round.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
    }
    assert!(rounds.windows(2).any(|pair| pair[0] != pair[1]));
}

#[test]
fn machines_that_measure_together_wait_before_samples_and_end_at_one_time() {
    let mut fake = Fake::new(vec![
        FakeBehaviour::Steady { noise: 0.01 },
        FakeBehaviour::WarmsUp { samples: 40 },
        FakeBehaviour::Unsupported,
        FakeBehaviour::Steady { noise: 0.3 },
    ]);
    let waited = fake.wait_for_others(3_000_000);
    let rules = StoppingRules { max_invocations: Some(5), ..StoppingRules::fixed(5) };
    let mut plan = plan(4, Goal::Rules(rules));
    for planned in &mut plan.points {
        planned.sampling = Some(Sampling::Batch { length_ns: 100_000_000 });
    }
    fake.run(&plan).unwrap();
    // In the order of turns, each round one point later; the point that is unsupported has none.
    let waited = waited.borrow();
    assert!(waited.is_sorted(), "{waited:?}");
    let points = [vec![0, 1, 3], vec![3, 0, 1], vec![3, 0, 1], vec![1, 3, 0], vec![0, 1, 3]];
    assert_eq!(rounds(&fake), points);
    let starts: Vec<_> = fake
        .events()
        .filter_map(|event| match event {
            Event::InvocationStarted { ready, .. } => ready.shared_start,
            _ => None,
        })
        .collect();
    let batches: Vec<_> = fake
        .events()
        .filter_map(|event| match event {
            Event::Batch { samples, .. } => Some(samples),
            _ => None,
        })
        .collect();
    assert_eq!((starts.len(), waited.len()), (15, 15));
    for (number, start) in starts.iter().enumerate() {
        let next_ns = starts.get(number + 1).map_or(u64::MAX, |next| next.at_ns);
        let of_invocation = batches
            .iter()
            .filter(|samples| samples.start_ns[0] >= start.at_ns && samples.start_ns[0] < next_ns);
        let times = of_invocation.clone().flat_map(|samples| {
            samples.start_ns.iter().zip(&samples.elapsed_ns).map(|(from, length)| from + length)
        });
        let first_ns = of_invocation.clone().map(|samples| samples.start_ns[0]).min().unwrap();
        // Nothing is calibrated once the others have begun.
        assert!(first_ns - start.at_ns < 100_000, "{first_ns} {start:?}");
        let lasted_ns = times.max().unwrap() - start.at_ns;
        assert!((94_000_000..110_000_000).contains(&lasted_ns), "{number}: {lasted_ns} ns");
    }
}

#[test]
fn who_stops_while_waiting_for_others_measures_no_more() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
    fake.interrupt_at_ns = Some(3_500_000_000);
    let waited = fake.wait_for_others(1_000_000_000);
    let rules = StoppingRules { max_invocations: Some(9), ..StoppingRules::fixed(9) };
    let mut plan = plan(1, Goal::Rules(rules));
    plan.points[0].sampling = Some(Sampling::Batch { length_ns: 100_000_000 });
    let ended = fake.run(&plan).unwrap();
    assert!(ended.interrupted);
    let started =
        fake.events().filter(|event| matches!(event, Event::InvocationStarted { .. })).count();
    assert_eq!(started + 1, waited.borrow().len(), "the last one waited, and did not begin");
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.02 }; 3]);
        fake.run(&plan(3, precision(0.02))).unwrap();
        (rounds(&fake), fake.asked.clone())
    };
    assert_eq!(run(), run());
}

#[test]
fn k_is_varied_by_a_tenth_and_kept_for_all_invocations() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
    fake.run(&plan(1, precision(0.02))).unwrap();
    let all: Vec<u64> = fake.asked.iter().flatten().copied().collect();
    let least = *all.iter().min().unwrap();
    let most = *all.iter().max().unwrap();
    assert!(least >= 900 && most <= 1100 && most - least > 100, "{least} {most}");
}

#[test]
fn the_budget_ends_a_run_with_what_it_reached() {
    let mut fake = Fake::new(vec![
        FakeBehaviour::Steady { noise: 0.5 },
        FakeBehaviour::Steady { noise: 0.001 },
    ]);
    let mut plan = plan(2, precision(0.001));
    plan.budget_ns = Some(8_000_000_000);
    let ended = fake.run(&plan).unwrap();
    assert_eq!(stop_reasons(&fake)[&0], StopReason::Budget);
    assert!(fake.now_ns() < 9_000_000_000, "{}", fake.now_ns());
    assert_eq!((ended.measured, ended.interrupted), (2, false));
}

/// A run ends at most so long after its budget, plus one sample.
const GRACE_NS: u64 = 5 * SECOND_NS;

#[test]
fn a_process_that_does_not_answer_ends_with_the_budget_and_what_it_reported_counts() {
    for (after, measured) in [(0, 0), (1, 1), (3, 1), (20, 1)] {
        let mut fake = Fake::new(vec![FakeBehaviour::Hangs { after }]);
        let mut planned = plan(1, precision(0.001));
        planned.budget_ns = Some(4 * SECOND_NS);
        planned.points[0].sample_ns = Some(300_000_000);
        let ended = fake.run(&planned).unwrap();
        assert!(fake.now_ns() <= 4 * SECOND_NS + GRACE_NS + 300_000_000, "{}", fake.now_ns());
        assert_eq!((ended.measured, ended.failed, ended.interrupted), (measured, 0, false));
        assert_eq!(stop_reasons(&fake)[&0], StopReason::Budget);
    }
}

#[test]
fn a_batch_of_long_samples_ends_with_the_budget() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
    let mut planned = plan(1, precision(0.001));
    planned.budget_ns = Some(3 * SECOND_NS);
    planned.points[0].sample_ns = Some(1_500_000_000);
    let ended = fake.run(&planned).unwrap();
    assert!(fake.now_ns() < 3 * SECOND_NS + 1_600_000_000, "{}", fake.now_ns());
    assert_eq!(ended.measured, 1);
    assert!(fake.asked.iter().all(|iterations| iterations.len() == 1), "{:?}", fake.asked);
}

#[test]
fn a_sample_of_seconds_is_a_whole_invocation() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
    let mut planned = plan(1, precision(0.001));
    planned.budget_ns = Some(30 * SECOND_NS);
    planned.points[0].sample_ns = Some(3 * SECOND_NS);
    fake.run(&planned).unwrap();
    let last = fake.last_decision(0);
    assert!(last.invocations >= 8 && last.samples == last.invocations, "{last:?}");
}

#[test]
fn a_short_budget_goes_first_to_the_points_that_still_get_done() {
    let noisy = |point: usize| if point.is_multiple_of(2) { 0.5 } else { 0.04 };
    let kinds = (0..12).map(|point| FakeBehaviour::Jumps { noise: noisy(point) });
    let mut fake = Fake::new(kinds.collect());
    fake.run(&Plan { budget_ns: Some(65 * SECOND_NS), ..plan(12, precision(0.02)) }).unwrap();
    let taken = |point| fake.last_decision(point).invocations;
    for point in 0..12_usize {
        let wanted =
            if point.is_multiple_of(2) { StopReason::Budget } else { StopReason::Precision };
        assert_eq!(stop_reasons(&fake)[&point], wanted, "{point}: {}", taken(point));
    }
    let all = fake.now_ns();
    assert!(all > 64 * SECOND_NS, "what is left is spent: {all}");
    let waited: Vec<usize> = (0..6).map(|pair| taken(2 * pair)).collect();
    assert!(waited.iter().all(|invocations| *invocations >= 10), "{waited:?}");
}

#[test]
fn no_point_takes_more_than_two_shares_before_others() {
    // The first is slower and faster for long: it is predicted to be done soon, and is not.
    let kinds = |point: u32| {
        if point == 0 {
            FakeBehaviour::Drifts { share: 0.1 }
        } else {
            FakeBehaviour::Jumps { noise: 0.3 }
        }
    };
    let mut fake = Fake::new((0..6).map(kinds).collect());
    fake.run(&Plan { budget_ns: Some(60 * SECOND_NS), ..plan(6, precision(0.02)) }).unwrap();
    let taken: Vec<usize> = (0..6).map(|point| fake.last_decision(point).invocations).collect();
    assert!(taken[1..].iter().all(|invocations| *invocations >= 30), "{taken:?}");
}

#[test]
fn the_end_of_a_budget_says_how_much_would_be_enough() {
    let mut good = 0;
    for seed in 0..10 {
        let kinds =
            (0..6).map(|point| FakeBehaviour::Jumps { noise: 0.03 + 0.012 * f64::from(point) });
        let planned = Plan { seed, ..plan(6, precision(0.02)) };
        let mut short = Fake::new(kinds.clone().collect());
        short.run(&Plan { budget_ns: Some(30 * SECOND_NS), ..planned.clone() }).unwrap();
        let needs = (0..6).map(|point| {
            let last = short.last_decision(point);
            last.remaining_ns.filter(|_| last.stop == Some(StopReason::Budget)).unwrap_or(0)
        });
        let said = short.now_ns() + needs.sum::<u64>();
        let mut long = Fake::new(kinds.collect());
        long.run(&planned).unwrap();
        let ratio = said as f64 / long.now_ns() as f64;
        good += usize::from((1.0 / 1.5..=1.5).contains(&ratio));
    }
    assert!(good >= 8, "{good} of 10");
}

#[test]
fn fixed_is_at_least_so_often_and_so_long_and_at_most_so_long() {
    let goal = |min_invocations, min_s: u64, max_s: u64| {
        Goal::Rules(StoppingRules {
            min_time_ns: min_s * 1_000_000_000,
            max_time_ns: Some(max_s * 1_000_000_000),
            ..StoppingRules::fixed(min_invocations)
        })
    };
    let invocations = |goal| {
        let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.1 }]);
        fake.run(&plan(1, goal)).unwrap();
        (fake.last_decision(0).invocations, stop_reasons(&fake)[&0])
    };
    assert_eq!(invocations(goal(5, 0, 1000)), (5, StopReason::Fixed));
    let (long, why) = invocations(goal(2, 10, 1000));
    assert!(long > 20 && why == StopReason::Fixed, "{long}");
    let (short, why) = invocations(goal(1000, 0, 2));
    assert!(short < 15 && why == StopReason::MaxTime, "{short}");
}

#[test]
fn rules_hold_together() {
    let ended = |rules| {
        let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.1 }]);
        fake.run(&plan(1, Goal::Rules(rules))).unwrap();
        let last = fake.last_decision(0);
        let look = last.look.and_then(|look| look.relative_half_width());
        (last.invocations, stop_reasons(&fake)[&0], look, fake.now_ns())
    };
    let loose = StoppingRules::precision(0.2);
    let (invocations, why, ..) = ended(loose);
    assert_eq!((invocations, why), (10, StopReason::Precision));
    // A precision that is reached early waits for both minima, and for the next look.
    let (invocations, why, ..) = ended(StoppingRules { min_invocations: 14, ..loose });
    assert_eq!((invocations, why), (16, StopReason::Precision));
    let (_, why, _, now) = ended(StoppingRules { min_time_ns: 20_000_000_000, ..loose });
    assert!(why == StopReason::Precision && now >= 20_000_000_000, "{now}");
    // Minima that are reached early wait for the precision.
    let tight = StoppingRules { precision: Some(0.02), ..StoppingRules::fixed(2) };
    let (invocations, why, look, _) = ended(tight);
    assert!(why == StopReason::Precision && look.unwrap() <= 0.02, "{look:?}");
    assert!(invocations > 10);
    // A maximum ends it, whatever was reached.
    let (invocations, why, ..) = ended(StoppingRules { max_invocations: Some(7), ..tight });
    assert_eq!((invocations, why), (7, StopReason::MaxInvocations));
    let (_, why, _, now) = ended(StoppingRules { max_time_ns: Some(2_000_000_000), ..tight });
    assert!(why == StopReason::MaxTime && now < 4_000_000_000, "{now}");
}

#[test]
fn all_headline_metrics_have_to_be_precise() {
    let invocations = |headline| {
        let mut fake = Fake::new(vec![FakeBehaviour::RoughTail { noise: 0.1 }]);
        let mut plan = plan(1, precision(0.05));
        let metrics = &mut plan.points[0].description.metrics;
        let tail =
            Metric { name: "tail".into(), source: MetricSource::Value, ..metrics[0].clone() };
        metrics.push(Metric { headline, ..tail });
        fake.run(&plan).unwrap();
        assert_eq!(stop_reasons(&fake)[&0], StopReason::Precision);
        fake.last_decision(0).invocations
    };
    let first = invocations(false);
    let both = invocations(true);
    assert!(first == 10 && both > 15, "{first} and {both}");
}

#[test]
fn a_point_may_have_rules_of_its_own() {
    let mut fake =
        Fake::new(vec![FakeBehaviour::Steady { noise: 0.1 }, FakeBehaviour::Steady { noise: 0.1 }]);
    let mut plan = plan(2, Goal::Rules(StoppingRules::fixed(4)));
    plan.points[1].rules = Some(StoppingRules::fixed(9));
    fake.run(&plan).unwrap();
    let counts = [0, 1].map(|point| fake.last_decision(point).invocations);
    assert_eq!(counts, [4, 9]);
}

#[test]
fn a_soak_ends_by_time_alone_and_tells_what_holds_at_any_time() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }, FakeBehaviour::Fails]);
    let length_ns = 60_000_000_000;
    fake.run(&Plan { budget_ns: Some(length_ns), ..plan(2, Goal::Soak) }).unwrap();
    assert_eq!(stop_reasons(&fake)[&0], StopReason::Time);
    assert_eq!(stop_reasons(&fake)[&1], StopReason::Failed);
    assert!(fake.now_ns() >= length_ns, "{}", fake.now_ns());
    let decisions: Vec<_> = fake
        .events()
        .filter_map(|event| match event {
            Event::Decided(decision) if decision.point == 0 => Some(decision),
            _ => None,
        })
        .collect();
    assert!(decisions.len() > 40, "{}", decisions.len());
    for decision in decisions {
        let told = decision.look.map(|look| look.level);
        assert_eq!(told, (decision.invocations >= 20).then_some(0.95), "{decision:?}");
        let left_ns = decision.remaining_ns.unwrap_or(0);
        assert!(left_ns < length_ns && (left_ns > 0) == decision.stop.is_none(), "{decision:?}");
    }
}

#[test]
fn a_failing_workload_is_given_up_after_three_times_and_the_rest_goes_on() {
    let mut fake = Fake::new(vec![FakeBehaviour::Fails, FakeBehaviour::Steady { noise: 0.01 }]);
    let ended = fake.run(&plan(2, precision(0.02))).unwrap();
    assert_eq!(stop_reasons(&fake)[&0], StopReason::Failed);
    assert_eq!(stop_reasons(&fake)[&1], StopReason::Precision);
    let failures = fake.events().filter(|event| {
        matches!(event, Event::InvocationEnded { end, .. } if matches!(end.outcome, Outcome::Failed(_)))
    });
    assert_eq!(failures.count(), 3);
    assert_eq!((ended.failed, ended.measured), (1, 1));
}

#[test]
fn what_is_unsupported_says_why_once_and_is_not_tried_again() {
    let mut fake =
        Fake::new(vec![FakeBehaviour::Unsupported, FakeBehaviour::Steady { noise: 0.01 }]);
    let ended = fake.run(&plan(2, precision(0.02))).unwrap();
    let missing: Vec<_> = fake
        .events()
        .filter_map(|event| match event {
            Event::Unsupported(missing) => Some((missing.point, missing.fix.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(missing, [(0, "buy one".to_owned())]);
    assert_eq!(ended.unsupported, 1);
}

#[test]
fn what_can_no_longer_run_has_failed() {
    let mut fake = Fake::new(vec![FakeBehaviour::Vanishes]);
    let ended = fake.run(&plan(1, precision(0.02))).unwrap();
    assert_eq!((ended.failed, ended.measured, ended.unsupported), (1, 1, 0));
    let reasons: Vec<_> = fake
        .events()
        .filter_map(|event| match event {
            Event::InvocationEnded { end, .. } => match &end.outcome {
                Outcome::Failed(why) => Some(why.as_str()),
                _ => None,
            },
            _ => None,
        })
        .collect();
    assert_eq!(reasons, ["no such device (it could run before); fix: buy one"]);
}

#[test]
fn a_listener_that_fails_ends_the_run_at_once() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
    fake.sink_fails_after = Some(6);
    let error = fake.run(&plan(1, precision(0.01))).unwrap_err();
    assert_eq!(error.to_string(), "the store is full");
    assert_eq!(fake.events().count(), 6);
}

#[test]
fn an_interrupted_run_says_so_and_is_completed_from_its_record() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.02 }; 2]);
    fake.interrupt_at_ns = Some(2_000_000_000);
    let plan = plan(2, precision(0.01));
    let ended = fake.run(&plan).unwrap();
    assert!(ended.interrupted);
    let last = fake.events().last();
    assert!(matches!(last, Some(Event::RunEnded { interrupted: true, .. })), "{last:?}");
    let record = fake.record(&plan);
    let before = record.invocations.len();
    assert!(before >= 4, "{before}");

    let mut again = Fake::new(vec![FakeBehaviour::Steady { noise: 0.02 }; 2]);
    again.resume(&plan, &record).unwrap();
    assert_eq!(stop_reasons(&again).len(), 2);
    let segment = again.events().find_map(|event| match event {
        Event::SegmentStarted { segment, .. } => Some(*segment),
        _ => None,
    });
    assert_eq!(segment, Some(1));
    assert!(!again.events().any(|event| matches!(event, Event::RunStarted { .. })));
    let last = again.last_decision(0).invocations;
    assert!(last > again.asked.len() / 2, "earlier invocations count: {last}");
    assert!(!again.events().any(|event| matches!(event, Event::Log { .. })));

    // A wrong result of the first segment still fails the run.
    let mut wrong = record.clone();
    let end = wrong.invocations[0].end.as_mut().unwrap();
    end.outcome = Outcome::WrongResult("2 + 2 = 5".into());
    let mut completed = Fake::new(vec![FakeBehaviour::Steady { noise: 0.02 }; 2]);
    let ended = completed.resume(&plan, &wrong).unwrap();
    assert_eq!((ended.failed, ended.measured), (1, 2));

    let mut elsewhere = record.clone();
    elsewhere.targets[0].environment.facts.insert("kernel".into(), "5.10".into());
    let mut changed = Fake::new(vec![FakeBehaviour::Steady { noise: 0.02 }; 2]);
    changed.resume(&plan, &elsewhere).unwrap();
    let said = |event: &Event| matches!(event, Event::Log { text } if text.contains("environment"));
    assert!(changed.events().any(said), "a changed environment is said");
}

#[test]
fn warm_up_is_found_by_the_pilot_and_discarded_afterwards() {
    let mut fake = Fake::new(vec![FakeBehaviour::WarmsUp { samples: 120 }]);
    fake.run(&plan(1, precision(0.02))).unwrap();
    let starts: Vec<usize> = fake
        .events()
        .filter_map(|event| match event {
            Event::InvocationEnded { end, .. } => Some(end.steady_start),
            _ => None,
        })
        .collect();
    assert!(starts.iter().all(|start| (115..=170).contains(start)), "{starts:?}");
    assert!(
        starts[3..].windows(2).all(|pair| pair[0] == pair[1]),
        "fixed after the pilot: {starts:?}"
    );
}

#[test]
fn where_a_sample_is_a_process_exactly_as_many_count_as_were_asked() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.05 }]);
    let mut plan = plan(1, Goal::Rules(StoppingRules::fixed(7)));
    plan.points[0].description.sample_is = SampleIs::Process;
    fake.run(&plan).unwrap();
    let last = fake.last_decision(0);
    assert_eq!(last.samples, 7);
    let asked: Vec<u64> = fake.asked.iter().flatten().copied().collect();
    assert!(asked.iter().all(|k| *k == 1));
}

/// A plan of two points whose samples are processes: the first has only so many.
fn supply_plan(goal: Goal) -> Plan {
    let mut plan = plan(2, goal);
    for planned in &mut plan.points {
        planned.description.sample_is = SampleIs::Process;
    }
    plan
}

fn supply_of(supply: u64) -> Fake {
    Fake::new(vec![FakeBehaviour::HasOnly { supply }, FakeBehaviour::Steady { noise: 0.01 }])
}

#[test]
fn a_supply_is_taken_whole_in_one_invocation_and_ends_the_point() {
    let goals = [precision(0.5), precision(0.0001), Goal::Rules(StoppingRules::fixed(2))];
    for goal in goals {
        let mut plan = supply_plan(goal);
        let rules = StoppingRules { max_invocations: Some(40), ..StoppingRules::precision(0.01) };
        plan.points[1].rules = Some(rules);
        // More than are asked for at once, next to a point that goes on.
        let mut fake = supply_of(620);
        fake.disturbs = |_| true;
        fake.run(&plan).unwrap();
        let last = fake.last_decision(0);
        assert_eq!(last.stop, Some(StopReason::Supply));
        assert_eq!((last.invocations, last.samples), (1, 620));
        assert_eq!(fake.decisions(0).len(), 1, "it is decided once");
        assert!(fake.last_decision(1).samples >= 10, "the other point goes on");
        let started = rounds(&fake).into_iter().flatten().filter(|point| *point == 0).count();
        assert_eq!(started, 1);
        let supply: Vec<usize> = fake.asked.iter().map(Vec::len).filter(|n| *n > 100).collect();
        assert_eq!(supply, [500, 120]);
        assert!(fake.asked.iter().flatten().all(|k| *k == 1));
    }
}

#[test]
fn monitors_do_not_judge_samples_of_a_supply() {
    let mut plan = retrying(2, precision(0.01));
    plan.points[0].description.sample_is = SampleIs::Process;
    let mut fake = supply_of(9);
    fake.disturbs_point = Some(0);
    fake.run(&plan).unwrap();
    assert_eq!(stop_reasons(&fake)[&0], StopReason::Supply);
    assert_eq!(excluded(&fake), 0);
}

#[test]
fn a_soak_a_comparison_and_a_resumed_run_end_with_the_supply_too() {
    let mut soak = supply_plan(Goal::Soak);
    soak.budget_ns = Some(1_000_000_000);
    let mut compared = supply_plan(timed(1_000_000_000));
    compared.against_first = true;
    for plan in [soak, compared] {
        let mut fake = supply_of(12);
        fake.run(&plan).unwrap();
        assert!(stop_reasons(&fake).values().any(|stop| *stop == StopReason::Supply));
        let taken = rounds(&fake).into_iter().flatten().filter(|point| *point == 0).count();
        assert_eq!(taken, 1);
    }

    let plan = supply_plan(precision(0.01));
    let mut fake = supply_of(12);
    fake.run(&plan).unwrap();
    let record = fake.record(&plan);
    let mut again = supply_of(12);
    again.resume(&plan, &record).unwrap();
    assert_eq!(stop_reasons(&again)[&0], StopReason::Supply);
    assert!(!rounds(&again).iter().flatten().any(|point| *point == 0), "it is not taken twice");
}

#[test]
fn a_supply_that_makes_no_sense_fails_with_its_reason() {
    let failure = |supply, sample_is| {
        let mut plan = supply_plan(precision(0.01));
        plan.points.truncate(1);
        plan.points[0].description.sample_is = sample_is;
        let mut fake = supply_of(supply);
        fake.run(&plan).unwrap();
        assert_eq!(stop_reasons(&fake)[&0], StopReason::Failed);
        let ends = fake.events().find_map(|event| match event {
            Event::InvocationEnded { end, .. } => Some(end.outcome.clone()),
            _ => None,
        });
        match ends {
            Some(Outcome::Failed(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    assert!(failure(0, SampleIs::Process).contains("a supply of 0 samples"));
    assert!(failure(1_000_000, SampleIs::Process).contains("at most 40000"));
    assert!(failure(5, SampleIs::Iteration).contains("not processes"));
}

#[test]
fn the_time_of_a_point_is_predicted_within_a_factor_of_two_for_most() {
    let noises = (0..40).map(|i| 0.05 + 0.005 * f64::from(i));
    let mut fake = Fake::new(noises.map(|noise| FakeBehaviour::Steady { noise }).collect());
    fake.run(&plan(40, precision(0.01))).unwrap();
    let mut good = 0;
    for point in 0..40 {
        let decisions = fake.decisions(point);
        let prediction = decisions.iter().find(|d| d.invocations >= 3 && d.remaining_ns.is_some());
        let Some(prediction) = prediction else {
            good += 1;
            continue;
        };
        let each = fake.spent_each_ns();
        let predicted =
            prediction.remaining_ns.unwrap() as f64 + prediction.invocations as f64 * each;
        let ratio = predicted / (decisions.last().unwrap().invocations as f64 * each);
        good += usize::from((0.5..=2.0).contains(&ratio));
    }
    assert!(good >= 32, "{good} of 40");
}

fn verdict(max_pairs: usize, quad: bool) -> Goal {
    Goal::Verdict(VerdictGoal { quad, ..VerdictGoal::new("time", 0.01, max_pairs) })
}

/// With so much time for all comparisons.
fn timed(time_ns: u64) -> Goal {
    let time_ns = Some(time_ns);
    Goal::Verdict(VerdictGoal { time_ns, ..VerdictGoal::new("time", 0.01, 10_000) })
}

#[test]
fn pairs_are_tossed_and_end_at_a_look_with_a_verdict() {
    let mut fake = Fake::new(vec![
        FakeBehaviour::Steady { noise: 0.01 },
        FakeBehaviour::Slower { share: 0.05 },
    ]);
    fake.run(&plan(2, verdict(40, false))).unwrap();
    let rounds = rounds(&fake);
    assert!(rounds.iter().all(|round| *round == [0, 1] || *round == [1, 0]), "{rounds:?}");
    assert!(rounds.contains(&vec![0, 1]) && rounds.contains(&vec![1, 0]));
    let last = fake.last_decision(1);
    assert_eq!(last.stop, Some(StopReason::Verdict));
    let compared = last.compared.unwrap();
    assert_eq!((compared.verdict, compared.pairs), (Some(Verdict::Slower), 8));
    let look = last.look.unwrap();
    assert!(look.low.unwrap() > 1.03 && look.high.unwrap() < 1.07 && look.level == 0.985);
}

#[test]
fn equal_sides_are_equivalent_and_hopeless_ones_inconclusive() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }; 2]);
    fake.run(&plan(2, verdict(40, false))).unwrap();
    assert_eq!(fake.last_decision(1).compared.unwrap().verdict, Some(Verdict::Equivalent));
    let mut fake = Fake::new(vec![FakeBehaviour::Jumps { noise: 0.8 }; 2]);
    fake.run(&plan(2, verdict(40, false))).unwrap();
    let last = fake.last_decision(1);
    assert_eq!(last.stop, Some(StopReason::Hopeless));
    assert_eq!(last.compared.as_ref().unwrap().verdict, Some(Verdict::Inconclusive));
    assert!(last.compared.unwrap().pairs_needed.unwrap() > 80);
}

#[test]
fn where_agreement_is_the_question_a_difference_settles_only_beyond_the_margin() {
    let goal = |margin, beyond| {
        Goal::Verdict(VerdictGoal { beyond, ..VerdictGoal::new("time", margin, 40) })
    };
    let ended = |margin, beyond| {
        let mut fake = Fake::new(vec![
            FakeBehaviour::Steady { noise: 0.01 },
            FakeBehaviour::Slower { share: 0.05 },
        ]);
        fake.run(&plan(2, goal(margin, beyond))).unwrap();
        let last = fake.last_decision(1);
        (last.stop.unwrap(), last.compared.as_ref().unwrap().pairs)
    };
    assert_eq!(ended(0.05, false), (StopReason::Verdict, 8), "slower, whatever the margin");
    assert_eq!(ended(0.05, true), (StopReason::MaxPairs, 40), "neither inside nor beyond");
    assert_eq!(ended(0.02, true), (StopReason::Verdict, 8), "beyond");
    assert_eq!(ended(0.10, true), (StopReason::Verdict, 18), "inside, which takes 14 pairs");
}

#[test]
fn once_a_side_is_faster_the_others_have_few_pairs_left() {
    let ended = |pairs_after_faster| {
        // The last side is 5 % slower, which is neither inside the margin nor beyond.
        let mut fake = Fake::new(vec![
            FakeBehaviour::Slower { share: 0.3 },
            FakeBehaviour::Steady { noise: 0.01 },
            FakeBehaviour::Slower { share: 0.365 },
        ]);
        let goal =
            VerdictGoal { beyond: true, pairs_after_faster, ..VerdictGoal::new("time", 0.05, 40) };
        fake.run(&plan(3, Goal::Verdict(goal))).unwrap();
        let last = |point| fake.last_decision(point);
        assert_eq!(last(1).compared.as_ref().unwrap().verdict, Some(Verdict::Faster));
        (last(2).stop.unwrap(), last(2).compared.as_ref().unwrap().pairs)
    };
    assert_eq!(ended(None), (StopReason::MaxPairs, 40));
    assert_eq!(ended(Some(27)), (StopReason::MaxPairs, 27));
}

#[test]
fn both_sides_of_a_pair_draw_the_same_iterations() {
    let mut fake = Fake::new(vec![
        FakeBehaviour::Steady { noise: 0.01 },
        FakeBehaviour::Slower { share: 0.05 },
    ]);
    fake.run(&plan(2, verdict(40, false))).unwrap();
    for pair in fake.asked.chunks(2) {
        let both = pair[0].len().min(pair[1].len());
        assert_eq!(pair[0][..both], pair[1][..both]);
    }
    assert_ne!(fake.asked[0][..5], fake.asked[2][..5]);
}

#[test]
fn a_quad_is_abba_or_baab() {
    let mut fake = Fake::new(vec![
        FakeBehaviour::Steady { noise: 0.01 },
        FakeBehaviour::Slower { share: 0.05 },
    ]);
    fake.run(&plan(2, verdict(40, true))).unwrap();
    let rounds = rounds(&fake);
    assert!(rounds.iter().all(|round| *round == [0, 1, 1, 0] || *round == [1, 0, 0, 1]));
    assert_eq!(fake.last_decision(1).compared.unwrap().verdict, Some(Verdict::Slower));
}

#[test]
fn many_sides_take_every_position_and_leave_when_they_are_settled() {
    let steady = FakeBehaviour::Steady { noise: 0.01 };
    let mut fake = Fake::new(vec![steady, FakeBehaviour::Slower { share: 0.3 }, steady]);
    fake.run(&plan(3, verdict(40, false))).unwrap();
    let rounds = rounds(&fake);
    for position in 0..3 {
        let mut there: Vec<usize> = rounds[..3].iter().map(|round| round[position]).collect();
        there.sort_unstable();
        assert_eq!(there, [0, 1, 2]);
    }
    let last = |point| fake.last_decision(point).compared.unwrap();
    // Two verdicts share the error, so eight pairs in one direction are not enough.
    assert_eq!((last(1).verdict, last(1).pairs), (Some(Verdict::Slower), 12));
    assert_eq!(last(2).verdict, Some(Verdict::Equivalent));
    assert!(rounds[12..].iter().all(|round| !round.contains(&1)));
}

#[test]
fn a_side_that_fails_ends_its_comparison_alone() {
    let steady = FakeBehaviour::Steady { noise: 0.01 };
    let mut fake = Fake::new(vec![steady, FakeBehaviour::Fails, steady]);
    fake.run(&plan(3, verdict(40, false))).unwrap();
    assert_eq!(stop_reasons(&fake)[&1], StopReason::Failed);
    assert_eq!(stop_reasons(&fake)[&2], StopReason::Verdict);
    let mut fake = Fake::new(vec![FakeBehaviour::Unsupported, steady]);
    fake.run(&plan(2, verdict(40, false))).unwrap();
    assert_eq!(rounds(&fake).len(), 1);
    assert_eq!(stop_reasons(&fake)[&1], StopReason::Unsupported);
}

#[test]
fn a_comparison_that_was_interrupted_goes_on_at_the_next_look() {
    let kinds = vec![FakeBehaviour::Jumps { noise: 0.02 }; 2];
    let plan = plan(2, verdict(40, false));
    let mut fake = Fake::new(kinds);
    fake.interrupt_at_ns = Some(3_000_000_000);
    fake.run(&plan).unwrap();
    let before = fake.record(&plan);
    let pairs = before.invocations.len() / 2;
    assert!(pairs > 3, "{pairs}");
    fake.interrupt_at_ns = None;
    let first = rounds(&fake);
    fake.resume(&plan, &before).unwrap();
    // The order of the rounds goes on; it does not begin again.
    let later = rounds(&fake)[first.len()..].to_vec();
    // The last round before the interruption may be cut off.
    let both = (first.len() - 1).min(later.len());
    assert!(both > 5 && first[..both] != later[..both], "{first:?} {later:?}");
    let looks: Vec<usize> = fake
        .decisions(1)
        .iter()
        .filter_map(|decision| Some(decision.compared.as_ref()?.pairs))
        .collect();
    assert!(looks.iter().all(|look| [8, 12, 18, 27, 40].contains(look)), "{looks:?}");
    assert!(looks.is_sorted_by(|one, next| one < next), "{looks:?}");
}

const SECOND_NS: u64 = 1_000_000_000;

/// The pairs of every look, with its level.
fn looked(fake: &Fake, point: usize) -> Vec<(usize, f64)> {
    let looks = fake.decisions(point).into_iter();
    looks.filter_map(|decision| Some((decision.compared?.pairs, decision.look?.level))).collect()
}

/// Two points that differ by the margin.
const ON_THE_MARGIN: [FakeBehaviour; 2] =
    [FakeBehaviour::Steady { noise: 0.01 }, FakeBehaviour::Slower { share: 0.05 }];

/// What these never settle.
fn unsettled(max_pairs: usize, time_ns: Option<u64>) -> Goal {
    let goal = VerdictGoal::new("time", 0.05, max_pairs);
    Goal::Verdict(VerdictGoal { beyond: true, time_ns, ..goal })
}

#[test]
fn where_time_is_the_limit_looks_go_on_until_it_is_over() {
    let mut fake = Fake::new(ON_THE_MARGIN.to_vec());
    fake.run(&plan(2, unsettled(10_000, Some(60 * SECOND_NS)))).unwrap();
    let last = fake.last_decision(1);
    assert_eq!(last.stop, Some(StopReason::Budget));
    assert!((60 * SECOND_NS..62 * SECOND_NS).contains(&fake.now_ns()), "{}", fake.now_ns());
    let looks = looked(&fake, 1);
    let (before, end) = looks.split_at(looks.len() - 1);
    assert!(before.len() >= 5 && end[0].0 > 40, "{looks:?}");
    assert!(
        before
            .iter()
            .map(|look| look.0)
            .eq(LookSchedule::Long.looks().into_iter().take(before.len()))
    );
    for (pairs, level) in looks {
        assert_eq!(level, LookSchedule::Long.level(plumb_model::Confidence::NinetyFive, pairs));
    }
    let outlook = fake.decisions(1)[3].outlook.unwrap();
    assert!((0.001..0.02).contains(&outlook.scale), "of medians: {}", outlook.scale);
    assert!((SECOND_NS / 10..4 * SECOND_NS).contains(&outlook.pair_ns), "{}", outlook.pair_ns);
}

#[test]
fn what_needs_more_than_twice_the_whole_time_is_hopeless_after_half_of_it() {
    let mut fake = Fake::new(vec![FakeBehaviour::Jumps { noise: 0.8 }; 2]);
    fake.run(&plan(2, timed(60 * SECOND_NS))).unwrap();
    assert_eq!(fake.last_decision(1).stop, Some(StopReason::Hopeless));
    assert!((30 * SECOND_NS..60 * SECOND_NS).contains(&fake.now_ns()), "{}", fake.now_ns());
}

#[test]
fn many_sides_share_the_time_and_who_is_settled_leaves_it_to_the_others() {
    let jumps = FakeBehaviour::Jumps { noise: 0.0242 };
    let mut fake = Fake::new(vec![jumps, FakeBehaviour::Slower { share: 1.0 }, jumps]);
    fake.run(&plan(3, timed(50 * SECOND_NS))).unwrap();
    let last = |point: usize| fake.last_decision(point);
    assert_eq!(last(1).stop, Some(StopReason::Verdict));
    assert_eq!(last(2).stop, Some(StopReason::Budget));
    assert!(last(2).compared.unwrap().pairs > 3 * last(1).compared.unwrap().pairs);
    assert!((50 * SECOND_NS..52 * SECOND_NS).contains(&fake.now_ns()), "{}", fake.now_ns());
}

#[test]
fn slow_points_get_eighteen_pairs_which_is_told_and_a_budget_ends_them_all_the_same() {
    let mut slow = plan(2, timed(20 * SECOND_NS));
    for point in &mut slow.points {
        point.sampling = Some(Sampling::Batch { length_ns: 3 * SECOND_NS });
    }
    let jumps = vec![FakeBehaviour::Jumps { noise: 0.025 }; 2];
    let mut fake = Fake::new(jumps.clone());
    fake.run(&slow).unwrap();
    let decisions = fake.decisions(1);
    let told: Vec<_> = decisions.iter().filter(|decision| decision.compared.is_none()).collect();
    assert_eq!((told.len(), told[0].invocations), (1, 1));
    let told_ns = told[0].remaining_ns.unwrap();
    assert!((90 * SECOND_NS..115 * SECOND_NS).contains(&told_ns), "17 pairs of 6 s: {told_ns}");
    let last = decisions.last().unwrap();
    assert_eq!((last.stop, looked(&fake, 1).last().unwrap().0), (Some(StopReason::Budget), 18));
    let mut fake = Fake::new(jumps);
    fake.run(&Plan { budget_ns: Some(20 * SECOND_NS), ..slow }).unwrap();
    assert!(fake.now_ns() < 30 * SECOND_NS, "{}", fake.now_ns());
}

#[test]
fn any_number_of_pairs_may_be_the_most() {
    let mut fake = Fake::new(ON_THE_MARGIN.to_vec());
    fake.run(&plan(2, unsettled(50, None))).unwrap();
    assert_eq!(fake.last_decision(1).stop, Some(StopReason::MaxPairs));
    let looks: Vec<usize> = looked(&fake, 1).into_iter().map(|look| look.0).collect();
    assert_eq!(looks, [8, 12, 18, 27, 40, 50]);
}

/// A plan that replaces what is disturbed.
fn retrying(points: usize, goal: Goal) -> Plan {
    Plan { on_interference: plumb_model::OnInterference::Retry, ..plan(points, goal) }
}

fn excluded(fake: &Fake) -> usize {
    fake.events().filter(|event| matches!(event, Event::Excluded { .. })).count()
}

#[test]
fn what_is_disturbed_is_told_and_counts_unless_it_is_to_be_replaced() {
    let goal = || Goal::Rules(StoppingRules::fixed(20));
    for (plan, all, replaced) in [(plan(1, goal()), 20, 0), (retrying(1, goal()), 22, 2)] {
        let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
        fake.disturbs = |n| n == 3 || n == 9;
        fake.run(&plan).unwrap();
        let record = fake.record(&plan);
        assert_eq!((record.invocations.len(), excluded(&fake)), (all, replaced));
        assert_eq!(record.good_invocations(0).count(), 20);
        let steal = &record.invocations[3].interference;
        assert_eq!((steal.len(), steal[0].rule.as_str(), steal[0].first), (1, "steal", 0));
        assert_eq!(steal[0].last, record.invocations[3].samples.len() - 1);
        assert!(record.invocations[4].interference.is_empty());
    }
}

#[test]
fn the_rule_looks_at_counters_and_not_at_times() {
    // The slow side is as often disturbed as the fast one, and as often excluded.
    let goal = || Goal::Rules(StoppingRules::fixed(20));
    let of = |kind| {
        let mut fake = Fake::new(vec![kind]);
        fake.disturbs = |n| n % 8 == 3;
        fake.run(&retrying(1, goal())).unwrap();
        excluded(&fake)
    };
    assert_eq!(of(FakeBehaviour::Steady { noise: 0.001 }), of(FakeBehaviour::Jumps { noise: 0.9 }));
}

#[test]
fn a_pair_goes_as_a_whole_when_its_sides_were_disturbed_differently() {
    let kinds =
        || vec![FakeBehaviour::Steady { noise: 0.01 }, FakeBehaviour::Slower { share: 0.05 }];
    let plan = retrying(2, verdict(40, false));
    let mut fake = Fake::new(kinds());
    fake.disturbs = |n| n == 4;
    fake.run(&plan).unwrap();
    assert_eq!(excluded(&fake), 2);
    let record = fake.record(&plan);
    let spoiled: Vec<u32> = record
        .invocations
        .iter()
        .filter(|invocation| invocation.excluded_by.is_some())
        .map(|invocation| invocation.round)
        .collect();
    assert_eq!(spoiled, [2, 2]);
    assert_eq!(fake.last_decision(1).compared.unwrap().pairs, 8);
    // A neighbour that never rests disturbs both sides alike: flagged, and no reason to begin again.
    let mut fake = Fake::new(kinds());
    fake.disturbs = |_| true;
    fake.run(&plan).unwrap();
    assert_eq!(excluded(&fake), 0);
    assert!(
        fake.record(&plan).invocations.iter().all(|invocation| invocation.interference.len() == 1)
    );
}

#[test]
fn pairs_that_are_disturbed_half_of_the_time_give_a_verdict_and_those_that_always_are_give_none() {
    let plan = retrying(2, verdict(40, false));
    let of = |disturbs| {
        let kinds =
            vec![FakeBehaviour::Steady { noise: 0.01 }, FakeBehaviour::Slower { share: 0.05 }];
        let mut fake = Fake::new(kinds);
        fake.disturbs = disturbs;
        fake.run(&plan).unwrap();
        (fake.last_decision(1).stop, fake.last_decision(1).compared.unwrap().pairs, excluded(&fake))
    };
    // One side of every other pair, then of every pair.
    let (stop, pairs, left_out) = of(|n| n % 4 == 1);
    assert_eq!((stop, pairs, left_out), (Some(StopReason::Verdict), 8, 16));
    assert_eq!(of(|n| n % 2 == 1), (Some(StopReason::Interference), 0, 80));
}

#[test]
fn work_that_one_side_causes_elsewhere_excludes_none_of_its_pairs() {
    let plan = retrying(2, verdict(40, false));
    let mut fake = Fake::new(vec![
        FakeBehaviour::Steady { noise: 0.01 },
        FakeBehaviour::Slower { share: 0.05 },
    ]);
    fake.disturbs_point = Some(1);
    fake.run(&plan).unwrap();
    let last = fake.last_decision(1);
    assert_eq!(last.stop, Some(StopReason::Verdict));
    // The sign test needs more pairs than the first look has.
    assert_eq!(last.compared.unwrap().pairs, 12);
}

#[test]
fn what_was_excluded_before_an_interruption_stays_excluded() {
    let goal = Goal::Rules(StoppingRules::fixed(20));
    let plan = retrying(1, goal);
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
    fake.disturbs = |n| n == 2;
    fake.interrupt_at_ns = Some(2_000_000_000);
    fake.run(&plan).unwrap();
    let before = fake.record(&plan);
    let good = before.good_invocations(0).count();
    assert!(good > 2 && good < 20 && excluded(&fake) == 1, "{good}");
    fake.interrupt_at_ns = None;
    fake.disturbs = |_| false;
    fake.resume(&plan, &before).unwrap();
    assert_eq!(fake.record(&plan).good_invocations(0).count(), 20);
}

#[test]
fn a_points_own_knob_is_set_around_its_invocations_and_stands_in_their_environment() {
    let mut two = plan(2, Goal::Rules(StoppingRules::fixed(2)));
    for (index, value) in ["always", "never"].into_iter().enumerate() {
        two.points[index].preparation = vec![Preparation {
            knob: "thp".into(),
            value: value.into(),
            slot: PreparationSlot::Invocation,
            optional: false,
        }];
    }
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }; 2]);
    fake.run(&two).unwrap();
    // What holds, and what the environment says, whenever a process starts.
    let mut held = Vec::new();
    let mut told = String::new();
    let mut starts = 0;
    for event in fake.events() {
        match event {
            Event::Prepared(prepared) => held.push(prepared.setting.clone()),
            Event::Restored { setting } => assert_eq!(held.pop().as_ref(), Some(setting)),
            Event::TargetReady { description, .. } => {
                told = description.environment.facts.get("prepared").cloned().unwrap_or_default();
            }
            Event::InvocationStarted { point, role: Role::Workload, .. } => {
                let own = ["thp=always@invocation", "thp=never@invocation"][*point];
                assert_eq!((held.as_slice(), told.as_str()), (&[own.to_owned()][..], own));
                starts += 1;
            }
            _ => {}
        }
    }
    assert_eq!((starts, held.len()), (4, 0));
}

#[test]
fn a_points_own_load_runs_beside_its_invocations_alone() {
    let mut three = plan(3, Goal::Rules(StoppingRules::fixed(2)));
    let load = three.points[0].clone();
    let load =
        Companion { role: Role::Load, point: load, slot: PreparationSlot::Run, of_points: true };
    three.companions = vec![load];
    three.points[1].beside = vec![0];
    three.points[2].beside = vec![LACKING];
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }; 3]);
    fake.run(&three).unwrap();
    // What runs next to whenever a process is measured; the launcher has checked that it does.
    let mut beside = BTreeMap::new();
    let mut measured = Vec::new();
    for event in fake.events() {
        match event {
            Event::InvocationStarted { invocation, point, role: Role::Load, .. } => {
                beside.insert(*invocation, *point);
            }
            Event::InvocationStarted { point, role: Role::Workload, .. } => {
                let loads: Vec<usize> = beside.values().copied().collect();
                measured.push((*point, loads));
            }
            Event::InvocationEnded { invocation, .. } => {
                beside.remove(invocation);
            }
            _ => {}
        }
    }
    measured.sort();
    let alone = (0, vec![]);
    let loaded = (1, vec![0]);
    assert_eq!(measured, [alone.clone(), alone, loaded.clone(), loaded]);
    assert!(beside.is_empty());
    assert_eq!(stop_reasons(&fake).get(&1), Some(&StopReason::Fixed));
    let missing = fake.events().find_map(|event| match event {
        Event::Unsupported(missing) => Some((missing.point, missing.why.clone())),
        _ => None,
    });
    assert_eq!(missing, Some((2, "with: no such load".to_owned())));
}

/// The limit that each invocation of a point shows.
fn limits(fake: &Fake, plan: &Plan, point: usize) -> Vec<f64> {
    let metric = &plan.points[point].description.metrics[0];
    let record = fake.record(plan);
    record
        .good_invocations(point)
        .flat_map(|invocation| invocation.steady(metric).unwrap())
        .collect()
}

#[test]
fn a_limit_is_one_number_a_process_and_its_trials_are_told_one_by_one() {
    let mut fake = Fake::new(vec![FakeBehaviour::Bears { capacity: 50_000.0, noise: 0.02 }]);
    let plan = search_plan(1, precision(0.02));
    fake.run(&plan).unwrap();
    assert_eq!(stop_reasons(&fake)[&0], StopReason::Precision);
    let found = limits(&fake, &plan, 0);
    assert!(found.len() >= 13, "a number a process: the first look is at 13, {}", found.len());
    assert!(found.iter().all(|limit| (limit / 50_000.0 - 1.0).abs() < 0.1), "{found:?}");
    let distinct: BTreeSet<u64> = found.iter().map(|limit| limit.to_bits()).collect();
    assert!(distinct.len() > 8, "every process has steps of its own: {found:?}");
    let batches = fake.events().filter(|event| matches!(event, Event::Batch { .. })).count();
    assert!(batches > 8 * found.len(), "{batches} trials of {} searches", found.len());
    // 3 s a search at most, and what it takes to start a process.
    assert!(fake.now_ns() < 3_010_000_000 * found.len() as u64);
}

#[test]
fn limits_are_compared_in_pairs_that_search_the_same_loads() {
    let bears = |capacity| FakeBehaviour::Bears { capacity, noise: 0.0 };
    let mut fake = Fake::new(vec![bears(50_000.0), bears(40_000.0)]);
    let mut plan = search_plan(2, Goal::Verdict(VerdictGoal::new("limit", 0.01, 40)));
    fake.run(&plan).unwrap();
    assert_eq!(stop_reasons(&fake)[&1], StopReason::Verdict);
    let first = limits(&fake, &plan, 0);
    let second = limits(&fake, &plan, 1);
    assert!(first.iter().zip(&second).all(|(a, b)| (a / b / 1.25 - 1.0).abs() < 0.02));
    // The same again, when both sides bear the same: a pair has one set of loads.
    fake = Fake::new(vec![bears(50_000.0), bears(50_000.0)]);
    plan.seed = 12;
    fake.run(&plan).unwrap();
    assert_eq!(limits(&fake, &plan, 0), limits(&fake, &plan, 1));
}

#[test]
fn a_search_goes_on_after_an_interruption() {
    let mut fake = Fake::new(vec![FakeBehaviour::Bears { capacity: 50_000.0, noise: 0.02 }]);
    fake.interrupt_at_ns = Some(5_000_000_000);
    let plan = search_plan(1, precision(0.02));
    fake.run(&plan).unwrap();
    let before = limits(&fake, &plan, 0).len();
    let record = fake.record(&plan);
    fake.interrupt_at_ns = None;
    fake.resume(&plan, &record).unwrap();
    assert_eq!(stop_reasons(&fake)[&0], StopReason::Precision);
    let after = limits(&fake, &plan, 0).len();
    assert!(before > 0 && after > before, "{before} and {after}");
}

#[test]
fn a_wrong_trial_fails_with_its_reason_and_loses_nothing() {
    let mut fake = Fake::new(vec![
        FakeBehaviour::Overcounts { trial: 3 },
        FakeBehaviour::Bears { capacity: 10.0, noise: 0.0 },
        FakeBehaviour::Bears { capacity: 50_000.0, noise: 0.0 },
    ]);
    let plan = search_plan(3, precision(0.02));
    fake.run(&plan).unwrap();
    let record = fake.record(&plan);
    let why = |point: usize| {
        let failed =
            record.invocations.iter().find(|invocation| invocation.point == point).unwrap();
        let Outcome::Failed(why) = &failed.end.as_ref().unwrap().outcome else { panic!() };
        (why.clone(), failed.samples.len())
    };
    let (reason, trials) = why(0);
    assert!(reason.contains("more good operations") && trials == 2, "{reason}, {trials} trials");
    // If no load bears the goal, the least one is the limit.
    assert!(limits(&fake, &plan, 1).iter().all(|&limit| (limit - 100.0).abs() < 1e-9));
    assert_eq!(stop_reasons(&fake)[&1], StopReason::Precision);
    assert_eq!(stop_reasons(&fake)[&2], StopReason::Precision);
}

/// Healthy machines take a microsecond for an iteration, with such deviations of processes at each point.
fn health(process_sds: &[f64]) -> Goal {
    let healthy = process_sds.iter().map(|process_sd| HealthyPoint {
        centre: 1e-6_f64.ln(),
        run_sd: 0.01,
        run_df: 7.0,
        runs: 8,
        process_sd: *process_sd,
        process_df: 40.0,
    });
    Goal::Health(HealthGoal { margin: 0.05, healthy: healthy.collect() })
}

/// The points of all invocations, in order.
fn invoked(fake: &Fake) -> Vec<usize> {
    rounds(fake).into_iter().flatten().collect()
}

#[test]
fn a_machine_is_healthy_when_every_point_is_and_the_steady_ones_come_first() {
    let mut fake = Fake::new(vec![
        FakeBehaviour::Jumps { noise: 0.05 },
        FakeBehaviour::Steady { noise: 0.01 },
    ]);
    fake.run(&plan(2, health(&[0.05, 0.01]))).unwrap();
    for point in [0, 1] {
        let last = fake.last_decision(point);
        assert_eq!(last.stop, Some(StopReason::Verdict));
        assert_eq!(last.compared.unwrap().verdict, Some(Verdict::Equivalent));
        let look = last.look.unwrap();
        assert!((0.9..1.1).contains(&look.estimate), "{look:?}");
    }
    assert_eq!(invoked(&fake)[..2], [1, 1]);
}

#[test]
fn a_slow_point_is_confirmed_by_processes_that_begin_ten_seconds_later_and_ends_the_run() {
    let mut fake =
        Fake::new(vec![FakeBehaviour::Slower { share: 0.5 }, FakeBehaviour::Jumps { noise: 0.3 }]);
    fake.run(&plan(2, health(&[0.01, 0.3]))).unwrap();
    let slow = fake.last_decision(0);
    assert_eq!(slow.compared.unwrap().verdict, Some(Verdict::Slower));
    assert!(slow.look.unwrap().low.unwrap() > 1.3);
    assert!(fake.now_ns() >= 10 * SECOND_NS, "{}", fake.now_ns());
    // Meanwhile the other point was measured, which is not decided.
    let invoked = invoked(&fake);
    assert_eq!(invoked.iter().filter(|point| **point == 0).count(), 4, "{invoked:?}");
    let other = fake.last_decision(1);
    assert_eq!(other.stop, Some(StopReason::Verdict));
    assert_eq!(other.compared.unwrap().verdict, None);
}

#[test]
fn disturbed_processes_do_not_decide() {
    let mut fake = Fake::new(vec![FakeBehaviour::Steady { noise: 0.01 }]);
    fake.disturbs = |invocation| invocation < 3;
    let mut plan = plan(1, health(&[0.01]));
    plan.on_interference = OnInterference::Retry;
    fake.run(&plan).unwrap();
    assert_eq!(fake.last_decision(0).compared.unwrap().verdict, Some(Verdict::Equivalent));
    assert_eq!(invoked(&fake).len(), 5);
}

#[test]
fn a_point_that_is_not_decided_ends_with_the_budget() {
    let mut fake = Fake::new(vec![FakeBehaviour::Jumps { noise: 0.5 }]);
    let mut plan = plan(1, health(&[0.5]));
    plan.budget_ns = Some(5 * SECOND_NS);
    fake.run(&plan).unwrap();
    let last = fake.last_decision(0);
    assert_eq!(last.stop, Some(StopReason::Budget));
    assert_eq!(last.compared.unwrap().verdict, None);
}
