//! Which ranks several items can have, all at once: docs/method.md, *Ranks*.
//!
//! A rank set holds every rank that the data do not rule out. It follows from simultaneous intervals of all pairwise
//! differences: an item that is surely cheaper than w others and surely dearer than b others has a rank from 1 + b to
//! k - w (Mogstad, Romano, Shaikh & Wilhelm, "Inference for ranks with applications to mobility across neighborhoods and
//! academic achievement across countries", Rev. Econ. Stud. 91, 2024; simpler and wider from intervals of single items:
//! Klein, Wright & Wieczorek, "A joint confidence region for an overall ranking of populations", JRSS C 69, 2020). If
//! none of the intervals errs, no rank set does, so the level holds for all sets together.
//!
//! The intervals share one critical value: the quantile of the largest studentised difference among all pairs. A bootstrap
//! of few values makes it too small. Here it is simulated from normal values, with the sizes and errors of the data: the
//! errors enter as they were estimated, and each draw estimates its own again, so the law of few values is in it. Means
//! are trimmed (Yuen, "The two-sample trimmed t for unequal population variances", Biometrika 61, 1974), because one
//! disturbed process must not hide all differences of its item.
//!
//! In blocks, every item was measured once in each, so differences are taken inside blocks and common noise cancels. All
//! of them then have the same number of values, and the critical value is that of independent normal noise: dependent
//! differences have smaller maxima (Hayter, "A proof of the conjecture that the Tukey-Kramer multiple comparisons
//! procedure is conservative", Ann. Stat. 12, 1984). The error of a difference is the larger of two: its own, and that of
//! its two items after the common noise of all items was removed. The second rests on twice as many values, so it keeps
//! errors from coming out small by chance, which 190 pairs of 20 items make likely.

use std::fmt;

use crate::Interval;
use crate::describe::{all_finite, mean_of, median_of, sum_of_squares};
use crate::rng::Rng;

/// With fewer values of an item, or fewer blocks, there are no rank sets.
pub const FEWEST_VALUES: usize = 8;
/// One value in so many is trimmed at each end, at least one.
const TRIMMED: usize = 10;
/// From so many items on, their median in a block shows what the block adds to all of them.
const FEWEST_FOR_COMMON: usize = 5;
/// Draws of the simulated maximum.
const DRAWS: usize = 2000;

/// The ranks that an item can have; rank 1 has the lowest values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankSet {
    /// The best rank that is not ruled out.
    pub best: usize,
    /// The worst rank that is not ruled out.
    pub worst: usize,
}

impl RankSet {
    /// How many ranks it holds.
    pub fn size(&self) -> usize {
        self.worst - self.best + 1
    }
}

/// Two items and how much the later one lies above the first, with its simultaneous interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairDifference {
    /// The index of the first item.
    pub first: usize,
    /// The index of the later item.
    pub later: usize,
    /// Of later - first; all pairs together hold the level.
    pub interval: Interval,
}

/// Rank sets of all items, and the intervals that they follow from.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranking {
    /// One per item, in the order of the items.
    pub sets: Vec<RankSet>,
    /// All pairs: (0, 1), (0, 2), …, (1, 2), …
    pub differences: Vec<PairDifference>,
}

impl Ranking {
    /// How much the item `to` lies above the item `from`, two indices of items that differ.
    #[must_use]
    pub fn difference(&self, from: usize, to: usize) -> Interval {
        let ends = (from.min(to), from.max(to));
        let pair = self.differences.iter().find(|pair| (pair.first, pair.later) == ends);
        let interval = pair.map_or(Interval::exactly(0.0), |pair| pair.interval);
        if from < to {
            return interval;
        }
        Interval { estimate: -interval.estimate, low: -interval.high, high: -interval.low }
    }
}

/// Why items have no rank sets. Its `Display` is the sentence to show.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum NoRanking {
    /// There is nothing to rank.
    TooFewItems {
        /// The number of items.
        have: usize,
    },
    /// An item has fewer values than [`FEWEST_VALUES`].
    TooFewValues {
        /// The index of the item.
        item: usize,
        /// How many values it has.
        have: usize,
    },
    /// There are fewer blocks than [`FEWEST_VALUES`].
    TooFewBlocks {
        /// The number of blocks.
        have: usize,
    },
    /// A block lacks an item, or has one too many.
    UnevenBlock {
        /// The index of the block.
        block: usize,
        /// How many values it has.
        have: usize,
        /// Those of the first block.
        need: usize,
    },
    /// A value is NaN or infinite.
    NotFinite {
        /// The index of its item.
        item: usize,
    },
    /// The items do not have the numbers of values that the critical values were simulated for.
    OtherShape,
    /// The level is not between 0 and 1, or too close to 1 for the number of simulated draws.
    Level,
}

impl fmt::Display for NoRanking {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFewItems { have } => write!(out, "{have} items: a ranking needs two"),
            Self::TooFewValues { item, have } => {
                write!(out, "item {item} has {have} values: measure at least {FEWEST_VALUES}")
            }
            Self::TooFewBlocks { have } => {
                write!(out, "{have} blocks: measure at least {FEWEST_VALUES}")
            }
            Self::UnevenBlock { block, have, need } => {
                write!(out, "block {block} has {have} items instead of {need}: leave it out")
            }
            Self::NotFinite { item } => write!(out, "item {item} has a value that is not finite"),
            Self::OtherShape => out.write_str("the critical values are of items of other sizes"),
            Self::Level => write!(out, "the level must lie between 0 and {HIGHEST_LEVEL}"),
        }
    }
}

impl std::error::Error for NoRanking {}

/// A higher level lies beyond the draws of the maximum.
const HIGHEST_LEVEL: f64 = 0.995;

/// Rank sets of items that were measured independently of each other: `items[i]` holds the natural logs of the costs of
/// item i, one per process, in any order. All sets together hold the true ranks with probability `level`.
///
/// # Errors
/// [`NoRanking`] for fewer than two items, fewer than [`FEWEST_VALUES`] values of one, a value that is not finite, or a
/// level that is not between 0 and .995.
pub fn independent(items: &[Vec<f64>], level: f64, rng: &mut Rng) -> Result<Ranking, NoRanking> {
    check_items(items)?;
    let sizes: Vec<usize> = items.iter().map(Vec::len).collect();
    IndependentDraws::new(&sizes, rng).rank(items, level)
}

/// Rank sets of items that took turns: `blocks[b][i]` is the natural log of the cost of item i in block b. What a block
/// adds to all of its items cancels.
///
/// # Errors
/// [`NoRanking`] for fewer than two items, fewer than [`FEWEST_VALUES`] blocks, blocks of unequal length, a value that is
/// not finite, or a level that is not between 0 and .995.
pub fn in_blocks(blocks: &[Vec<f64>], level: f64, rng: &mut Rng) -> Result<Ranking, NoRanking> {
    let items = check_blocks(blocks)?;
    BlockDraws::new(items, blocks.len(), rng).rank(blocks, level)
}

fn check_items(items: &[Vec<f64>]) -> Result<(), NoRanking> {
    if items.len() < 2 {
        return Err(NoRanking::TooFewItems { have: items.len() });
    }
    for (item, values) in items.iter().enumerate() {
        if values.len() < FEWEST_VALUES {
            return Err(NoRanking::TooFewValues { item, have: values.len() });
        }
        if !all_finite(values) {
            return Err(NoRanking::NotFinite { item });
        }
    }
    Ok(())
}

/// The number of items of checked blocks.
fn check_blocks(blocks: &[Vec<f64>]) -> Result<usize, NoRanking> {
    let need = blocks.first().map_or(0, Vec::len);
    for (block, values) in blocks.iter().enumerate() {
        if values.len() != need {
            return Err(NoRanking::UnevenBlock { block, have: values.len(), need });
        }
        if let Some(item) = values.iter().position(|value| !value.is_finite()) {
            return Err(NoRanking::NotFinite { item });
        }
    }
    if need < 2 {
        return Err(NoRanking::TooFewItems { have: need });
    }
    if blocks.len() < FEWEST_VALUES {
        return Err(NoRanking::TooFewBlocks { have: blocks.len() });
    }
    Ok(need)
}

/// A trimmed mean and the square of its standard error.
#[derive(Debug, Clone, Copy, Default)]
struct TrimmedMean {
    mean: f64,
    squared_error: f64,
}

impl TrimmedMean {
    /// Of at least three checked values, which it sorts.
    fn of(values: &mut [f64]) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        let trimmed = (values.len() / TRIMMED).max(1);
        let kept = values.get(trimmed..values.len() - trimmed).unwrap_or_default();
        let degrees = (kept.len() * (kept.len() - 1)) as f64;
        let mean = mean_of(kept);
        // Winsorised: each trimmed value counts like the nearest one that is kept.
        let ends = trimmed as f64;
        let low = kept[0];
        let high = kept[kept.len() - 1];
        let centre = (mean * kept.len() as f64 + ends * (low + high)) / values.len() as f64;
        let inside: f64 = kept.iter().map(|value| (value - centre).powi(2)).sum();
        let squares = inside + ends * ((low - centre).powi(2) + (high - centre).powi(2));
        if squares > 0.0 {
            return Self { mean, squared_error: squares / degrees };
        }
        // Values of a coarse clock can be equal up to the trimmed ones. Those show that the others are not exact.
        let centre = mean_of(values);
        let distances: Vec<f64> = values.iter().map(|value| value - centre).collect();
        Self { mean, squared_error: sum_of_squares(&distances) / degrees }
    }
}

/// Draws of standard normal items, from which the critical value of data with the same numbers of values follows. They
/// serve any number of data sets.
#[derive(Debug, Clone)]
pub struct IndependentDraws {
    /// The numbers of values of the items, rising.
    sizes: Vec<usize>,
    /// The items of each draw, in the order of the sizes.
    draws: Vec<Vec<TrimmedMean>>,
}

impl IndependentDraws {
    /// Of items with so many values each, in any order; each has at least [`FEWEST_VALUES`].
    pub fn new(sizes: &[usize], rng: &mut Rng) -> Self {
        let mut sizes = sizes.to_vec();
        sizes.sort_unstable();
        let draws = (0..DRAWS).map(|_| {
            let means = sizes.iter().map(|&size| {
                let mut values: Vec<f64> =
                    (0..size.max(FEWEST_VALUES)).map(|_| rng.normal()).collect();
                TrimmedMean::of(&mut values)
            });
            means.collect()
        });
        let draws = draws.collect();
        Self { sizes, draws }
    }

    /// As [`independent`], with these draws.
    ///
    /// # Errors
    /// As there, and [`NoRanking::OtherShape`] if the draws are of other sizes.
    pub fn rank(&self, items: &[Vec<f64>], level: f64) -> Result<Ranking, NoRanking> {
        check_items(items)?;
        let means: Vec<TrimmedMean> =
            items.iter().map(|values| TrimmedMean::of(&mut values.clone())).collect();
        // By size and error, so the order in which items are listed does not decide which draws an item gets.
        let mut by_size: Vec<(usize, f64)> = items
            .iter()
            .zip(&means)
            .map(|(values, mean)| (values.len(), mean.squared_error))
            .collect();
        by_size.sort_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        if !by_size.iter().map(|(size, _)| size).eq(&self.sizes) {
            return Err(NoRanking::OtherShape);
        }
        let errors: Vec<f64> = by_size.iter().map(|(_, squared)| *squared).collect();
        let critical = critical_value(self.largest(&errors), level)?;
        Ok(ranking(items.len(), critical, |first, later| TrimmedMean {
            mean: means[later].mean - means[first].mean,
            squared_error: means[later].squared_error + means[first].squared_error,
        }))
    }

    /// The square of the largest studentised difference in each draw, if items have these squared errors.
    fn largest(&self, squared_errors: &[f64]) -> Vec<f64> {
        let errors: Vec<f64> = squared_errors.iter().map(|squared| squared.sqrt()).collect();
        let mut scaled = vec![TrimmedMean::default(); errors.len()];
        let largest = self.draws.iter().map(|draw| {
            for (place, (mean, error)) in draw.iter().zip(&errors).enumerate() {
                scaled[place] = TrimmedMean {
                    mean: mean.mean * error,
                    squared_error: mean.squared_error * error * error,
                };
            }
            let mut largest = 0.0f64;
            for (later, one) in scaled.iter().enumerate() {
                for other in &scaled[..later] {
                    let squared_error = one.squared_error + other.squared_error;
                    // Items without noise differ exactly, so they need no critical value; 0 / 0 leaves the maximum alone.
                    largest = largest.max((one.mean - other.mean).powi(2) / squared_error);
                }
            }
            largest
        });
        largest.collect()
    }
}

/// The simulated law of the largest studentised difference of items in blocks. It serves any number of data sets.
#[derive(Debug, Clone)]
pub struct BlockDraws {
    items: usize,
    blocks: usize,
    /// The square of the largest in each draw.
    largest: Vec<f64>,
}

impl BlockDraws {
    /// Of so many items, at least two, in so many blocks, at least [`FEWEST_VALUES`].
    pub fn new(items: usize, blocks: usize, rng: &mut Rng) -> Self {
        let drawn = blocks.max(FEWEST_VALUES);
        let mut largest = Vec::with_capacity(DRAWS);
        for _ in 0..DRAWS {
            let values: Vec<Vec<f64>> =
                (0..drawn).map(|_| (0..items).map(|_| rng.normal()).collect()).collect();
            let values = ItemsInBlocks::of(&values, items);
            let mut most = 0.0f64;
            for later in 0..items {
                for first in 0..later {
                    let found = values.difference(first, later);
                    most = most.max(found.mean.powi(2) / found.squared_error);
                }
            }
            largest.push(most);
        }
        Self { items, blocks, largest }
    }

    /// As [`in_blocks`], with these draws.
    ///
    /// # Errors
    /// As there, and [`NoRanking::OtherShape`] if the draws are of another number of items or blocks.
    pub fn rank(&self, blocks: &[Vec<f64>], level: f64) -> Result<Ranking, NoRanking> {
        let items = check_blocks(blocks)?;
        if items != self.items || blocks.len() != self.blocks {
            return Err(NoRanking::OtherShape);
        }
        let critical = critical_value(self.largest.clone(), level)?;
        let values = ItemsInBlocks::of(blocks, items);
        Ok(ranking(items, critical, |first, later| values.difference(first, later)))
    }
}

/// The values of items in blocks, item by item.
struct ItemsInBlocks {
    items: Vec<Vec<f64>>,
    /// The squared error of each item's trimmed mean without the common noise; 0 for few items.
    squared_errors: Vec<f64>,
}

impl ItemsInBlocks {
    /// Of checked blocks of so many items.
    fn of(blocks: &[Vec<f64>], count: usize) -> Self {
        let items: Vec<Vec<f64>> =
            (0..count).map(|item| blocks.iter().map(|block| block[item]).collect()).collect();
        if count < FEWEST_FOR_COMMON {
            return Self { items, squared_errors: vec![0.0; count] };
        }
        let means: Vec<f64> =
            items.iter().map(|values| TrimmedMean::of(&mut values.clone()).mean).collect();
        let common = blocks.iter().map(|block| {
            let deviations: Vec<f64> =
                block.iter().zip(&means).map(|(value, mean)| value - mean).collect();
            median_of(&deviations)
        });
        let common: Vec<f64> = common.collect();
        let squared_errors = items.iter().map(|values| {
            let mut rest: Vec<f64> =
                values.iter().zip(&common).map(|(value, common)| value - common).collect();
            TrimmedMean::of(&mut rest).squared_error
        });
        let squared_errors = squared_errors.collect();
        Self { items, squared_errors }
    }

    /// How far the later item lies above the first, in blocks.
    fn difference(&self, first: usize, later: usize) -> TrimmedMean {
        let mut differences: Vec<f64> = self.items[later]
            .iter()
            .zip(&self.items[first])
            .map(|(one, other)| one - other)
            .collect();
        let own = TrimmedMean::of(&mut differences);
        // Two items that differ by the same amount in every block are known exactly, however noisy each is.
        if own.squared_error == 0.0 {
            return own;
        }
        let of_items = self.squared_errors[first] + self.squared_errors[later];
        TrimmedMean { mean: own.mean, squared_error: own.squared_error.max(of_items) }
    }
}

/// The quantile of the largest studentised difference, from the squares of its draws.
fn critical_value(mut squares: Vec<f64>, level: f64) -> Result<f64, NoRanking> {
    if !(level > 0.0 && level <= HIGHEST_LEVEL) {
        return Err(NoRanking::Level);
    }
    let count = squares.len() as f64;
    // One standard error of the simulated share is added, so that chance in the draws rather widens intervals.
    let share = level + (level * (1.0 - level) / count).sqrt();
    let place = ((share * count) as usize).min(squares.len() - 1);
    let (_, square, _) = squares.select_nth_unstable_by(place, f64::total_cmp);
    Ok(square.sqrt())
}

/// The intervals of all pairs and the rank sets that follow.
fn ranking(
    items: usize,
    critical: f64,
    difference: impl Fn(usize, usize) -> TrimmedMean,
) -> Ranking {
    let mut sets = vec![RankSet { best: 1, worst: items }; items];
    let mut differences = Vec::with_capacity(items * (items - 1) / 2);
    for first in 0..items {
        for later in first + 1..items {
            let found = difference(first, later);
            let half = critical * found.squared_error.sqrt();
            let interval =
                Interval { estimate: found.mean, low: found.mean - half, high: found.mean + half };
            if interval.low > 0.0 {
                sets[later].best += 1;
                sets[first].worst -= 1;
            } else if interval.high < 0.0 {
                sets[first].best += 1;
                sets[later].worst -= 1;
            }
            differences.push(PairDifference { first, later, interval });
        }
    }
    Ranking { sets, differences }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::{
        BlockDraws, FEWEST_VALUES, IndependentDraws, NoRanking, RankSet, in_blocks, independent,
    };
    use crate::rng::Rng;

    const SEED: u64 = 7;

    /// Items with these centres and a noise of 1 % of normal values.
    fn items(centres: &[f64], values: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
        let mut items = Vec::new();
        for centre in centres {
            items.push((0..values).map(|_| centre + 0.01 * rng.normal()).collect());
        }
        items
    }

    fn transposed(items: &[Vec<f64>]) -> Vec<Vec<f64>> {
        (0..items[0].len()).map(|value| items.iter().map(|item| item[value]).collect()).collect()
    }

    fn sets_of(items: &[Vec<f64>]) -> Vec<RankSet> {
        independent(items, 0.95, &mut Rng::new(SEED)).unwrap().sets
    }

    fn set(best: usize, worst: usize) -> RankSet {
        RankSet { best, worst }
    }

    #[test]
    fn items_far_apart_have_one_rank_each_and_equal_ones_all() {
        let mut rng = Rng::new(1);
        let apart = items(&[0.3, 0.1, 0.2], 15, &mut rng);
        assert_eq!(sets_of(&apart), [set(3, 3), set(1, 1), set(2, 2)]);
        let found = in_blocks(&transposed(&apart), 0.95, &mut Rng::new(SEED)).unwrap();
        assert_eq!(found.sets, [set(3, 3), set(1, 1), set(2, 2)]);
        let pairs: Vec<(usize, usize)> =
            found.differences.iter().map(|pair| (pair.first, pair.later)).collect();
        assert_eq!(pairs, [(0, 1), (0, 2), (1, 2)]);
        assert!(found.differences[0].interval.contains(-0.2));
        // Two alike, and one that is dearer than both.
        let two = items(&[0.1, 0.1, 0.3], 15, &mut rng);
        assert_eq!(sets_of(&two), [set(1, 2), set(1, 2), set(3, 3)]);
    }

    #[test]
    fn counters_are_compared_exactly() {
        let exact = [vec![2.0; 8], vec![1.0; 8], vec![2.0; 8]];
        assert_eq!(sets_of(&exact), [set(2, 3), set(1, 1), set(2, 3)]);
        let found = in_blocks(&transposed(&exact), 0.95, &mut Rng::new(SEED)).unwrap();
        assert_eq!(found.sets, [set(2, 3), set(1, 1), set(2, 3)]);
    }

    #[test]
    fn ticks_of_a_coarse_clock_are_not_exact() {
        // All but one value of each item read the same, and trimming would leave no noise.
        let mut one = vec![0.0; 8];
        let mut other = vec![0.001; 8];
        one[3] = 0.001;
        other[5] = 0.0;
        let found = independent(&[one, other], 0.95, &mut Rng::new(SEED)).unwrap();
        let interval = found.differences[0].interval;
        assert!(interval.high - interval.low > 0.000_5, "{interval:?}");
    }

    #[test]
    fn one_disturbed_process_does_not_hide_a_difference() {
        let mut rng = Rng::new(2);
        let mut apart = items(&[0.0, 0.05], 15, &mut rng);
        apart[0][4] += 3.0;
        assert_eq!(sets_of(&apart), [set(1, 1), set(2, 2)]);
    }

    #[test]
    fn noise_of_a_block_cancels() {
        let mut rng = Rng::new(3);
        let mut apart = items(&[0.0, 0.03, 0.06], 15, &mut rng);
        for value in 0..15 {
            let common = 0.2 * rng.normal();
            apart.iter_mut().for_each(|item| item[value] += common);
        }
        assert_eq!(sets_of(&apart), [set(1, 3), set(1, 3), set(1, 3)]);
        let found = in_blocks(&transposed(&apart), 0.95, &mut Rng::new(SEED)).unwrap();
        assert_eq!(found.sets, [set(1, 1), set(2, 2), set(3, 3)]);
    }

    #[test]
    fn a_higher_level_and_more_items_widen_the_intervals() {
        let mut rng = Rng::new(4);
        let all = items(&[0.0; 12], 10, &mut rng);
        let widths =
            [(&all[..], 0.99), (&all[..], 0.95), (&all[..2], 0.95)].map(|(items, level)| {
                let found = independent(items, level, &mut Rng::new(SEED)).unwrap();
                let interval = found.differences[0].interval;
                interval.high - interval.low
            });
        assert!(widths[0] > widths[1] && widths[1] > 1.2 * widths[2], "{widths:?}");
    }

    /// The critical value of two items in blocks is that of Student's t for the trimmed mean; of three items of many
    /// values, that of the studentised range: 3.314 / √2.
    #[test]
    fn critical_values_are_those_of_tables() {
        let mut rng = Rng::new(5);
        let draws = IndependentDraws::new(&[200; 3], &mut rng);
        let three = super::critical_value(draws.largest(&[1.0; 3]), 0.95).unwrap();
        assert!((three / 2.343 - 1.0).abs() < 0.05, "{three}");
        let draws = BlockDraws::new(2, 200, &mut rng);
        let two = super::critical_value(draws.largest, 0.95).unwrap();
        assert!((two / 1.975 - 1.0).abs() < 0.05, "{two}");
    }

    fn why_not(items: &[Vec<f64>]) -> NoRanking {
        independent(items, 0.95, &mut Rng::new(1)).unwrap_err()
    }

    fn why_not_in_blocks(blocks: &[Vec<f64>]) -> NoRanking {
        in_blocks(blocks, 0.95, &mut Rng::new(1)).unwrap_err()
    }

    #[test]
    fn what_cannot_be_ranked_is_named() {
        assert_eq!(why_not(&[]), NoRanking::TooFewItems { have: 0 });
        assert_eq!(why_not(&[vec![0.0; 8]]), NoRanking::TooFewItems { have: 1 });
        let short = NoRanking::TooFewValues { item: 1, have: 7 };
        assert_eq!(why_not(&[vec![0.0; 8], vec![0.0; 7]]), short);
        assert_eq!(short.to_string(), "item 1 has 7 values: measure at least 8");
        assert_eq!(why_not(&[vec![f64::NAN; 8], vec![0.0; 8]]), NoRanking::NotFinite { item: 0 });
        assert_eq!(why_not_in_blocks(&[]), NoRanking::TooFewItems { have: 0 });
        assert_eq!(why_not_in_blocks(&vec![vec![0.0; 2]; 7]), NoRanking::TooFewBlocks { have: 7 });
        let mut uneven = vec![vec![0.0; 2]; 8];
        uneven[3].push(0.0);
        assert_eq!(
            why_not_in_blocks(&uneven),
            NoRanking::UnevenBlock { block: 3, have: 3, need: 2 }
        );
        uneven[3] = vec![0.0, f64::INFINITY];
        assert_eq!(why_not_in_blocks(&uneven), NoRanking::NotFinite { item: 1 });
        for level in [0.0, 1.0, f64::NAN] {
            let found = independent(&[vec![0.0; 8], vec![1.0; 8]], level, &mut Rng::new(1));
            assert_eq!(found, Err(NoRanking::Level));
        }
        let draws = IndependentDraws::new(&[8, 9], &mut Rng::new(1));
        assert_eq!(draws.rank(&[vec![0.0; 8], vec![1.0; 8]], 0.95), Err(NoRanking::OtherShape));
        let draws = BlockDraws::new(2, FEWEST_VALUES, &mut Rng::new(1));
        assert_eq!(draws.rank(&vec![vec![0.0; 3]; 8], 0.95), Err(NoRanking::OtherShape));
    }

    fn some_items() -> impl Strategy<Value = Vec<Vec<f64>>> {
        vec((-0.05..0.05f64, vec(-0.02..0.02f64, 8..12)), 2..6).prop_map(|items| {
            let items = items
                .into_iter()
                .map(|(centre, values)| values.into_iter().map(|value| centre + value).collect());
            items.collect()
        })
    }

    fn blocks_of_some_items() -> impl Strategy<Value = Vec<Vec<f64>>> {
        (2usize..6).prop_flat_map(|items| vec(vec(-0.05..0.05f64, items), 8..12))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn the_order_of_items_permutes_the_sets(items in some_items(), turn in 0usize..6) {
            let turn = turn % items.len();
            let mut turned = items.clone();
            turned.rotate_left(turn);
            let mut expected = sets_of(&items);
            expected.rotate_left(turn);
            prop_assert_eq!(sets_of(&turned), expected);
        }

        #[test]
        fn the_order_of_items_in_blocks_permutes_the_sets(blocks in blocks_of_some_items(), turn in 0usize..6) {
            let draws = BlockDraws::new(blocks[0].len(), blocks.len(), &mut Rng::new(SEED));
            let turn = turn % blocks[0].len();
            let mut turned = blocks.clone();
            turned.iter_mut().for_each(|block| block.rotate_left(turn));
            let mut expected = draws.rank(&blocks, 0.9).unwrap().sets;
            expected.rotate_left(turn);
            prop_assert_eq!(draws.rank(&turned, 0.9).unwrap().sets, expected);
        }

        #[test]
        fn neither_a_common_factor_nor_a_power_matters(items in some_items(), shift in -3i8..3, power in 0usize..3) {
            // Powers of two, which cause no rounding in products; sums round by less than any distance here.
            let power = [0.5, 2.0, 4.0][power];
            let changed: Vec<Vec<f64>> = items
                .iter()
                .map(|values| values.iter().map(|value| value * power + f64::from(shift)).collect())
                .collect();
            prop_assert_eq!(sets_of(&changed), sets_of(&items));
        }

        #[test]
        fn a_cheap_item_far_away_moves_the_others_by_one(centres in vec(0usize..4, 2..5), seed in 0u64..100) {
            let mut rng = Rng::new(seed);
            let centres: Vec<f64> = centres.into_iter().map(|step| step as f64).collect();
            let mut all = items(&centres, 10, &mut rng);
            let before = sets_of(&all);
            all.push(items(&[-9.0], 10, &mut rng).remove(0));
            let after = sets_of(&all);
            prop_assert_eq!(after[centres.len()], set(1, 1));
            for (before, after) in before.iter().zip(&after) {
                // More items have wider intervals, so a set may only grow.
                prop_assert!(after.best <= before.best + 1 && after.worst > before.worst);
                prop_assert!(after.best >= 2);
            }
        }

        #[test]
        fn sets_hold_the_rank_of_the_estimate(items in some_items()) {
            let found = independent(&items, 0.95, &mut Rng::new(SEED)).unwrap();
            prop_assert!(found.sets.iter().all(|set| 1 <= set.best && set.best <= set.worst && set.worst <= items.len()));
            for pair in &found.differences {
                prop_assert!(pair.interval.low <= pair.interval.estimate && pair.interval.estimate <= pair.interval.high);
            }
        }
    }
}
