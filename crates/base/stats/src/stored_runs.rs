//! Two stored runs compared: docs/method.md, *Stored runs*.
//!
//! Within the two runs, the shift is the median of all differences between a process of B and one of A (Hodges &
//! Lehmann 1963), and its interval inverts the exact rank-sum law (Mann & Whitney 1947). That knows nothing of what
//! differs between runs, such as the placement of memory after a boot, which alone makes most comparisons of equal
//! programs come out different. So the interval is widened to what earlier runs of one identical program on the same
//! machine differ by; without enough of them there is no verdict, but the run-to-run noise that would explain it away.

use crate::describe::{finite, variance_of};
use crate::distribution::{normal_cdf, two_sided_t, two_sided_z};
use crate::verdict::{Judgement, judge};
use crate::{Interval, NoInterval};

/// With fewer earlier runs a comparison is uncalibrated.
pub const FEWEST_RUNS: usize = 6;
/// The exact law is summed where it takes no more steps than this, otherwise it is normal with continuity correction.
const MOST_STEPS: f64 = 1e6;

/// The knowledge of the noise between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunNoise {
    /// Estimated from earlier runs; the interval allows for it.
    Calibrated {
        /// The earlier runs.
        runs: usize,
        /// Their standard deviation in log units, about relative.
        sd: f64,
    },
    /// Too few earlier runs: the interval speaks of these two runs, not of the programs.
    Uncalibrated {
        /// The standard deviation between runs, in log units, above which the difference could be chance; 0 if the
        /// noise inside the runs already could explain it.
        break_even: f64,
    },
}

/// Two runs compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunsCompared {
    /// The log ratio of costs, above 0 where B costs more.
    pub interval: Interval,
    /// Every process of a run has the same value, and so have all earlier runs if there are some.
    pub exact: bool,
    /// The noise that the interval allows for.
    pub run_noise: RunNoise,
}

impl RunsCompared {
    /// The verdict, with `margin` the smallest relative change that matters; `None` if uncalibrated and not exact.
    pub fn judge(&self, margin: f64) -> Option<Judgement> {
        let calibrated = matches!(self.run_noise, RunNoise::Calibrated { .. });
        // Stored runs have no pairs, so advice on how many more would settle it would mean nothing.
        let judged = Judgement { exact: self.exact, ..judge(&self.interval, 0, margin) };
        (calibrated || self.exact).then_some(Judgement { pairs_needed: None, ..judged })
    }
}

/// Compares two runs by the natural logs of their processes' costs.
///
/// `earlier` are the log medians of earlier runs of one identical program on this machine, such as a reference that
/// rides along in every run; with [`FEWEST_RUNS`] or more of them the half-width is no less than
/// t sqrt(2 var(earlier)).
///
/// # Errors
/// [`NoInterval::OutOfRange`] if a run has too few processes for `level`: at .95 it takes 4 and 4, or 3 and 5;
/// [`NoInterval::NotFinite`].
pub fn compare_runs(
    a: &[f64],
    b: &[f64],
    earlier: &[f64],
    level: f64,
) -> Result<RunsCompared, NoInterval> {
    finite(earlier)?;
    let (inside, constant) = match rank_sum_interval(a, b, level) {
        Ok(found) => (found, false),
        Err(NoInterval::AllEqual) => (Interval::exactly(b[0] - a[0]), true),
        Err(reason) => return Err(reason),
    };
    if earlier.len() < FEWEST_RUNS {
        let break_even = break_even(&inside, level);
        let run_noise = RunNoise::Uncalibrated { break_even };
        return Ok(RunsCompared { interval: inside, exact: constant, run_noise });
    }
    let runs = earlier.len();
    let sd = variance_of(earlier).sqrt();
    // √2, because both of the compared runs carry the noise between runs.
    let half = two_sided_t(level, (runs - 1) as f64) * std::f64::consts::SQRT_2 * sd;
    let interval = Interval {
        low: inside.low.min(inside.estimate - half),
        high: inside.high.max(inside.estimate + half),
        ..inside
    };
    let run_noise = RunNoise::Calibrated { runs, sd };
    // A value that never varies inside a run can still vary between runs, so one run alone does not make it exact.
    Ok(RunsCompared { interval, exact: constant && sd == 0.0, run_noise })
}

/// The sd between runs whose difference of two would reach the estimate at this level.
fn break_even(inside: &Interval, level: f64) -> f64 {
    if inside.contains(0.0) {
        return 0.0;
    }
    // The normal law, not t: this asks how large the true noise would have to be, not one estimated from few runs.
    inside.estimate.abs() / (two_sided_z(level) * std::f64::consts::SQRT_2)
}

/// The median of all b_j - a_i with its exact interval at `level`, in the unit of the values.
///
/// # Errors
/// [`NoInterval::OutOfRange`] if `level` needs more values; [`NoInterval::AllEqual`] if neither side varies;
/// [`NoInterval::NotFinite`].
pub fn rank_sum_interval(a: &[f64], b: &[f64], level: f64) -> Result<Interval, NoInterval> {
    finite(a)?;
    finite(b)?;
    let rank = rank_sum_rank(a.len(), b.len(), 1.0 - level);
    if rank == 0 {
        return Err(NoInterval::OutOfRange);
    }
    if is_constant(a) && is_constant(b) {
        return Err(NoInterval::AllEqual);
    }
    let differences = Differences::of(a, b);
    let count = a.len() * b.len();
    let below = differences.smallest(count.div_ceil(2));
    let above = if count.is_multiple_of(2) { differences.smallest(count / 2 + 1) } else { below };
    Ok(Interval {
        estimate: below + 0.5 * (above - below),
        low: differences.smallest(rank),
        high: differences.smallest(count + 1 - rank),
    })
}

fn is_constant(values: &[f64]) -> bool {
    values.iter().all(|&value| value == values[0])
}

/// All b_j - a_i in their order, without making them: of two histories of 500 runs they are a quarter of a million.
struct Differences {
    a: Vec<f64>,
    b: Vec<f64>,
}

impl Differences {
    fn of(a: &[f64], b: &[f64]) -> Self {
        let mut differences = Self { a: a.to_vec(), b: b.to_vec() };
        differences.a.sort_unstable_by(f64::total_cmp);
        differences.b.sort_unstable_by(f64::total_cmp);
        differences
    }

    /// The `rank`-th smallest, counted from 1: halves the range, whose ends are always differences that occur.
    fn smallest(&self, rank: usize) -> f64 {
        let mut low = self.b[0] - self.a[self.a.len() - 1];
        let mut high = self.b[self.b.len() - 1] - self.a[0];
        while low < high {
            // Between neighbouring numbers, the midpoint may round up to `high`, and the range would not shrink.
            let middle = f64::midpoint(low, high);
            let (count, below, above) = self.split(if middle < high { middle } else { low });
            if count >= rank { high = below } else { low = above }
        }
        low
    }

    /// How many are no larger than `at`, the largest of them, and the smallest of the others.
    fn split(&self, at: f64) -> (usize, f64, f64) {
        let mut count = 0;
        let mut below = f64::NEG_INFINITY;
        let mut above = f64::INFINITY;
        let mut taken = 0;
        for a in &self.a {
            while taken < self.b.len() && self.b[taken] - a <= at {
                taken += 1;
            }
            count += taken;
            if taken > 0 {
                below = below.max(self.b[taken - 1] - a);
            }
            if let Some(b) = self.b.get(taken) {
                above = above.min(b - a);
            }
        }
        (count, below, above)
    }
}

/// The rank from below of the difference that bounds an interval of level 1 - `alpha` on so many values a side: the
/// largest k with P(U <= k - 1) <= alpha/2 under the rank-sum law. 0 if there is none.
pub fn rank_sum_rank(a: usize, b: usize, alpha: f64) -> usize {
    let tail = 0.5 * alpha;
    if let Some((mean, sd)) = normal_law(a, b) {
        return (mean + 0.5 - two_sided_z(1.0 - alpha) * sd).floor().max(0.0) as usize;
    }
    let mut cumulated = 0.0;
    rank_sum_law(a, b)
        .iter()
        .take_while(|&&probability| {
            cumulated += probability;
            cumulated <= tail
        })
        .count()
}

/// P(U <= `sum`) under the rank-sum law of so many values a side without ties, up to the middle of the law.
pub fn rank_sum_cdf(sum: usize, a: usize, b: usize) -> f64 {
    if let Some((mean, sd)) = normal_law(a, b) {
        return normal_cdf((sum as f64 + 0.5 - mean) / sd);
    }
    rank_sum_law(a, b).iter().take(sum + 1).sum()
}

/// Mean and standard deviation of U where its exact law would take too many steps.
fn normal_law(a: usize, b: usize) -> Option<(f64, f64)> {
    let fewer = a.min(b) as f64;
    let more = a.max(b) as f64;
    let sd = (fewer * more * (fewer + more + 1.0) / 12.0).sqrt();
    (fewer * fewer * more > MOST_STEPS).then_some((0.5 * fewer * more, sd))
}

/// P(U = u) for u from 0 to the middle: the coefficients of the Gaussian binomial, as the product over i of
/// (1 - x^(more + i)) / (1 - x^i), each factor of which is scaled to stay a probability.
fn rank_sum_law(a: usize, b: usize) -> Vec<f64> {
    let fewer = a.min(b);
    let more = a.max(b);
    let mut law = vec![0.0; a * b / 2 + 1];
    law[0] = 1.0;
    for i in 1..=fewer {
        // Downwards for the numerator and upwards for the denominator: both are done in place.
        for sum in (more + i..law.len()).rev() {
            law[sum] -= law[sum - more - i];
        }
        for sum in i..law.len() {
            law[sum] += law[sum - i];
        }
        let scale = i as f64 / (more + i) as f64;
        law.iter_mut().for_each(|probability| *probability *= scale);
    }
    law
}

#[cfg(test)]
mod tests {
    use super::{
        Differences, RunNoise, compare_runs, rank_sum_cdf, rank_sum_interval, rank_sum_rank,
    };
    use crate::rng::Rng;
    use crate::verdict::Verdict;
    use crate::{Interval, NoInterval};

    fn drawn(count: usize, level: f64, rng: &mut Rng) -> Vec<f64> {
        (0..count).map(|_| level + 0.01 * rng.normal()).collect()
    }

    /// How often every U occurs over all ways to choose which of the ranks belong to A.
    fn enumerated(a: usize, b: usize) -> Vec<u32> {
        let mut counts = vec![0; a * b + 1];
        for chosen in (0..1usize << (a + b)).filter(|chosen| chosen.count_ones() as usize == a) {
            let ranks: usize = (0..a + b).filter(|rank| chosen >> rank & 1 == 1).sum();
            counts[ranks - a * (a - 1) / 2] += 1;
        }
        counts
    }

    #[test]
    fn differences_are_found_in_their_order() {
        let mut rng = Rng::new(12);
        for (a, b) in [(1, 1), (1, 6), (7, 4), (30, 50)] {
            // Coarse values are often equal.
            for digits in [1.0, 10.0, 1e6] {
                let mut draw = |count: usize| -> Vec<f64> {
                    (0..count).map(|_| (digits * rng.normal()).round() / digits).collect()
                };
                let a = draw(a);
                let b = draw(b);
                let mut all: Vec<f64> =
                    b.iter().flat_map(|b| a.iter().map(move |a| b - a)).collect();
                all.sort_unstable_by(f64::total_cmp);
                let differences = Differences::of(&a, &b);
                let found: Vec<f64> =
                    (1..=all.len()).map(|rank| differences.smallest(rank)).collect();
                assert_eq!(found, all);
            }
        }
    }

    #[test]
    fn the_law_is_that_of_all_choices() {
        for (a, b) in [(1, 1), (2, 3), (4, 4), (3, 9), (6, 5), (7, 7)] {
            let counts = enumerated(a, b);
            let total: u32 = counts.iter().sum();
            let mut below = 0;
            for (sum, count) in counts.iter().enumerate().take(a * b / 2 + 1) {
                below += count;
                let exact = f64::from(below) / f64::from(total);
                assert!((rank_sum_cdf(sum, a, b) - exact).abs() < 1e-14, "{a} {b} {sum}");
            }
        }
    }

    #[test]
    fn ranks_agree_with_a_printed_table() {
        // Critical values of U, two-sided .05 (Mann & Whitney's table as in every textbook), one less than the rank.
        for (a, b, critical) in [(4, 4, 0), (5, 5, 2), (8, 8, 13), (10, 10, 23), (20, 20, 127)] {
            assert_eq!(rank_sum_rank(a, b, 0.05), critical + 1);
            assert_eq!(rank_sum_rank(b, a, 0.05), critical + 1);
        }
        assert_eq!(rank_sum_rank(3, 3, 0.05), 0);
        assert_eq!(rank_sum_rank(0, 9, 0.05), 0);
    }

    #[test]
    fn the_normal_law_takes_over_without_a_step() {
        let exact = rank_sum_rank(215, 215, 0.05);
        let normal = rank_sum_rank(216, 216, 0.05);
        // U scales with the product of the sizes, within a percent here.
        let exact = exact as f64 / 46_225.0;
        let normal = normal as f64 / 46_656.0;
        assert!((normal / exact - 1.0).abs() < 1e-3, "{exact} {normal}");
        assert!((rank_sum_cdf(23_327, 216, 216) - 0.5).abs() < 1e-3);
    }

    #[test]
    fn the_shift_by_hand() {
        let found = rank_sum_interval(&[0.0, 1.0, 2.0, 3.0], &[10.0, 11.0, 12.0, 14.0], 0.95);
        assert_eq!(found, Ok(Interval { estimate: 10.0, low: 7.0, high: 14.0 }));
    }

    #[test]
    fn runs_that_differ_by_themselves_widen_the_interval() {
        let mut rng = Rng::new(1);
        let a = drawn(10, 0.0, &mut rng);
        let b = drawn(10, 0.03, &mut rng);
        let verdict = |earlier: &[f64]| {
            compare_runs(&a, &b, earlier, 0.95).unwrap().judge(0.01).map(|judged| judged.verdict)
        };
        assert_eq!(verdict(&[0.0, 0.001, 0.0, -0.001, 0.0, 0.001]), Some(Verdict::Slower));
        assert_eq!(verdict(&[0.0, 0.03, -0.02, 0.01, -0.01, 0.02]), Some(Verdict::Inconclusive));
        assert_eq!(verdict(&[0.0; 5]), None);
    }

    #[test]
    fn without_earlier_runs_the_break_even_is_told() {
        let mut rng = Rng::new(2);
        let a = drawn(10, 0.0, &mut rng);
        let break_even = |b: &[f64]| match compare_runs(&a, b, &[], 0.95).unwrap().run_noise {
            RunNoise::Uncalibrated { break_even } => break_even,
            calibrated @ RunNoise::Calibrated { .. } => panic!("{calibrated:?}"),
        };
        let shifted: Vec<f64> = a.iter().map(|value| value + 0.7).collect();
        assert!((break_even(&shifted) - 0.7 / (1.96 * 2f64.sqrt())).abs() < 1e-4);
        assert_eq!(break_even(&a), 0.0);
    }

    #[test]
    fn counters_are_compared_exactly() {
        let compare = |b, earlier: &[f64]| compare_runs(&[1.0; 5], &[b; 5], earlier, 0.95).unwrap();
        let told = |b, earlier| {
            let compared = compare(b, earlier);
            (compared.exact, compared.judge(0.01).map(|judged| judged.verdict))
        };
        assert_eq!(told(1.0, &[]), (true, Some(Verdict::Equivalent)));
        assert_eq!(told(1.2, &[]), (true, Some(Verdict::Slower)));
        assert_eq!(told(1.2, &[1.0; 6]), (true, Some(Verdict::Slower)));
        let varying = [1.0, 1.1, 0.9, 1.2, 0.8, 1.0];
        assert_eq!(told(1.2, &varying), (false, Some(Verdict::Inconclusive)));
    }

    #[test]
    fn too_few_or_not_a_number_is_refused() {
        let compare = |a: &[f64], earlier: &[f64]| compare_runs(a, &[1.0; 3], earlier, 0.95);
        assert_eq!(compare(&[1.0; 3], &[]), Err(NoInterval::OutOfRange));
        assert_eq!(compare(&[f64::NAN; 9], &[]), Err(NoInterval::NotFinite));
        assert_eq!(compare(&[1.0; 9], &[f64::NAN]), Err(NoInterval::NotFinite));
    }
}
