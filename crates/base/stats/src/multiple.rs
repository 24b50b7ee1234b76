//! Many comparisons at once: docs/method.md, *Many comparisons*.
//!
//! Of 100 benchmarks that did not change, five look changed at 5 %. [`holm`] bounds the chance of any false one,
//! [`benjamini_hochberg`] the share of false ones. A suite is screened cheaply and the flagged ones are measured again:
//! data that chose a benchmark must not also convict it.

use crate::describe::{MAD_TO_SD, all_finite, finite, mad_around, median_of};
use crate::distribution::{t_cdf, two_sided_t, two_sided_z};
use crate::{Interval, NoInterval};

/// Pairs of every benchmark of a suite in the screening.
pub const SCREEN_PAIRS: usize = 8;
/// A benchmark is flagged whose signed-rank p in the screening is no larger.
pub const SCREEN_P: f64 = 0.08;
/// Fresh pairs of every flagged benchmark.
pub const CONFIRM_PAIRS: usize = 18;
/// The chance of any false alarm among the flagged, by [`holm`] on the fresh pairs alone.
pub const CONFIRM_ALPHA: f64 = 0.05;

/// A shift of the median of all benchmarks by over so many standard errors is one of the machine.
const COMMON_ERRORS: f64 = 3.0;
/// With fewer benchmarks there is no telling what they have in common.
pub const FEWEST_IN_COMMON: usize = 12;
/// Standard error of a median over that of a mean, for normal values: sqrt(pi / 2).
pub(crate) const MEDIAN_OVER_MEAN: f64 = 1.253_314_137_315_5;

/// The one-sided p of "the truth is not below `bound`", from an estimate of a positive quantity and the upper end of its two-sided
/// interval at this `level`. On the log scale the interval counts as that of a mean of `processes` values (Student's t), so that the
/// p is (1 - `level`) / 2 if the interval ends at the bound. 0 if the interval has no width, and 1 if the estimate is not below
/// the bound, or not positive.
#[must_use]
pub fn p_of_below(value: f64, high: f64, bound: f64, level: f64, processes: usize) -> f64 {
    let is_below = value > 0.0 && bound > value && high >= value;
    if !is_below {
        return 1.0;
    }
    // Every process gave the same figure, as a count of instructions does.
    if high <= value {
        return 0.0;
    }
    let degrees = processes.saturating_sub(1).max(1) as f64;
    let half_widths = (bound / value).ln() / (high / value).ln();
    t_cdf(-half_widths * two_sided_t(level, degrees), degrees)
}

/// Which hypotheses to reject so that the chance of any false rejection is at most `alpha`, whatever depends on what
/// (Holm 1979). A hypothesis that was not tested has p = 1 and counts.
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<bool> {
    let all = p_values.len();
    let mut rejected = vec![false; all];
    for (rank, index) in ascending(p_values).into_iter().enumerate() {
        // Written so that NaN stops, too.
        let small = p_values[index] <= alpha / (all - rank) as f64;
        if !small {
            break;
        }
        rejected[index] = true;
    }
    rejected
}

/// Which hypotheses to reject so that on average at most the share `q` of the rejected is false, for independent or
/// positively dependent tests (Benjamini & Hochberg 1995). Intervals of the rejected then need the level
/// 1 - `q` * rejected / all (Benjamini & Yekutieli 2005).
pub fn benjamini_hochberg(p_values: &[f64], q: f64) -> Vec<bool> {
    let all = p_values.len();
    let order = ascending(p_values);
    // The largest rank that is small enough rejects all before it too, even those that are not small for their own rank.
    let last =
        (0..all).rev().find(|&rank| p_values[order[rank]] <= q * (rank + 1) as f64 / all as f64);
    let count = last.map_or(0, |last| last + 1);
    let mut rejected = vec![false; all];
    order[..count].iter().for_each(|&index| rejected[index] = true);
    rejected
}

/// The fewest pairs with which [`benjamini_hochberg`] can reject one of `comparisons` at `q`: fewer never have a
/// signed-rank p of `q` / `comparisons`.
pub fn fewest_pairs(comparisons: usize, q: f64) -> usize {
    (1.0 + (comparisons.max(1) as f64 / q).log2()).ceil() as usize
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    order
}

/// The mean of log ratios with its interval at `level`; `exp` of it is the geometric mean of the ratios, of these
/// benchmarks and no others. The intervals given have the same level.
///
/// # Errors
/// [`NoInterval::TooFewSamples`] for none, [`NoInterval::NotFinite`].
pub fn mean_log_ratio(log_ratios: &[Interval], level: f64) -> Result<Interval, NoInterval> {
    if log_ratios.is_empty() {
        return Err(NoInterval::TooFewSamples);
    }
    let numbers: Vec<f64> = log_ratios.iter().flat_map(|r| [r.estimate, r.low, r.high]).collect();
    finite(&numbers)?;
    let count = log_ratios.len() as f64;
    let z = two_sided_z(level);
    let estimate = log_ratios.iter().map(|ratio| ratio.estimate).sum::<f64>() / count;
    let squares = log_ratios.iter().map(|ratio| (0.5 * (ratio.high - ratio.low) / z).powi(2));
    let half = z * squares.sum::<f64>().sqrt() / count;
    Ok(Interval { estimate, low: estimate - half, high: estimate + half })
}

/// The common movement of all benchmarks of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CommonMode {
    /// The median log ratio over benchmarks.
    pub shift: f64,
    /// Its robust standard error.
    pub error: f64,
}

impl CommonMode {
    /// Whether everything moved together: a matter of the machine or of build flags, not of one benchmark.
    pub fn moved(&self) -> bool {
        self.shift.abs() > COMMON_ERRORS * self.error
    }
}

/// The shift that benchmarks share, from the log ratio of each; `None` below twelve, or for a value that is not finite.
pub fn common_mode(log_ratios: &[f64]) -> Option<CommonMode> {
    if log_ratios.len() < FEWEST_IN_COMMON || !all_finite(log_ratios) {
        return None;
    }
    let shift = median_of(log_ratios);
    let sd = MAD_TO_SD * mad_around(log_ratios, shift);
    Some(CommonMode { shift, error: MEDIAN_OVER_MEAN * sd / (log_ratios.len() as f64).sqrt() })
}

/// The shift that benchmarks share if it is beyond chance; `None` if it is not, or is unknown.
pub fn common_shift(log_ratios: &[f64]) -> Option<f64> {
    common_mode(log_ratios).filter(CommonMode::moved).map(|common| common.shift)
}

/// How likely crashes would be shared out so unevenly between two versions by chance: Fisher's exact test, two-sided.
///
/// `a` and `b` are crashes and processes of a version, crashes among them (more are taken for as many). Where versions
/// crash differently no verdict on their times is given (docs/method.md, *Edge cases*).
pub fn crashes_differ(a: (u64, u64), b: (u64, u64)) -> f64 {
    // A process cannot crash twice; damaged counts must not underflow in the subtractions below.
    let observed = a.0.min(a.1);
    let crashes = a.0.min(a.1) + b.0.min(b.1);
    let fewest = crashes.saturating_sub(b.1);
    let most = crashes.min(a.1);
    // The hypergeometric law of the crashes of A: logarithms relative to its first term.
    let mut logs = vec![0.0f64];
    for of_a in fewest..most {
        let one_more = ((a.1 - of_a) * (crashes - of_a)) as f64;
        let one_less = ((of_a + 1) * (b.1 + of_a + 1 - crashes)) as f64;
        logs.push(logs[logs.len() - 1] + (one_more / one_less).ln());
    }
    let largest = logs.iter().copied().fold(0.0, f64::max);
    let law: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
    // Rounding must not leave out outcomes that are exactly as likely as the observed one.
    let no_likelier = law[(observed - fewest) as usize] * (1.0 + 1e-9);
    law.iter().filter(|&&share| share <= no_likelier).sum::<f64>() / law.iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::{
        benjamini_hochberg, common_mode, crashes_differ, fewest_pairs, holm, mean_log_ratio,
        p_of_below,
    };
    use crate::distribution::two_sided_t;
    use crate::rng::Rng;
    use crate::{Interval, NoInterval};

    #[test]
    fn a_p_is_that_of_the_interval() {
        // The interval ends at the bound.
        assert!((p_of_below(0.9, 1.0, 1.0, 0.95, 8) - 0.025).abs() < 1e-9);
        assert!(p_of_below(0.9, 0.95, 1.0, 0.95, 8) < 0.01);
        assert!(p_of_below(0.9, 1.1, 1.0, 0.95, 8) > 0.1);
        // The tails of few processes are longer.
        assert!(p_of_below(0.5, 0.7, 1.0, 0.95, 3) > p_of_below(0.5, 0.7, 1.0, 0.95, 30));
        assert!(p_of_below(0.5, 0.5, 1.0, 0.95, 8) < 1e-12);
        for (value, high, bound) in [(1.0, 1.1, 1.0), (0.0, 1.0, 2.0)] {
            assert!((p_of_below(value, high, bound, 0.95, 8) - 1.0).abs() < 1e-12);
        }
        assert!((p_of_below(0.9, f64::NAN, 1.0, 0.95, 8) - 1.0).abs() < 1e-12);
    }

    /// The p of a result whose share of its expectation is `truth`, of 8 processes that differ by 2 %.
    fn p_of_share(truth: f64, rng: &mut Rng) -> f64 {
        let logs: Vec<f64> = (0..8).map(|_| truth.ln() + 0.02 * rng.normal()).collect();
        let mean = logs.iter().sum::<f64>() / 8.0;
        let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / 7.0;
        let half = two_sided_t(0.95, 7.0) * (variance / 8.0).sqrt();
        p_of_below(mean.exp(), (mean + half).exp(), 1.0, 0.95, 8)
    }

    /// 20 results that are exactly as expected, with 8 processes each: in how many of 1,000 runs is any called below, with
    /// and without Holm? And a result that is 5 % below with noise of 2 % between processes.
    #[test]
    fn a_run_with_many_expectations_has_no_more_false_ones() {
        let mut rng = Rng::new(42);
        let mut alone = 0;
        let mut together = 0;
        let mut found = 0;
        for _ in 0..1_000 {
            let equal: Vec<f64> = (0..20).map(|_| p_of_share(1.0, &mut rng)).collect();
            alone += u32::from(equal.iter().any(|p| *p <= 0.025));
            together += u32::from(holm(&equal, 0.025).contains(&true));
            let mut with_one = equal;
            with_one[7] = p_of_share(0.95, &mut rng);
            found += u32::from(holm(&with_one, 0.025)[7]);
        }
        assert!(alone > 330, "{alone}: without Holm, two runs in five have a false one");
        // 2.5 % of 1,000, and four standard errors.
        assert!(together <= 45, "{together}");
        assert!(found >= 850, "{found}");
    }

    #[test]
    fn holm_by_hand() {
        // .01 <= .05/4, .0165 <= .05/3, .03 > .05/2: the rest stays.
        assert_eq!(holm(&[0.03, 0.01, 0.04, 0.0165], 0.05), [false, true, false, true]);
        assert_eq!(holm(&[0.05], 0.05), [true]);
        assert_eq!(holm(&[0.03, f64::NAN], 0.05), [false, false]);
        assert_eq!(holm(&[], 0.05), [false; 0]);
    }

    #[test]
    fn benjamini_and_hochberg_reproduce_their_example() {
        // The 15 p-values of their paper, section 4.1: four are rejected at .05, by Holm three.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        assert_eq!(benjamini_hochberg(&p, 0.05).iter().filter(|&&is| is).count(), 4);
        assert_eq!(holm(&p, 0.05).iter().filter(|&&is| is).count(), 3);
    }

    #[test]
    fn twelve_pairs_serve_a_hundred_benchmarks() {
        assert_eq!(fewest_pairs(100, 0.05), 12);
    }

    #[test]
    fn the_geometric_mean_is_surer_than_its_parts() {
        let part = |estimate: f64| Interval { estimate, low: estimate - 0.1, high: estimate + 0.1 };
        let found = mean_log_ratio(&[part(0.0), part(0.2), part(0.4), part(0.6)], 0.95).unwrap();
        assert!((found.estimate - 0.3).abs() < 1e-12 && (found.high - 0.35).abs() < 1e-12);
        assert_eq!(mean_log_ratio(&[], 0.95), Err(NoInterval::TooFewSamples));
    }

    #[test]
    fn what_moves_together_is_seen() {
        let around = |shift: f64| -> Vec<f64> {
            (0..20).map(|i| shift + 0.001 * (f64::from(i) - 9.5)).collect()
        };
        assert!(common_mode(&around(0.02)).unwrap().moved());
        assert!(!common_mode(&around(0.001)).unwrap().moved());
        assert!(!common_mode(&[0.0; 12]).unwrap().moved());
        assert_eq!(common_mode(&[0.1; 11]), None);
    }

    #[test]
    fn fisher_drinks_tea() {
        // The lady's eight cups: 3 of 4 right has p = 34/70 from both sides, 4 of 4 2/70.
        assert!((crashes_differ((3, 4), (1, 4)) - 34.0 / 70.0).abs() < 1e-12);
        assert!((crashes_differ((4, 4), (0, 4)) - 2.0 / 70.0).abs() < 1e-12);
        assert_eq!(crashes_differ((0, 20), (0, 20)), 1.0);
        assert!(crashes_differ((0, 20), (6, 20)) < 0.05);
        assert!(crashes_differ((900, 2000), (1100, 2000)) < 1e-8);
        assert_eq!(crashes_differ((9, 4), (4, 4)), 1.0);
        let one = crashes_differ((2, 30), (9, 25));
        let other = crashes_differ((9, 25), (2, 30));
        assert!((one - other).abs() < 1e-12);
    }
}
