//! What must not change in comparisons when the input changes in a way that cannot matter, and must change exactly when
//! it does.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use plumb_stats::Interval;
use plumb_stats::audit::share_interval;
use plumb_stats::describe::median_of;
use plumb_stats::history::{StretchStep, certain, suspects};
use plumb_stats::multiple::{benjamini_hochberg, common_mode, crashes_differ, holm};
use plumb_stats::pairs::{log_ratios, signed_rank_p};
use plumb_stats::regression_gate::{RegressionGate, Shift};
use plumb_stats::sequence::anytime_interval;
use plumb_stats::stored_runs::{DatedRun, NoiseHistory, RunsCompared, StoredSide, compare_runs};
use plumb_stats::verdict::{Judgement, MARGIN, Verdict, judge_pairs};
use proptest::collection::vec;
use proptest::prelude::*;

fn small() -> impl Strategy<Value = Vec<f64>> {
    vec(-0.05..0.05f64, 8..40)
}

/// Processes of two versions: times around 1000 in rounds.
fn rounds() -> impl Strategy<Value = Vec<(f64, f64)>> {
    vec((900.0..1100.0f64, 930.0..1150.0f64), 8..40)
}

fn negated(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| -value).collect()
}

fn moved(values: &[f64], shift: f64) -> Vec<f64> {
    values.iter().map(|value| value + shift).collect()
}

fn reversed(values: &[f64]) -> Vec<f64> {
    values.iter().rev().copied().collect()
}

fn mirrored(interval: Interval) -> Interval {
    Interval { estimate: -interval.estimate, low: -interval.high, high: -interval.low }
}

fn mirrored_verdict(judged: Judgement) -> Judgement {
    let verdict = match judged.verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        same => same,
    };
    Judgement { verdict, ..judged }
}

fn close(one: Interval, other: Interval) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    near(one.estimate, other.estimate) && near(one.low, other.low) && near(one.high, other.high)
}

fn side(rounds: &[(f64, f64)], factor: f64, of: fn(&(f64, f64)) -> f64) -> Vec<(u32, f64)> {
    (0..).zip(rounds).map(|(unit, round)| (unit, factor * of(round))).collect()
}

fn judged_in_units(rounds: &[(f64, f64)], factor: f64) -> Judgement {
    let a = side(rounds, factor, |round| round.0);
    let b = side(rounds, factor, |round| round.1);
    judge_pairs(&log_ratios(&a, &b, 1), 0.95, MARGIN).unwrap()
}

fn judged(logs: &[f64]) -> Judgement {
    judge_pairs(logs, 0.95, MARGIN).unwrap()
}

/// A run a side, an hour apart, of these processes, and earlier runs an hour apart.
fn compared(a: &[f64], b: &[f64], earlier: &[f64]) -> RunsCompared {
    let run = |hour: u32, cost: f64| DatedRun { began_s: Some(f64::from(hour) * 3600.0), cost };
    let earlier: Vec<DatedRun> = (0..).zip(earlier).map(|(hour, cost)| run(hour, *cost)).collect();
    let a = StoredSide { runs: &[run(1000, median_of(a))], processes: a };
    let b = StoredSide { runs: &[run(1001, median_of(b))], processes: b };
    compare_runs(a, b, NoiseHistory::OneMachine(&earlier), 0.95).unwrap()
}

fn shifts(baseline: &[Vec<f64>], fresh: &[f64]) -> Vec<Shift> {
    let views: Vec<&[f64]> = baseline.iter().map(Vec::as_slice).collect();
    let gate = RegressionGate::new(&views).unwrap();
    (0..).zip(fresh).map(|(series, &run)| gate.shift(series, &[run]).unwrap()).collect()
}

fn places(steps: &[StretchStep]) -> Vec<usize> {
    steps.iter().map(|step| step.at).collect()
}

/// Histories with a step in most of them.
fn histories() -> impl Strategy<Value = Vec<f64>> {
    (vec(-0.02..0.02f64, 16..90), 0.0..0.2f64).prop_map(|(mut history, step)| {
        let middle = history.len() / 2;
        history[middle..].iter_mut().for_each(|value| *value += step);
        history
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(2), ..ProptestConfig::default() })]

    #[test]
    fn swapping_versions_mirrors_the_verdict(logs in small()) {
        prop_assert_eq!(mirrored_verdict(judged(&logs)), judged(&negated(&logs)));
        prop_assert_eq!(signed_rank_p(&logs), signed_rank_p(&negated(&logs)));
    }

    #[test]
    fn units_of_time_do_not_matter_to_a_verdict(rounds in rounds()) {
        let verdict = judged_in_units(&rounds, 1.0);
        prop_assert_eq!(verdict, judged_in_units(&rounds, 1024.0));
        prop_assert_eq!(verdict.verdict, judged_in_units(&rounds, 1000.0).verdict);
    }

    #[test]
    fn the_order_of_pairs_does_not_matter_to_a_verdict(logs in small()) {
        prop_assert_eq!(judged(&logs), judged(&reversed(&logs)));
    }

    #[test]
    fn a_program_is_exactly_equivalent_to_itself(rounds in rounds()) {
        let a = side(&rounds, 1.0, |round| round.0);
        let same = judged(&log_ratios(&a, &a, 1));
        prop_assert!(same.exact && same.verdict == Verdict::Equivalent);
        let counter = vec![rounds[0].0.ln(); rounds.len()];
        let same = compared(&counter, &counter, &[]);
        prop_assert!(same.exact && same.judge(MARGIN).is_some_and(|judged| judged.verdict == Verdict::Equivalent));
    }

    #[test]
    fn a_wider_margin_only_adds_equivalence(logs in small()) {
        let narrow = judged(&logs);
        let wide = judge_pairs(&logs, 0.95, 3.0 * MARGIN).unwrap();
        prop_assert!(narrow.verdict == wide.verdict || wide.verdict == Verdict::Equivalent);
    }

    #[test]
    fn one_more_pair_does_not_turn_the_verdict_round(logs in small(), more in -0.05..0.05f64) {
        let mut longer = logs.clone();
        longer.push(more);
        let both = (judged(&logs).verdict, judged(&longer).verdict);
        prop_assert!(!matches!(both, (Verdict::Faster, Verdict::Slower) | (Verdict::Slower, Verdict::Faster)));
    }

    #[test]
    fn swapping_runs_negates_exactly(a in small(), b in small(), earlier in vec(-0.02..0.02f64, 0..12)) {
        let one = compared(&a, &b, &earlier);
        let other = compared(&b, &a, &earlier);
        prop_assert_eq!(one.interval, mirrored(other.interval));
        prop_assert_eq!(one.run_noise, other.run_noise);
        prop_assert_eq!(one.judge(MARGIN).map(mirrored_verdict), other.judge(MARGIN));
    }

    #[test]
    fn units_and_order_do_not_matter_to_runs(a in small(), b in small(), shift in -5.0..5.0f64) {
        let earlier = [0.0, 0.01, -0.01, 0.005, 0.002, -0.02, 0.01];
        let found = compared(&a, &b, &earlier).interval;
        let in_other_units = compared(&moved(&a, shift), &moved(&b, shift), &moved(&earlier, shift));
        prop_assert!(close(found, in_other_units.interval));
        prop_assert_eq!(found, compared(&reversed(&a), &reversed(&b), &earlier).interval);
    }

    #[test]
    fn a_gate_knows_no_units_and_no_direction(
        baseline in vec(vec(-0.02..0.02f64, 6..9), 2..12),
        fresh in vec(-0.1..0.1f64, 12),
        shift in -5.0..5.0f64,
    ) {
        let found = shifts(&baseline, &fresh[..baseline.len()]);
        let in_other_units: Vec<Vec<f64>> = baseline.iter().map(|runs| moved(runs, shift)).collect();
        let turned: Vec<Vec<f64>> = baseline.iter().map(|runs| negated(runs)).collect();
        let in_other_units = shifts(&in_other_units, &moved(&fresh[..baseline.len()], shift));
        let turned = shifts(&turned, &negated(&fresh[..baseline.len()]));
        for ((one, moved), turned) in found.iter().zip(in_other_units).zip(turned) {
            prop_assert!(close(one.interval, moved.interval) && (one.p - moved.p).abs() < 1e-6);
            prop_assert!(close(one.interval, mirrored(turned.interval)));
        }
    }

    #[test]
    fn rejections_follow_the_order_of_p(p in vec(0.0..0.2f64, 1..30), turn in 0usize..30) {
        let turn = turn % p.len();
        let mut turned = p.clone();
        turned.rotate_left(turn);
        for reject in [holm, benjamini_hochberg] {
            let mut rejected = reject(&p, 0.05);
            rejected.rotate_left(turn);
            prop_assert_eq!(&rejected, &reject(&turned, 0.05));
        }
        let strict = holm(&p, 0.05);
        let lenient = benjamini_hochberg(&p, 0.05);
        prop_assert!(strict.iter().zip(lenient).all(|(strict, lenient)| !strict || lenient));
    }

    #[test]
    fn steps_know_no_units_and_no_direction(history in histories(), shift in -5.0..5.0f64) {
        let found = suspects(&history, &[]).unwrap();
        let in_other_units = suspects(&moved(&history, shift), &[]).unwrap();
        let turned = suspects(&negated(&history), &[]).unwrap();
        prop_assert_eq!(places(&found), places(&in_other_units));
        prop_assert_eq!(places(&found), places(&turned));
        for (one, turned) in found.iter().zip(turned) {
            prop_assert!((one.size + turned.size).abs() < 1e-12);
            match (one.interval, turned.interval) {
                (Ok(one), Ok(turned)) => prop_assert!(close(one, mirrored(turned))),
                (one, turned) => prop_assert_eq!(one, turned),
            }
        }
    }

    #[test]
    fn parts_of_a_history_are_searched_by_themselves(history in histories(), other in histories()) {
        let joined = [history.clone(), other.clone()].concat();
        let mut expected = places(&certain(&history, &[], MARGIN).unwrap());
        expected.extend(places(&certain(&other, &[], MARGIN).unwrap()).iter().map(|at| at + history.len()));
        prop_assert_eq!(places(&certain(&joined, &[history.len()], MARGIN).unwrap()), expected);
    }

    #[test]
    fn looking_at_any_time_knows_no_direction(logs in vec(-0.05..0.05f64, 20..60)) {
        let found = anytime_interval(&logs, 0.95).unwrap();
        prop_assert_eq!(found, mirrored(anytime_interval(&negated(&logs), 0.95).unwrap()));
    }

    #[test]
    fn shares_and_crashes_have_two_sides(hits in 0u64..30, more in 0u64..30, other in 0u64..40) {
        let trials = hits + more + 1;
        let found = share_interval(hits, trials, 0.95).unwrap();
        let rest = share_interval(trials - hits, trials, 0.95).unwrap();
        prop_assert!((found.low + rest.high - 1.0).abs() < 1e-9 && found.low <= found.estimate);
        let one = (hits, trials);
        let two = (other.min(20), 20);
        prop_assert!((crashes_differ(one, two) - crashes_differ(two, one)).abs() < 1e-9);
    }

    #[test]
    fn what_is_common_moves_with_everything(logs in vec(-0.05..0.05f64, 12..40), shift in -1.0..1.0f64) {
        let one = common_mode(&logs).unwrap();
        let other = common_mode(&moved(&logs, shift)).unwrap();
        prop_assert!((one.shift + shift - other.shift).abs() < 1e-12 && (one.error - other.error).abs() < 1e-12);
    }
}
