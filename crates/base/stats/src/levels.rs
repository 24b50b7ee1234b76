//! Two levels: the groups in which processes, or samples, lie where layout, placement or a neighbour has two outcomes.
//!
//! A median between two groups describes neither. Whether there are two is decided here and nowhere else: the flag
//! `bimodal`, what reports show in place of the median, and what comparisons say all follow from it.
//!
//! Logs of times or rates are split where the distance of both groups' means is largest compared with the deviation inside the
//! groups, as k-means does in one dimension. There are two levels where it is so large as one group does not reach, however
//! skewed or heavy-tailed: by the common deviation, and by that of the wider group alone. Values that wander leave gaps
//! where they passed quickly, so that the jumps from one level to the other have to be large compared with the steps within levels,
//! too. The three thresholds come from simulation (`plumb-simulate`, docs/validation.md).

use crate::describe::{mean, median_of, quantile_in_order, sum_of_squares};
use crate::distribution::two_sided_t;
use crate::precision::Stretches;
use crate::{Interval, NoInterval};

/// Fewest values that are split.
const FEWEST_VALUES: usize = 10;
/// Each level holds at least this share of the values, and so many of them.
const LEAST_SHARE: f64 = 0.125;
const LEAST_OF_A_LEVEL: usize = 3;
/// The least distance of two levels, in the standard deviations inside both, ...
const DISTANCE: f64 = 4.65;
/// ... in that of the wider one, ...
const DISTANCE_OF_WIDER: f64 = 3.8;
/// ... and of a jump between levels, in mean steps within a level.
const JUMP: f64 = 3.15;
/// With fewer values than these, all three are larger by so much times 1/n - 1/MANY: chance makes larger ones.
const MANY_VALUES: f64 = 29.0;
const FACTOR_OF_FEW: f64 = 4.0;
/// Values farther than so many times the middle 80 % from it are outliers, which say nothing of levels.
const OUTLIER_REACH: f64 = 2.0;
const MIDDLE_QUANTILES: (f64, f64) = (0.1, 0.9);
/// From twice so many values on, another outlier is left out for each so many.
const VALUES_PER_OUTLIER: usize = 20;
/// A deviation or a step counts as no less than this share of the smallest step between values: three ticks of
/// a coarse clock are no levels.
const LEAST_OF_A_TICK: f64 = 0.5;

/// The things that lie on two levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelsOf {
    /// Processes, each by its median.
    Processes,
    /// Samples: processes go from one level to the other.
    Samples,
}

/// Two levels, in the unit of the values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LevelPair {
    /// The things on two levels.
    pub of: LevelsOf,
    /// Values up to this are of the lower level, those above of the upper one.
    pub boundary: f64,
    /// How often neighbours in time lie on different levels.
    pub switches: usize,
}

impl LevelPair {
    /// The two levels of processes, each its values in time order; of their samples if most processes visit both.
    ///
    /// `apart` is the least relative distance of two levels that matters. `None` for one level, for fewer than ten
    /// values, and if one is not finite or not positive.
    #[must_use]
    pub fn of(processes: &[&[f64]], apart: f64) -> Option<Self> {
        let mut values = processes.iter().copied().flatten();
        if !values.all(|&value| value > 0.0 && value.is_finite()) {
            return None;
        }
        let logs: Vec<Vec<f64>> = processes
            .iter()
            .filter(|values| !values.is_empty())
            .map(|values| values.iter().map(|value| value.ln()).collect())
            .collect();
        let apart = apart.ln_1p();
        let of_samples =
            // If each process has one sample, levels of samples are levels of processes.
            if logs.iter().any(|values| values.len() > 1) { split(&logs, apart) } else { None };
        if let Some(found) = of_samples.filter(|found| found.is_visited_by_most(&logs)) {
            return Some(found.of(LevelsOf::Samples));
        }
        let medians = logs.iter().map(|logs| median_of(logs)).collect();
        split(&[medians], apart).map(|found| found.of(LevelsOf::Processes))
    }
}

/// Where logs are split.
struct LevelSplit {
    boundary: f64,
    switches: usize,
}

impl LevelSplit {
    fn of(&self, of: LevelsOf) -> LevelPair {
        LevelPair { of, boundary: self.boundary.exp(), switches: self.switches }
    }

    /// Whether at least half of the series have values on both levels: otherwise they, not their values, differ.
    fn is_visited_by_most(&self, series: &[Vec<f64>]) -> bool {
        let mut visitors = 0;
        for logs in series {
            let above = logs.iter().filter(|&&log| log > self.boundary).count();
            visitors += usize::from((1..logs.len()).contains(&above));
        }
        2 * visitors >= series.len()
    }
}

/// The two levels of some series, each in time order.
fn split(series: &[Vec<f64>], apart: f64) -> Option<LevelSplit> {
    let mut sorted = series.concat();
    if sorted.len() < FEWEST_VALUES {
        return None;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let inside = without_outliers(&sorted);
    // Chance alone lets groups of few values look farther apart.
    let few = (1.0 / inside.len() as f64 - 1.0 / MANY_VALUES).max(0.0);
    let factor = 1.0 + FACTOR_OF_FEW * few;
    let ticks = inside.windows(2).map(|pair| pair[1] - pair[0]).filter(|step| *step > 0.0);
    let least = LEAST_OF_A_TICK * ticks.fold(f64::INFINITY, f64::min);
    let groups = Groups::farthest_apart(inside, least)?;
    let distance = groups.distance();
    let below = groups.below.count as usize;
    let far = distance > factor * DISTANCE * groups.deviation().max(least)
        && distance > factor * DISTANCE_OF_WIDER * groups.wider().max(least);
    let (lower, upper) = inside.split_at(below);
    let medians_apart = quantile_in_order(upper, 0.5) - quantile_in_order(lower, 0.5);
    if !far || medians_apart <= apart {
        return None;
    }
    let boundary = 0.5 * (inside[below - 1] + inside[below]);
    let range = inside[0]..=inside[inside.len() - 1];
    // An outlier is not a jump between levels, so steps and jumps are taken without those.
    let close: Vec<Vec<f64>> = series
        .iter()
        .map(|logs| logs.iter().copied().filter(|log| range.contains(log)).collect())
        .collect();
    let step = mean(&steps(&close, boundary))?.max(least);
    let jump = mean(&jumps(&close, boundary))?;
    let switches = jumps(series, boundary).len();
    (jump > factor * JUMP * step).then_some(LevelSplit { boundary, switches })
}

/// Sorted values but those far from the middle of them, and but the farthest of many.
fn without_outliers(sorted: &[f64]) -> &[f64] {
    let [low, high] =
        [MIDDLE_QUANTILES.0, MIDDLE_QUANTILES.1].map(|q| quantile_in_order(sorted, q));
    let reach = OUTLIER_REACH * (high - low);
    let mut from = sorted.partition_point(|&log| log < low - reach);
    let mut to = sorted.partition_point(|&log| log <= high + reach);
    for _ in 1..sorted.len() / VALUES_PER_OUTLIER {
        if low - sorted[from] > sorted[to - 1] - high { from += 1 } else { to -= 1 }
    }
    &sorted[from..to]
}

/// Count, sum and sum of squares of a group of logs, relative to a value near them.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn add(&mut self, log: f64) {
        self.count += 1.0;
        self.sum += log;
        self.squares += log * log;
    }

    fn less(self, other: Self) -> Self {
        Self {
            count: self.count - other.count,
            sum: self.sum - other.sum,
            squares: self.squares - other.squares,
        }
    }

    fn mean(self) -> f64 {
        self.sum / self.count
    }

    /// The sum of squared deviations from the mean.
    fn scatter(self) -> f64 {
        (self.squares - self.sum * self.mean()).max(0.0)
    }

    fn variance(self) -> f64 {
        self.scatter() / (self.count - 1.0)
    }
}

/// Two groups of logs.
#[derive(Debug, Clone, Copy)]
struct Groups {
    below: Sums,
    above: Sums,
}

impl Groups {
    /// The groups of sorted values that lie farthest apart next to their deviation; `None` if neither may be so small.
    fn farthest_apart(sorted: &[f64], least_deviation: f64) -> Option<Self> {
        let count = sorted.len();
        let least = LEAST_OF_A_LEVEL.max((LEAST_SHARE * count as f64).ceil() as usize);
        // Squares of values far from 0 would lose their differences.
        let near = sorted[count / 2];
        let mut all = Sums::default();
        sorted.iter().for_each(|log| all.add(log - near));
        let mut below = Sums::default();
        let mut farthest: Option<(f64, Self)> = None;
        for (at, log) in sorted.iter().enumerate().take(count.saturating_sub(least)) {
            below.add(log - near);
            let groups = Self { below, above: all.less(below) };
            let apart = groups.distance() / groups.deviation().max(least_deviation);
            if at + 1 >= least && farthest.is_none_or(|(most, _)| apart > most) {
                farthest = Some((apart, groups));
            }
        }
        farthest.map(|(_, groups)| groups)
    }

    fn distance(&self) -> f64 {
        self.above.mean() - self.below.mean()
    }

    /// The standard deviation inside both groups.
    fn deviation(&self) -> f64 {
        let Self { below, above } = self;
        ((below.scatter() + above.scatter()) / (below.count + above.count - 2.0)).sqrt()
    }

    /// The larger one of their standard deviations.
    fn wider(&self) -> f64 {
        self.below.variance().max(self.above.variance()).sqrt()
    }
}

/// How far neighbours in time lie apart that lie on different levels.
fn jumps(series: &[Vec<f64>], boundary: f64) -> Vec<f64> {
    let pairs = series.iter().flat_map(|logs| logs.windows(2));
    let apart = pairs.filter(|pair| (pair[0] > boundary) != (pair[1] > boundary));
    apart.map(|pair| (pair[1] - pair[0]).abs()).collect()
}

/// How far each value lies from the one before it on its level.
fn steps(series: &[Vec<f64>], boundary: f64) -> Vec<f64> {
    let mut steps = Vec::new();
    for logs in series {
        let (above, below): (Vec<f64>, Vec<f64>) = logs.iter().partition(|&&log| log > boundary);
        for level in [above, below] {
            steps.extend(level.windows(2).map(|pair| (pair[1] - pair[0]).abs()));
        }
    }
    steps
}

/// The share of samples on the upper level, with its interval.
///
/// `processes` are the counts of samples above and of all, a pair a process, in time order. Wilson's interval (1927) for the number of
/// independent samples that they are worth (Kish 1965), Student's *t* in place of the normal. The unit is a process,
/// or a stretch of them if neighbours are alike (as for intervals).
///
/// # Errors
/// [`NoInterval::TooFewProcesses`] below two.
pub fn share(processes: &[(usize, usize)], level: f64) -> Result<Interval, NoInterval> {
    if processes.len() < 2 {
        return Err(NoInterval::TooFewProcesses { have: processes.len(), need: 2 });
    }
    let above: usize = processes.iter().map(|(above, _)| above).sum();
    let all: usize = processes.iter().map(|(_, all)| all).sum();
    let count = all as f64;
    let share = above as f64 / all as f64;
    let excess: Vec<f64> =
        processes.iter().map(|&(above, all)| above as f64 - share * all as f64).collect();
    let stretches = Stretches::of(&excess);
    let sums = stretches.sums(&excess);
    let units = sums.len() as f64;
    // As for intervals, neighbours that take turns do not narrow it: the larger variance counts.
    let of_stretches = stretches.widening * sum_of_squares(&sums);
    let variance = sum_of_squares(&excess).max(of_stretches) * units / (units - 1.0);
    let independent = count * share * (1.0 - share);
    let worth = if independent > 0.0 { count / (variance / independent).max(1.0) } else { count };
    let over = two_sided_t(level, units - 1.0).powi(2) / worth;
    let centre = (share + 0.5 * over) / (1.0 + over);
    let half = (over * share * (1.0 - share) + 0.25 * over * over).sqrt() / (1.0 + over);
    Ok(Interval { estimate: share, low: (centre - half).max(0.0), high: (centre + half).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::{LevelPair, LevelsOf, share};
    use crate::rng::Rng;

    /// A process of one value each.
    fn single(values: &[f64]) -> Vec<&[f64]> {
        values.chunks(1).collect()
    }

    fn levels(values: &[f64]) -> Option<LevelPair> {
        LevelPair::of(&single(values), 0.01)
    }

    const SPLIT: [f64; 10] = [1.0, 1.01, 1.02, 1.012, 1.18, 1.19, 1.03, 1.02, 1.01, 1.185];

    #[test]
    fn two_groups_of_processes_are_told_with_their_boundary() {
        let found = levels(&SPLIT).unwrap();
        assert!(found.boundary > 1.03 && found.boundary < 1.18, "{found:?}");
        assert_eq!((found.of, found.switches), (LevelsOf::Processes, 3));
        // Nor does it matter what the unit is, or which direction is good.
        let rates: Vec<f64> = SPLIT.iter().map(|value| 1e9 / value).collect();
        assert_eq!(levels(&rates).unwrap().switches, 3);
        assert_eq!(LevelPair::of(&single(&SPLIT), 0.3), None, "too close to matter");
    }

    #[test]
    fn one_group_an_outlier_or_too_few_are_none() {
        assert_eq!(levels(&[1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9]), None);
        assert_eq!(levels(&[1.0, 1.01, 1.0, 1.02, 1.01, 1.0, 1.0, 1.02, 1.01, 9.0]), None);
        assert_eq!(levels(&SPLIT[..9]), None);
        assert_eq!(levels(&[2.0; 12]), None);
        // Two ticks of a clock.
        assert_eq!(levels(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.5, 1.5, 1.5, 1.5, 1.5]), None);
        for odd in [f64::NAN, 0.0, -1.0] {
            let mut values = SPLIT.to_vec();
            values.push(odd);
            assert_eq!(levels(&values), None);
        }
    }

    #[test]
    fn samples_of_processes_that_are_alike_have_levels_of_their_own() {
        let mut rng = Rng::new(3);
        let mut process = |slow: f64| -> Vec<f64> {
            let level = |rng: &mut Rng| if rng.uniform() < slow { 1.1 } else { 1.0 };
            (0..20).map(|_| level(&mut rng) * (1.0 + 0.01 * rng.normal())).collect()
        };
        let alike: Vec<Vec<f64>> = (0..8).map(|_| process(0.3)).collect();
        let views: Vec<&[f64]> = alike.iter().map(Vec::as_slice).collect();
        let found = LevelPair::of(&views, 0.01).unwrap();
        assert_eq!(found.of, LevelsOf::Samples);
        assert!((1.03..1.07).contains(&found.boundary), "{found:?}");
        // Two processes of eight are no level of samples.
        let odd: Vec<Vec<f64>> = (0..8).map(|n| process(f64::from(u8::from(n > 5)))).collect();
        let views: Vec<&[f64]> = odd.iter().map(Vec::as_slice).collect();
        assert_eq!(LevelPair::of(&views, 0.01), None);
    }

    #[test]
    fn a_share_is_as_sure_as_its_units_are_many() {
        let turns: Vec<(usize, usize)> = (0..40).map(|n| (n * 7 % 10 / 5, 1)).collect();
        let found = share(&turns, 0.95).unwrap();
        assert!(found.estimate == 0.5 && (found.high - 0.65).abs() < 0.02, "{found:?}");
        // One after the other: for how long either lasts is not known.
        let once: Vec<(usize, usize)> = (0..40).map(|n| (n / 20, 1)).collect();
        let found = share(&once, 0.95).unwrap();
        assert!(found.low < 0.1 && found.high > 0.9, "{found:?}");
        assert!(share(&turns[..1], 0.95).is_err());
        assert_eq!(share(&[(1, 1), (1, 1)], 0.95).unwrap().high, 1.0);
    }
}
