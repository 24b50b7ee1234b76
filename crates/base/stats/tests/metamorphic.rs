//! Invariance: figures must not change if the input changes in an irrelevant way, and must change exactly when it does in a relevant one.

use plumb_stats::changes::{Alpha, CriticalValues, segments};
use plumb_stats::components::components;
use plumb_stats::pairs::{hodges_lehmann, signed_rank_interval};
use plumb_stats::precision::{clustered_quantile, serial_quantile};
use plumb_stats::warmup::steady_state;
use plumb_stats::{Interval, NoInterval};
use proptest::collection::vec;
use proptest::prelude::*;

type Found = Result<Interval, NoInterval>;

/// Times around 1000 with ties, a tail and processes of unequal length.
fn processes() -> impl Strategy<Value = Vec<Vec<f64>>> {
    let time = prop_oneof![
        8 => 900.0..1100.0f64,
        2 => (36u32..44).prop_map(|ticks| f64::from(ticks) * 25.0),
        1 => 1000.0..9000.0f64,
    ];
    vec(vec(time, 1..12), 8..30)
}

fn log_ratios() -> impl Strategy<Value = Vec<f64>> {
    vec(-0.1..0.1f64, 8..40)
}

fn quantile_of(processes: &[Vec<f64>], q: f64) -> Found {
    let views: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
    clustered_quantile(&views, q, 0.97)
}

fn scaled(processes: &[Vec<f64>], factor: f64) -> Vec<Vec<f64>> {
    processes.iter().map(|samples| samples.iter().map(|time| time * factor).collect()).collect()
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * one.abs().max(other.abs())
}

fn alike(one: &Found, other: &Found) -> bool {
    match (one, other) {
        (Ok(one), Ok(other)) => {
            close(one.estimate, other.estimate)
                && close(one.low, other.low)
                && close(one.high, other.high)
        }
        (Err(one), Err(other)) => std::mem::discriminant(one) == std::mem::discriminant(other),
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn units_of_time_do_not_matter(processes in processes(), q in 0.3..0.7f64) {
        let in_other_units = scaled(&processes, 1024.0);
        let expected = quantile_of(&processes, q).map(|found| found.map(|time| time * 1024.0));
        prop_assert!(alike(&expected, &quantile_of(&in_other_units, q)));
    }

    #[test]
    fn relative_half_width_has_no_unit(processes in processes()) {
        if let (Ok(one), Ok(other)) = (quantile_of(&processes, 0.5), quantile_of(&scaled(&processes, 1000.0), 0.5)) {
            prop_assert!(close(one.relative_half_width(), other.relative_half_width()));
        }
    }

    #[test]
    fn the_order_of_processes_does_not_matter(processes in processes(), turn in 0usize..30) {
        let mut turned = processes.clone();
        turned.rotate_left(turn % processes.len());
        turned.reverse();
        // From sixteen on, the order says how alike neighbours are.
        if processes.len() < 16 {
            prop_assert!(alike(&quantile_of(&processes, 0.5), &quantile_of(&turned, 0.5)));
        }
        let estimate = |processes: &[Vec<f64>]| quantile_of(processes, 0.5).map(|found| found.estimate);
        if let (Ok(one), Ok(other)) = (estimate(&processes), estimate(&turned)) {
            prop_assert!(close(one, other));
        }
    }

    #[test]
    fn the_order_inside_a_process_does_not_matter_for_quantiles(processes in processes()) {
        let reversed: Vec<Vec<f64>> = processes.iter().map(|samples| samples.iter().rev().copied().collect()).collect();
        prop_assert!(alike(&quantile_of(&processes, 0.5), &quantile_of(&reversed, 0.5)));
    }

    #[test]
    fn mirrored_times_mirror_the_median(processes in processes()) {
        let mirrored = scaled(&processes, -1.0);
        let expected = quantile_of(&mirrored, 0.5).map(|found| Interval {
            estimate: -found.estimate,
            low: -found.high,
            high: -found.low,
        });
        prop_assert!(alike(&quantile_of(&processes, 0.5), &expected));
    }

    #[test]
    fn bounds_hold_the_estimate_and_are_samples(processes in processes(), q in 0.3..0.7f64) {
        if let Ok(found) = quantile_of(&processes, q) {
            prop_assert!(found.low <= found.estimate && found.estimate <= found.high);
            let pool = processes.concat();
            prop_assert!(pool.contains(&found.low) && pool.contains(&found.high));
        }
    }

    #[test]
    fn a_higher_level_is_never_narrower(processes in processes()) {
        let views: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
        if let (Ok(wide), Ok(narrow)) = (clustered_quantile(&views, 0.5, 0.97), clustered_quantile(&views, 0.5, 0.9)) {
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        }
    }

    #[test]
    fn quantiles_rise_with_q(processes in processes()) {
        if let (Ok(lower), Ok(upper)) = (quantile_of(&processes, 0.4), quantile_of(&processes, 0.6)) {
            prop_assert!(lower.estimate <= upper.estimate);
        }
    }

    #[test]
    fn a_series_scales_too(samples in vec(900.0..1100.0f64, 100..300)) {
        let in_other_units: Vec<f64> = samples.iter().map(|time| time * 1000.0).collect();
        let found = serial_quantile(&samples, 0.5, 0.97).map(|found| found.interval.relative_half_width());
        let again = serial_quantile(&in_other_units, 0.5, 0.97).map(|found| found.interval.relative_half_width());
        match (found, again) {
            (Ok(found), Ok(again)) => prop_assert!(close(found, again)),
            (found, again) => prop_assert_eq!(found, again),
        }
    }

    #[test]
    fn swapping_a_and_b_negates_exactly(log_ratios in log_ratios()) {
        let swapped: Vec<f64> = log_ratios.iter().map(|ratio| -ratio).collect();
        let one = signed_rank_interval(&log_ratios, 0.95);
        let other = signed_rank_interval(&swapped, 0.95);
        let mirrored = other.map(|other| (-other.estimate, -other.high, -other.low));
        prop_assert_eq!(one.map(|one| (one.estimate, one.low, one.high)), mirrored);
    }

    #[test]
    fn a_common_factor_moves_the_ratio_by_itself(log_ratios in log_ratios(), shift in -1.0..1.0f64) {
        let moved: Vec<f64> = log_ratios.iter().map(|ratio| ratio + shift).collect();
        let expected = signed_rank_interval(&log_ratios, 0.95).map(|found| found.map(|ratio| ratio + shift));
        let found = signed_rank_interval(&moved, 0.95);
        match (expected, found) {
            (Ok(expected), Ok(found)) => prop_assert!((expected.low - found.low).abs() < 1e-12),
            (expected, found) => prop_assert_eq!(expected.is_ok(), found.is_ok()),
        }
    }

    #[test]
    fn the_order_of_pairs_does_not_matter(log_ratios in log_ratios()) {
        let reversed: Vec<f64> = log_ratios.iter().rev().copied().collect();
        prop_assert_eq!(signed_rank_interval(&log_ratios, 0.95), signed_rank_interval(&reversed, 0.95));
        prop_assert_eq!(hodges_lehmann(&log_ratios), hodges_lehmann(&reversed));
    }

    #[test]
    fn steady_state_knows_no_unit(log_times in vec(-0.05..0.05f64, 1..120), shift in -10.0..10.0f64) {
        let moved: Vec<f64> = log_times.iter().map(|time| time + shift).collect();
        prop_assert_eq!(steady_state(&log_times), steady_state(&moved));
    }

    #[test]
    fn segments_cover_the_series_without_gaps(series in vec(-1.0..1.0f64, 0..200)) {
        let parts = segments(&series, CriticalValues::WarmUp, Alpha::Twentieth).unwrap();
        prop_assert_eq!(parts.first().map(|part| part.start), Some(0));
        prop_assert_eq!(parts.last().map(|part| part.end), Some(series.len()));
        prop_assert!(parts.windows(2).all(|pair| pair[0].end == pair[1].start));
    }

    #[test]
    fn components_scale_with_the_square(processes in vec(vec(0.0..1.0f64, 5..10), 3..8)) {
        let views: Vec<&[f64]> = processes.iter().map(Vec::as_slice).collect();
        let doubled = scaled(&processes, 2.0);
        let doubled_views: Vec<&[f64]> = doubled.iter().map(Vec::as_slice).collect();
        let one = components(&views).unwrap();
        let other = components(&doubled_views).unwrap();
        prop_assert!(close(one.within * 4.0, other.within) && close(one.of_means * 4.0, other.of_means));
    }

    #[test]
    fn nan_is_refused_everywhere(log_ratios in log_ratios(), at in 0usize..8) {
        let mut spoiled = log_ratios;
        spoiled[at] = f64::NAN;
        let singles: Vec<&[f64]> = spoiled.chunks(1).collect();
        prop_assert_eq!(signed_rank_interval(&spoiled, 0.95), Err(NoInterval::NotFinite));
        prop_assert_eq!(clustered_quantile(&singles, 0.5, 0.95), Err(NoInterval::NotFinite));
        prop_assert_eq!(steady_state(&spoiled), Err(NoInterval::NotFinite));
        prop_assert_eq!(components(&singles), Err(NoInterval::NotFinite));
        prop_assert!(serial_quantile(&spoiled, 0.5, 0.95) == Err(NoInterval::NotFinite));
    }
}
