//! Paired comparison: the Hodges-Lehmann estimate and the exact signed-rank interval, docs/method.md, *Pairs*.
//!
//! A pair is one process of A and one of B, run back to back in an order that a fair coin chose; its value is
//! ln(statistic of B / statistic of A). The coin makes that value symmetric about 0 when A and B are the same, and on
//! symmetric values the signed-rank law (Wilcoxon 1945) is exact for any shape of noise. The interval inverts it on
//! Walsh averages (Hodges & Lehmann 1963).

use crate::describe::{all_finite, finite};
use crate::distribution::{normal_cdf, two_sided_z};
use crate::walsh::Walsh;
use crate::{Interval, NoInterval};

/// With fewer pairs there is an estimate, but no interval.
pub const FEWEST_PAIRS: usize = 8;
/// Up to this many pairs the law is exact, above it normal with continuity correction.
const EXACT_UP_TO: usize = 200;

/// The log ratios of cost of the units in which both sides are complete, in order: ln(later / first), or the mean of two
/// such if a unit holds each side twice (ABBA, `a_unit` = 2).
///
/// Each side lists (unit, cost), units rising; incomplete units are dropped (docs/method.md, *Edge cases*). A cost that is not
/// positive gives a value that is not finite, which every interval refuses.
pub fn log_ratios(first: &[(u32, f64)], later: &[(u32, f64)], a_unit: usize) -> Vec<f64> {
    log_ratios_in_units(first, later, a_unit).into_iter().map(|(_, value)| value).collect()
}

/// The same with the unit of each.
pub fn log_ratios_in_units(
    first: &[(u32, f64)],
    later: &[(u32, f64)],
    a_unit: usize,
) -> Vec<(u32, f64)> {
    in_units(first, later, a_unit, |first, later| (later / first).ln())
}

/// The differences of the same units, later - first, or the mean of two such. What disturbs both sides of a unit alike
/// by so many seconds or bytes cancels out; the interval of [`signed_rank_interval`] is then of the centre of the
/// differences, which it covers if they are symmetric about it.
pub fn differences(first: &[(u32, f64)], later: &[(u32, f64)], a_unit: usize) -> Vec<f64> {
    let differences = in_units(first, later, a_unit, |first, later| later - first);
    differences.into_iter().map(|(_, value)| value).collect()
}

/// Each unit in which both sides are complete, in order, with its mean value.
fn in_units(
    first: &[(u32, f64)],
    later: &[(u32, f64)],
    a_unit: usize,
    value: fn(f64, f64) -> f64,
) -> Vec<(u32, f64)> {
    let mut units: Vec<u32> = first.iter().map(|&(unit, _)| unit).collect();
    units.dedup();
    let mut found = Vec::with_capacity(units.len());
    for unit in units {
        let one = costs_in(first, unit);
        let other = costs_in(later, unit);
        // Half of an ABBA unit would bring back the drift that the whole unit cancels.
        if one.len() != a_unit || other.len() != a_unit {
            continue;
        }
        let values = one.iter().zip(&other).map(|(first, later)| value(*first, *later));
        found.push((unit, values.sum::<f64>() / a_unit as f64));
    }
    found
}

/// The costs of a side in one unit; units rise along the side.
fn costs_in(side: &[(u32, f64)], unit: u32) -> Vec<f64> {
    let start = side.partition_point(|&(other, _)| other < unit);
    side[start..].iter().take_while(|&&(other, _)| other == unit).map(|&(_, cost)| cost).collect()
}

/// The Hodges-Lehmann estimate of the centre: the median of all averages of two values (a value with itself too).
///
/// `None` for no values, or one that is not finite.
pub fn hodges_lehmann(values: &[f64]) -> Option<f64> {
    let describable = !values.is_empty() && all_finite(values);
    describable.then(|| Walsh::of(values).median())
}

/// The rank from below of the Walsh average that bounds an interval of level 1 - `alpha` on `pairs` pairs: the
/// largest k with P(W <= k - 1) <= alpha/2 under the signed-rank law. 0 if there is none.
pub fn walsh_rank(pairs: usize, alpha: f64) -> usize {
    let tail = 0.5 * alpha;
    if pairs > EXACT_UP_TO {
        return normal_rank(pairs as f64, alpha);
    }
    let mut cumulated = 0.0;
    signed_rank_law(pairs)
        .iter()
        .take_while(|&&probability| {
            cumulated += probability;
            cumulated <= tail
        })
        .count()
}

/// P(W <= `sum`) under the signed-rank law of `pairs` pairs without ties.
pub fn signed_rank_cdf(sum: usize, pairs: usize) -> f64 {
    if pairs > EXACT_UP_TO {
        let (mean, sd) = moments(pairs as f64);
        return normal_cdf((sum as f64 + 0.5 - mean) / sd);
    }
    signed_rank_law(pairs).iter().take(sum + 1).sum::<f64>().min(1.0)
}

/// The Hodges-Lehmann estimate of the log ratio with its exact interval at `level`; `exp` of it is the ratio, above 1
/// where B is slower.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below [`FEWEST_PAIRS`]; [`NoInterval::OutOfRange`] if `level` needs more pairs;
/// [`NoInterval::AllEqual`] if all values are the same, which is an exact comparison; [`NoInterval::NotFinite`].
pub fn signed_rank_interval(log_ratios: &[f64], level: f64) -> Result<Interval, NoInterval> {
    finite(log_ratios)?;
    let pairs = log_ratios.len();
    if pairs < FEWEST_PAIRS {
        return Err(NoInterval::TooFewProcesses { have: pairs, need: FEWEST_PAIRS });
    }
    if log_ratios.iter().all(|&value| value == log_ratios[0]) {
        return Err(NoInterval::AllEqual);
    }
    // Signs are equally likely under equal programs, so the law of ranks is exact whatever the noise looks like.
    let rank = walsh_rank(pairs, 1.0 - level);
    if rank == 0 {
        return Err(NoInterval::OutOfRange);
    }
    let mut averages = Walsh::of(log_ratios);
    let mirrored = averages.len() + 1 - rank;
    let estimate = averages.median();
    let low = averages.at(rank);
    let high = averages.at(mirrored);
    Ok(Interval { estimate, low, high })
}

/// How likely equal programs would give log ratios so far from 0, two-sided: at most 1 - level exactly if the
/// interval at that level excludes 0. Ties count against a difference.
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below [`FEWEST_PAIRS`], [`NoInterval::NotFinite`].
pub fn signed_rank_p(log_ratios: &[f64]) -> Result<f64, NoInterval> {
    finite(log_ratios)?;
    let pairs = log_ratios.len();
    if pairs < FEWEST_PAIRS {
        return Err(NoInterval::TooFewProcesses { have: pairs, need: FEWEST_PAIRS });
    }
    let averages = Walsh::of(log_ratios);
    let (below, no_more) = averages.below(0.0);
    // Averages of 0 count on both sides, so that ties only make p larger.
    let above = averages.len() - below;
    Ok((2.0 * signed_rank_cdf(no_more.min(above), pairs)).min(1.0))
}

/// P(W = w) for w = 0, 1, ...: the share of the subsets of {1, ..., pairs} that sum to w.
fn signed_rank_law(pairs: usize) -> Vec<f64> {
    let mut law = vec![0.0; pairs * (pairs + 1) / 2 + 1];
    law[0] = 1.0;
    let mut largest = 0;
    for rank in 1..=pairs {
        largest += rank;
        // From the top down, so that a subset holds each rank only once.
        for sum in (0..=largest).rev() {
            let with_rank = if sum >= rank { law[sum - rank] } else { 0.0 };
            law[sum] = 0.5 * (law[sum] + with_rank);
        }
    }
    law
}

/// Mean and standard deviation of the signed-rank sum.
fn moments(pairs: f64) -> (f64, f64) {
    let mean = pairs * (pairs + 1.0) / 4.0;
    (mean, (mean * (2.0 * pairs + 1.0) / 6.0).sqrt())
}

/// The rank by the normal law: P(W <= k - 1) is the law at k - 1/2.
fn normal_rank(pairs: f64, alpha: f64) -> usize {
    let (mean, sd) = moments(pairs);
    (mean + 0.5 - two_sided_z(1.0 - alpha) * sd).floor().max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::{
        differences, hodges_lehmann, log_ratios, signed_rank_cdf, signed_rank_interval,
        signed_rank_p, walsh_rank,
    };
    use crate::NoInterval;
    use crate::rng::Rng;

    fn drawn(pairs: usize, rng: &mut Rng) -> Vec<f64> {
        (0..pairs).map(|_| 0.01 + 0.02 * rng.normal()).collect()
    }

    #[test]
    fn the_law_is_that_of_all_subsets() {
        for pairs in 1..=12usize {
            let mut counts = vec![0u32; pairs * (pairs + 1) / 2 + 1];
            for subset in 0..1usize << pairs {
                let sum: usize =
                    (0..pairs).filter(|rank| subset >> rank & 1 == 1).map(|rank| rank + 1).sum();
                counts[sum] += 1;
            }
            let mut below = 0;
            for (sum, count) in counts.iter().enumerate() {
                below += count;
                let exact = f64::from(below) / f64::from(1u32 << pairs);
                assert!(
                    (signed_rank_cdf(sum, pairs) - exact).abs() < 1e-15,
                    "{pairs} pairs, sum {sum}"
                );
            }
        }
    }

    #[test]
    fn ranks_at_the_looks_of_the_verdict() {
        // The published schedules: looks, level of a look, ranks (docs/method.md, *Pairs*).
        let schedules: [(&[usize], f64, &[usize]); 3] = [
            (&[8, 12, 18, 27, 40], 0.015, &[1, 9, 31, 89, 231]),
            (&[8, 12, 18, 27, 40, 60, 90], 0.012, &[1, 8, 29, 86, 225, 577, 1427]),
            (
                &[8, 12, 18, 27, 40, 60, 90, 135, 200],
                0.008_75,
                &[1, 7, 27, 82, 218, 562, 1400, 3401, 7908],
            ),
        ];
        for (looks, alpha, ranks) in schedules {
            let found: Vec<usize> = looks.iter().map(|&pairs| walsh_rank(pairs, alpha)).collect();
            assert_eq!(found, ranks);
        }
    }

    #[test]
    fn the_normal_law_takes_over_without_a_step() {
        for alpha in [0.05, 0.01, 0.001] {
            let exact = walsh_rank(200, alpha) as f64;
            let approximate = super::normal_rank(200.0, alpha) as f64;
            assert!((approximate / exact - 1.0).abs() < 0.004, "{alpha}: {approximate} {exact}");
        }
        assert!((signed_rank_cdf(10_150, 201) - 0.5).abs() < 0.01);
        // At the levels of long comparisons: never less certain than the exact law, and hardly more.
        for pairs in [150, 175, 200] {
            for alpha in [0.004, 0.003, 0.002, 0.000_5] {
                let normal = super::normal_rank(pairs as f64, alpha);
                let misled = 2.0 * signed_rank_cdf(normal - 1, pairs);
                assert!((0.8 * alpha..=alpha).contains(&misled), "{pairs}, {alpha}: {misled}");
            }
        }
    }

    #[test]
    fn estimate_agrees_with_pragmastat() {
        let mut rng = Rng::new(21);
        for pairs in 2..=60 {
            let values = drawn(pairs, &mut rng);
            let reference = pragmastat::estimators::raw::center(&values, false).unwrap();
            assert!((hodges_lehmann(&values).unwrap() - reference).abs() < 1e-15);
        }
    }

    /// pragmastat 14.0.1 takes the next rank inwards, whose error exceeds the level it was asked for (8 pairs at .95:
    /// 2 P(W <= 4) = .055); the rank itself is confirmed by enumeration above.
    #[test]
    fn interval_is_one_rank_wider_than_that_of_pragmastat() {
        let mut rng = Rng::new(22);
        for pairs in 8..=60 {
            let values = drawn(pairs, &mut rng);
            let rank = walsh_rank(pairs, 0.05);
            assert!(
                2.0 * signed_rank_cdf(rank - 1, pairs) <= 0.05
                    && 2.0 * signed_rank_cdf(rank, pairs) > 0.05
            );
            let all = |i: usize| values[i..].iter().map(move |other| (i, other));
            let mut averages: Vec<f64> =
                (0..pairs).flat_map(all).map(|(i, other)| 0.5 * (values[i] + other)).collect();
            averages.sort_unstable_by(f64::total_cmp);
            let ours = signed_rank_interval(&values, 0.95).unwrap();
            let n = averages.len();
            assert_eq!((ours.low, ours.high), (averages[rank - 1], averages[n - rank]));
            let reference =
                pragmastat::estimators::raw::center_bounds(&values, 0.05, false).unwrap();
            assert!((averages[rank] - reference.lower).abs() < 1e-10, "{pairs} pairs");
            assert!((averages[n - rank - 1] - reference.upper).abs() < 1e-10, "{pairs} pairs");
        }
    }

    #[test]
    fn too_few_all_equal_or_not_a_number_is_refused() {
        let need = NoInterval::TooFewProcesses { have: 7, need: 8 };
        assert_eq!(signed_rank_interval(&[0.1; 7], 0.95), Err(need));
        assert_eq!(signed_rank_interval(&[0.0; 10], 0.95), Err(NoInterval::AllEqual));
        assert_eq!(signed_rank_interval(&[f64::NAN; 10], 0.95), Err(NoInterval::NotFinite));
        let values = drawn(8, &mut Rng::new(1));
        assert_eq!(signed_rank_interval(&values, 0.999), Err(NoInterval::OutOfRange));
        assert_eq!(hodges_lehmann(&[]), None);
        assert_eq!(walsh_rank(0, 0.05), 0);
    }

    #[test]
    fn units_without_both_sides_are_dropped() {
        let first = [(0, 1.0), (1, 2.0), (3, 1.0)];
        let later = [(0, 1.0), (2, 9.0), (3, 4.0)];
        assert_eq!(log_ratios(&first, &later, 1), [0.0, 4.0f64.ln()]);
        let first = [(0, 1.0), (0, 2.0), (1, 1.0)];
        let later = [(0, 2.0), (0, 8.0), (1, 1.0)];
        assert_eq!(log_ratios(&first, &later, 2), [8.0f64.ln() / 2.0]);
        assert!(log_ratios(&[(0, 0.0)], &[(0, 1.0)], 1)[0].is_infinite());
        assert!(log_ratios(&[], &[], 1).is_empty());
    }

    #[test]
    fn p_and_interval_agree() {
        let mut rng = Rng::new(23);
        for pairs in (8..=60).chain([150, 201, 300, 1000]) {
            let values: Vec<f64> = drawn(pairs, &mut rng)
                .iter()
                .map(|value| value - 0.01 + 0.05 / pairs as f64)
                .collect();
            let p = signed_rank_p(&values).unwrap();
            for level in [0.9, 0.95, 0.98] {
                let excludes = !signed_rank_interval(&values, level).unwrap().contains(0.0);
                assert_eq!(excludes, p <= 1.0 - level, "{pairs} pairs, {level}: {p}");
            }
        }
        assert_eq!(signed_rank_p(&[0.1; 8]), Ok(2.0 / 256.0));
        assert_eq!(signed_rank_p(&[0.0; 8]), Ok(1.0));
    }

    #[test]
    fn differences_are_of_complete_units_and_move_with_the_unit_of_measurement() {
        let first = [(0, 10.0), (1, 20.0), (2, 30.0), (2, 50.0), (4, 1.0)];
        let later = [(0, 13.0), (1, 21.0), (2, 36.0), (2, 52.0), (3, 1.0)];
        assert_eq!(differences(&first, &later, 1), [3.0, 1.0]);
        assert_eq!(differences(&first, &later, 2), [4.0]);
        let mut rng = Rng::new(7);
        let side =
            |rng: &mut Rng| (0..20).map(|unit| (unit, 5.0 + rng.normal())).collect::<Vec<_>>();
        let first = side(&mut rng);
        let later = side(&mut rng);
        let thousands = |side: &[(u32, f64)]| -> Vec<(u32, f64)> {
            side.iter().map(|&(unit, value)| (unit, 1000.0 * value)).collect()
        };
        let one = signed_rank_interval(&differences(&first, &later, 1), 0.95).unwrap();
        let swapped = signed_rank_interval(&differences(&later, &first, 1), 0.95).unwrap();
        let scaled = differences(&thousands(&first), &thousands(&later), 1);
        let scaled = signed_rank_interval(&scaled, 0.95).unwrap();
        assert!((one.low + swapped.high).abs() < 1e-12 && (one.high + swapped.low).abs() < 1e-12);
        assert!((scaled.low / 1000.0 - one.low).abs() < 1e-12);
        assert!((scaled.estimate / 1000.0 - one.estimate).abs() < 1e-12);
    }

    #[test]
    fn hodges_lehmann_by_hand() {
        // Averages 1, 1.5, 2, 2.5, 3, 5.5, 6, 6.5, 10, sorted with 2 twice.
        assert_eq!(hodges_lehmann(&[1.0, 2.0, 3.0, 10.0]), Some(2.75));
    }
}
