//! Stored runs of two sides compared: docs/method.md, *Stored runs*.
//!
//! Between the runs of two sides, the shift is the median of all differences between a process of B and one of A (Hodges &
//! Lehmann 1963; from four runs a side on, between runs), and its interval inverts the exact rank-sum law (Mann & Whitney
//! 1947). That knows nothing of what differs between times, such as the placement of memory after a boot or the
//! neighbours of a day, which alone makes most comparisons of equal programs come out different.
//!
//! Sides that were measured in turns need no more than themselves: every run of B is compared with its neighbours of A,
//! and what varies slower than that cancels. Otherwise the interval is widened by what earlier runs of the same series on
//! the same machine differ by when they are about as far apart as the two sides. Without enough such runs there is no
//! verdict, but the noise that would explain the difference away.

use std::ops::RangeInclusive;

use crate::describe::{finite, mean_of, variance_of};
use crate::distribution::{normal_cdf, two_sided_t, two_sided_z};
use crate::pairs::{FEWEST_PAIRS, signed_rank_interval};
use crate::verdict::{Judgement, judge};
use crate::{Interval, NoInterval};

/// With fewer earlier runs, or pairs of them that are as far apart as the two sides, a comparison is uncalibrated.
pub const FEWEST_RUNS: usize = 6;
/// With so many runs on either side, runs are the unit of the interval, otherwise processes.
const RUNS_AS_UNITS: usize = 4;
/// Earlier runs show the noise between two times if they are no farther apart than this many times their distance...
const MOST_OF_GAP: f64 = 2.0;
/// ...and no nearer than this share of it: the first share that gives enough pairs. Those that are nearer show less.
const LEAST_OF_GAP: [f64; 2] = [0.9, 0.5];
/// Earlier runs that are this far apart, in seconds, also show what less time changes: slow noise only grows.
const LEAST_GAP_S: f64 = 60.0;
/// The exact law is summed where it takes no more steps than this, otherwise it is normal with continuity correction.
const MOST_STEPS: f64 = 1e6;

/// A stored run of one series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DatedRun {
    /// When it began, in seconds since any moment that is the same for all; None if nobody knows.
    pub began_s: Option<f64>,
    /// The natural log of its cost: the median of its processes.
    pub cost: f64,
}

/// One side of a comparison: its runs, and the natural logs of the costs of their processes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StoredSide<'a> {
    /// Its runs, in any order.
    pub runs: &'a [DatedRun],
    /// The processes of all of them.
    pub processes: &'a [f64],
}

/// Earlier runs of a series, of one identical program as far as anybody knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoiseHistory<'a> {
    /// On the machine of the two sides.
    OneMachine(&'a [DatedRun]),
    /// The log costs on several machines of one kind, which differ from each other at any time.
    OneKind(&'a [f64]),
}

/// The knowledge of the noise between runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RunNoise {
    /// The sides were measured in turns, in so many blocks of neighbours: slow noise cancels in each.
    InTurns {
        /// Stretches of one side between two runs of the other.
        blocks: usize,
    },
    /// Estimated from earlier runs; the interval allows for it.
    Calibrated {
        /// The earlier runs that show it.
        runs: usize,
        /// The standard deviation of a run in log units, about relative: of two that are as far apart as the sides, the
        /// difference has √2 of it.
        sd: f64,
    },
    /// Too few earlier runs: the interval speaks of these runs, not of the programs.
    Uncalibrated {
        /// The standard deviation between runs, in log units, above which the difference could be chance; 0 if the
        /// noise inside the runs already could explain it.
        break_even: f64,
        /// The blocks in which the sides were measured in turns, too few of them.
        blocks: usize,
    },
}

/// Two sides compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunsCompared {
    /// The log ratio of costs, above 0 where B costs more.
    pub interval: Interval,
    /// Every process of a side has the same value, and so have all earlier runs if there are some.
    pub exact: bool,
    /// The noise that the interval allows for.
    pub run_noise: RunNoise,
}

impl RunsCompared {
    /// The verdict, with `margin` the smallest relative change that matters; `None` if uncalibrated and not exact.
    pub fn judge(&self, margin: f64) -> Option<Judgement> {
        let calibrated = !matches!(self.run_noise, RunNoise::Uncalibrated { .. });
        // Stored runs have no pairs, so advice on how many more would settle it would mean nothing.
        let judged = Judgement { exact: self.exact, ..judge(&self.interval, 0, margin) };
        (calibrated || self.exact).then_some(Judgement { pairs_needed: None, ..judged })
    }
}

/// Compares two sides of stored runs.
///
/// From 8 blocks in turns on, the exact signed-rank law of the blocks decides. Otherwise the interval of the sides
/// alone is joined in quadrature to t √(mean of d²), `d` being the differences of at least [`FEWEST_RUNS`] pairs of earlier
/// runs that are between half and twice as far apart as the sides; runs of one side are earlier runs of each other, too.
///
/// # Errors
/// [`NoInterval::OutOfRange`] if a side has too few processes for `level`: at .95 it takes 4 and 4, or 3 and 5;
/// [`NoInterval::NotFinite`].
pub fn compare_runs(
    a: StoredSide<'_>,
    b: StoredSide<'_>,
    earlier: NoiseHistory<'_>,
    level: f64,
) -> Result<RunsCompared, NoInterval> {
    let in_turns = blocks_in_turns(a.runs, b.runs);
    let blocks = in_turns.len();
    if blocks >= FEWEST_PAIRS {
        return compared_in_turns(&in_turns, level);
    }
    let (inside, constant) = inside(a, b, level)?;
    let noise = match earlier {
        NoiseHistory::OneKind(costs) => noise_of_kind(costs)?,
        NoiseHistory::OneMachine(earlier) => noise_between_times(a.runs, b.runs, earlier)?,
    };
    let Some(noise) = noise else {
        let run_noise = RunNoise::Uncalibrated { break_even: break_even(&inside, level), blocks };
        return Ok(RunsCompared { interval: inside, exact: constant, run_noise });
    };
    let half = two_sided_t(level, noise.df) * noise.sd_of_difference;
    let interval = Interval {
        low: inside.estimate - half.hypot(inside.estimate - inside.low),
        high: inside.estimate + half.hypot(inside.high - inside.estimate),
        ..inside
    };
    let sd = noise.sd_of_difference / std::f64::consts::SQRT_2;
    let run_noise = RunNoise::Calibrated { runs: noise.runs, sd };
    // A value that never varies inside a run can still vary between runs, so one run alone does not make it exact.
    Ok(RunsCompared { interval, exact: constant && sd == 0.0, run_noise })
}

/// The interval of the sides alone, and whether none of their values differs from another of its side.
fn inside(
    a: StoredSide<'_>,
    b: StoredSide<'_>,
    level: f64,
) -> Result<(Interval, bool), NoInterval> {
    let by_runs = a.runs.len().min(b.runs.len()) >= RUNS_AS_UNITS;
    let (a, b) = match by_runs {
        true => (costs_of(a.runs), costs_of(b.runs)),
        false => (a.processes.to_vec(), b.processes.to_vec()),
    };
    match rank_sum_interval(&a, &b, level) {
        Ok(found) => Ok((found, false)),
        Err(NoInterval::AllEqual) => Ok((Interval::exactly(b[0] - a[0]), true)),
        Err(reason) => Err(reason),
    }
}

fn costs_of(runs: &[DatedRun]) -> Vec<f64> {
    runs.iter().map(|run| run.cost).collect()
}

/// What enough blocks in turns say; these are the log ratios of their costs, B over A.
fn compared_in_turns(blocks: &[f64], level: f64) -> Result<RunsCompared, NoInterval> {
    // Neighbouring blocks share a stretch, and with it its days, which correlates them by up to 1/6 and widens the law of
    // their ranks by a seventh: half of the error rate allows for more than that.
    let level = 1.0 - 0.5 * (1.0 - level);
    let run_noise = RunNoise::InTurns { blocks: blocks.len() };
    match signed_rank_interval(blocks, level) {
        Ok(interval) => Ok(RunsCompared { interval, exact: false, run_noise }),
        Err(NoInterval::AllEqual) => {
            Ok(RunsCompared { interval: Interval::exactly(blocks[0]), exact: true, run_noise })
        }
        Err(reason) => Err(reason),
    }
}

/// Runs of one side that follow each other without a run of the other side between them.
struct RunStretch {
    is_of_b: bool,
    costs: Vec<f64>,
}

/// The log ratio of costs, B over A, in each block: a stretch of one side, compared with the mean of the run before it and
/// the run after it. There are no blocks if nobody knows when a run began: what has no date never alternates.
fn blocks_in_turns(a: &[DatedRun], b: &[DatedRun]) -> Vec<f64> {
    let stretches = stretches(a, b).unwrap_or_default();
    // The side with more stretches between two of the other has more blocks.
    let of_b = flanked(&stretches, true);
    let of_a = flanked(&stretches, false);
    let (blocks, sign) = if of_a.len() > of_b.len() { (of_a, -1.0) } else { (of_b, 1.0) };
    let mut log_ratios = Vec::with_capacity(blocks.len());
    for three in &blocks {
        let before = three[0].costs.last().copied().unwrap_or(f64::NAN);
        let after = three[2].costs.first().copied().unwrap_or(f64::NAN);
        log_ratios.push(sign * (mean_of(&three[1].costs) - 0.5 * (before + after)));
    }
    log_ratios
}

/// The stretches of one side between two of the other, each with these two.
fn flanked(stretches: &[RunStretch], is_of_b: bool) -> Vec<&[RunStretch]> {
    stretches.windows(3).filter(|three| three[1].is_of_b == is_of_b).collect()
}

/// The runs of two sides in the order of time; None if one has no date.
fn stretches(a: &[DatedRun], b: &[DatedRun]) -> Option<Vec<RunStretch>> {
    let mut runs: Vec<(f64, bool, f64)> = Vec::with_capacity(a.len() + b.len());
    for (side, is_of_b) in [(a, false), (b, true)] {
        for run in side {
            runs.push((run.began_s?, is_of_b, run.cost));
        }
    }
    runs.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut stretches: Vec<RunStretch> = Vec::new();
    for (_, is_of_b, cost) in runs {
        match stretches.last_mut() {
            Some(last) if last.is_of_b == is_of_b => last.costs.push(cost),
            _ => stretches.push(RunStretch { is_of_b, costs: vec![cost] }),
        }
    }
    Some(stretches)
}

/// How much two runs of one program differ that are far apart.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DifferenceNoise {
    /// The root of the mean square of the difference of their log costs.
    pub sd_of_difference: f64,
    /// Degrees of freedom of its square.
    pub df: f64,
    /// The runs that show it.
    pub runs: usize,
}

/// The noise between machines of one kind; None if too few runs show it.
fn noise_of_kind(costs: &[f64]) -> Result<Option<DifferenceNoise>, NoInterval> {
    finite(costs)?;
    if costs.len() < FEWEST_RUNS {
        return Ok(None);
    }
    // √2, because both of the compared runs carry the noise between runs.
    let sd_of_difference = std::f64::consts::SQRT_2 * variance_of(costs).sqrt();
    Ok(Some(DifferenceNoise { sd_of_difference, df: (costs.len() - 1) as f64, runs: costs.len() }))
}

/// The noise between runs that are as far apart as the two sides, from earlier runs and those of each side; None if fewer
/// than [`FEWEST_RUNS`] pairs that do not overlap show it, or a run of a side has no date.
///
/// # Errors
/// [`NoInterval::NotFinite`].
pub fn noise_between_times(
    a: &[DatedRun],
    b: &[DatedRun],
    earlier: &[DatedRun],
) -> Result<Option<DifferenceNoise>, NoInterval> {
    finite(&costs_of(earlier))?;
    let Some(gap_s) = distance_s(a, b) else { return Ok(None) };
    let longest_s = (MOST_OF_GAP * gap_s).max(LEAST_GAP_S);
    let found = LEAST_OF_GAP
        .iter()
        .map(|share| pairs_apart(&[earlier, a, b], share * gap_s..=longest_s))
        .find(|pairs| pairs.len() >= FEWEST_RUNS);
    let Some(found) = found else { return Ok(None) };
    let mut ends: Vec<f64> = Vec::new();
    let mut sum = 0.0;
    for pair in &found {
        ends.extend([pair.from_s, pair.to_s]);
        sum += pair.difference * pair.difference;
    }
    ends.sort_by(f64::total_cmp);
    ends.dedup();
    // A run that ends one pair and begins the next makes their differences correlated: two runs a degree of freedom.
    let df = 0.5 * ends.len() as f64;
    let sd_of_difference = (sum / found.len() as f64).sqrt();
    Ok(Some(DifferenceNoise { sd_of_difference, df, runs: ends.len() }))
}

/// How far the runs of two sides are apart on average, in seconds; None if a run has no date.
fn distance_s(a: &[DatedRun], b: &[DatedRun]) -> Option<f64> {
    let mut sum_s = 0.0;
    for one in a {
        for other in b {
            sum_s += (other.began_s? - one.began_s?).abs();
        }
    }
    Some(sum_s / (a.len() * b.len()) as f64)
}

/// Two runs of one program, one after the other.
struct PairApart {
    from_s: f64,
    to_s: f64,
    difference: f64,
}

/// As many pairs of runs as do not overlap in time, each of runs of one list that are so far apart.
fn pairs_apart(lists: &[&[DatedRun]], lags_s: RangeInclusive<f64>) -> Vec<PairApart> {
    let mut candidates = Vec::new();
    for runs in lists {
        for (place, one) in runs.iter().enumerate() {
            for other in &runs[place + 1..] {
                let (Some(one_s), Some(other_s)) = (one.began_s, other.began_s) else { continue };
                if lags_s.contains(&(other_s - one_s).abs()) {
                    let from_s = one_s.min(other_s);
                    let to_s = one_s.max(other_s);
                    candidates.push(PairApart { from_s, to_s, difference: other.cost - one.cost });
                }
            }
        }
    }
    // Taking the pair that ends first leaves most room for others.
    candidates.sort_by(|one, other| one.to_s.total_cmp(&other.to_s));
    let mut taken: Vec<PairApart> = Vec::new();
    for pair in candidates {
        if taken.last().is_none_or(|last| pair.from_s >= last.to_s) {
            taken.push(pair);
        }
    }
    taken
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
        DatedRun, Differences, NoiseHistory, RunNoise, StoredSide, compare_runs, rank_sum_cdf,
        rank_sum_interval, rank_sum_rank,
    };
    use crate::describe::median_of;
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

    /// A run that began at this second.
    fn at(began_s: f64, cost: f64) -> DatedRun {
        DatedRun { began_s: Some(began_s), cost }
    }

    /// One run a side, an hour apart, of these processes; and earlier runs of these costs, an hour apart.
    fn an_hour_apart(
        a: &[f64],
        b: &[f64],
        earlier: &[f64],
    ) -> Result<super::RunsCompared, NoInterval> {
        let hours: Vec<DatedRun> =
            (0..).zip(earlier).map(|(hour, cost)| at(f64::from(hour) * 3600.0, *cost)).collect();
        let a = StoredSide { runs: &[at(1e6, median_of(a))], processes: a };
        let b = StoredSide { runs: &[at(1e6 + 3600.0, median_of(b))], processes: b };
        compare_runs(a, b, NoiseHistory::OneMachine(&hours), 0.95)
    }

    #[test]
    fn runs_that_differ_by_themselves_widen_the_interval() {
        let mut rng = Rng::new(1);
        let a = drawn(10, 0.0, &mut rng);
        let b = drawn(10, 0.03, &mut rng);
        let verdict = |earlier: &[f64]| {
            an_hour_apart(&a, &b, earlier).unwrap().judge(0.01).map(|judged| judged.verdict)
        };
        let calm = [0.0, 0.001, 0.0, -0.001, 0.0, 0.001, 0.0];
        assert_eq!(verdict(&calm), Some(Verdict::Slower));
        let varying = [0.0, 0.03, -0.02, 0.01, -0.01, 0.02, 0.0];
        assert_eq!(verdict(&varying), Some(Verdict::Inconclusive));
        // Six runs an hour apart are five pairs.
        assert_eq!(verdict(&calm[..6]), None);
    }

    #[test]
    fn only_earlier_runs_that_are_as_far_apart_count() {
        let mut rng = Rng::new(1);
        let a = drawn(10, 0.0, &mut rng);
        let b = drawn(10, 0.03, &mut rng);
        let compared = |earlier: &[DatedRun], gap_s: f64| {
            let a = StoredSide { runs: &[at(1e9, 0.0)], processes: &a };
            let b = StoredSide { runs: &[at(1e9 + gap_s, 0.03)], processes: &b };
            compare_runs(a, b, NoiseHistory::OneMachine(earlier), 0.95).unwrap()
        };
        let minutes: Vec<DatedRun> = (0..40).map(|run| at(f64::from(run) * 60.0, 0.0)).collect();
        assert!(compared(&minutes, 60.0).judge(0.01).is_some());
        assert!(compared(&minutes, 86_400.0).judge(0.01).is_none());
        // Four pairs of nine minutes fit into forty, but seven of five, which is half of ten.
        let found = compared(&minutes, 600.0);
        assert!(matches!(found.run_noise, RunNoise::Calibrated { runs: 8, .. }), "{found:?}");
        let found = compared(&minutes, 180.0);
        assert!(matches!(found.run_noise, RunNoise::Calibrated { runs: 14, .. }), "{found:?}");
        let undated: Vec<DatedRun> =
            minutes.iter().map(|run| DatedRun { began_s: None, ..*run }).collect();
        assert!(compared(&undated, 60.0).judge(0.01).is_none());
    }

    /// Runs of two sides in this order, an hour apart, each of a cost of its side and what time adds.
    fn in_order(order: &str, slower: f64, slow: impl Fn(usize) -> f64) -> [Vec<DatedRun>; 2] {
        let mut sides = [Vec::new(), Vec::new()];
        for (hour, side) in order.bytes().enumerate() {
            let is_of_b = side == b'B';
            let cost = slow(hour) + if is_of_b { slower } else { 0.0 };
            sides[usize::from(is_of_b)].push(at(3600.0 * hour as f64, cost));
        }
        sides
    }

    fn compared_in_order(order: &str, slow: impl Fn(usize) -> f64) -> super::RunsCompared {
        let [a, b] = in_order(order, 0.02, slow);
        let a_costs = super::costs_of(&a);
        let b_costs = super::costs_of(&b);
        let a = StoredSide { runs: &a, processes: &a_costs };
        let b = StoredSide { runs: &b, processes: &b_costs };
        compare_runs(a, b, NoiseHistory::OneMachine(&[]), 0.95).unwrap()
    }

    #[test]
    fn a_drift_cancels_where_sides_were_measured_in_turns() {
        let noise = |hour: usize| 0.01 * hour as f64 + 1e-4 * (hour * hour % 7) as f64;
        for order in ["ABABABABABABABABA", "BABABABABABABABAB", "AABBAABBAABBAABBAABBAABBAABBAABBA"]
        {
            let found = compared_in_order(order, noise);
            assert_eq!(found.run_noise, RunNoise::InTurns { blocks: 8 }, "{order}");
            assert!((found.interval.estimate - 0.02).abs() < 5e-4, "{order}: {found:?}");
            assert_eq!(found.judge(0.01).unwrap().verdict, Verdict::Slower, "{order}");
        }
        let too_few = compared_in_order("ABABABABABABABA", noise);
        assert!(matches!(too_few.run_noise, RunNoise::Uncalibrated { blocks: 7, .. }));
        assert!(too_few.judge(0.01).is_none());
        // The same runs, the sides one after the other.
        let apart = compared_in_order("AAAAAAAAABBBBBBBB", noise);
        assert!(matches!(apart.run_noise, RunNoise::Uncalibrated { blocks: 0, .. }));
        assert!(apart.judge(0.01).is_none());
    }

    #[test]
    fn without_earlier_runs_the_break_even_is_told() {
        let mut rng = Rng::new(2);
        let a = drawn(10, 0.0, &mut rng);
        let break_even = |b: &[f64]| match an_hour_apart(&a, b, &[]).unwrap().run_noise {
            RunNoise::Uncalibrated { break_even, .. } => break_even,
            known => panic!("{known:?}"),
        };
        let shifted: Vec<f64> = a.iter().map(|value| value + 0.7).collect();
        assert!((break_even(&shifted) - 0.7 / (1.96 * 2f64.sqrt())).abs() < 1e-4);
        assert_eq!(break_even(&a), 0.0);
    }

    #[test]
    fn counters_are_compared_exactly() {
        let told = |b: f64, earlier: &[f64]| {
            let compared = an_hour_apart(&[1.0; 5], &[b; 5], earlier).unwrap();
            (compared.exact, compared.judge(0.01).map(|judged| judged.verdict))
        };
        assert_eq!(told(1.0, &[]), (true, Some(Verdict::Equivalent)));
        assert_eq!(told(1.2, &[]), (true, Some(Verdict::Slower)));
        assert_eq!(told(1.2, &[1.0; 7]), (true, Some(Verdict::Slower)));
        let varying = [1.0, 1.1, 0.9, 1.2, 0.8, 1.0, 1.1];
        assert_eq!(told(1.2, &varying), (false, Some(Verdict::Inconclusive)));
    }

    #[test]
    fn too_few_or_not_a_number_is_refused() {
        let compare = |a: &[f64], earlier: &[f64]| an_hour_apart(a, &[1.0; 3], earlier);
        assert_eq!(compare(&[1.0; 3], &[]), Err(NoInterval::OutOfRange));
        assert_eq!(compare(&[f64::NAN; 9], &[]), Err(NoInterval::NotFinite));
        assert_eq!(compare(&[1.0; 9], &[f64::NAN]), Err(NoInterval::NotFinite));
    }
}
